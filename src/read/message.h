/* SPDX-License-Identifier: MIT */
/*
 * message.h - the text of a record of waymark_logf() or waymark_mark(). Internal to src/read.
 *
 *     URI of the event class ─► format ─► pieces, each with the next value of the payload ─► "bob cannot pay 4.50"
 *
 * The format string comes from the trace and is not trusted. message.c parses each conversion and limits its width, and
 * then builds a new conversion for printf(). A record with values that do not match its format string has no message.
 */
#ifndef WMK_READ_MESSAGE_H
#define WMK_READ_MESSAGE_H

#include "read/print.h"

/*
 * Set `message` to the message of `record`; `in` contains the bytes of the record. Returns 1, or 0 if the event has no
 * message, or -ENOMEM, -E2BIG, or an error of ctf/decode.h.
 */
int wmk_read_message(const struct wmk_ctf_bytes *in, struct wmk_ctf_record *record, struct wmk_print_text *message);

#endif
