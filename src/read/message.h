/* SPDX-License-Identifier: MIT */
/*
 * message.h - the text of a record of waymark_logf() or waymark_mark(). Internal to src/read.
 *
 *     URI of the event class ─► format ─► pieces, each with the next value of the payload ─► "bob cannot pay 4.50"
 *
 * The format comes from the trace and is not trusted. Each conversion is parsed and its width is limited; printf() gets
 * a conversion that message.c builds. A record with values that do not match its format has no message.
 */
#ifndef WMK_READ_MESSAGE_H
#define WMK_READ_MESSAGE_H

#include "read/print.h"

/*
 * Set `message` to the message of `record`; `in` has the record's bytes. Returns 1; 0: the event has no message;
 * -ENOMEM, -E2BIG, errors of ctf/decode.h.
 */
int wmk_read_message(const struct wmk_ctf_bytes *in, struct wmk_ctf_record *record, struct wmk_print_text *message);

#endif
