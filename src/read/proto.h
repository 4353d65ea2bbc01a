/* SPDX-License-Identifier: MIT */
/*
 * proto.h - write Protocol Buffers messages at the end of a growing text.
 *
 *     open ─► number, text ..., begin ─► fields of an inner message ─► end ─► close
 *
 * The length of a message precedes the message, but is known only when the message is complete. So the writer reserves
 * four bytes, and encodes the length with padding. After an error, further calls have no effect, and wmk_proto_close()
 * returns the error. Internal to src/read.
 */
#ifndef WMK_READ_PROTO_H
#define WMK_READ_PROTO_H

#include "ctf/decode.h"
#include "read/print.h"

struct wmk_proto {
	struct wmk_print_text *out;
	char *p;                   /* NULL after an error */
};

struct wmk_proto wmk_proto_open(struct wmk_print_text *out);
/*
 * `err` is an error of the caller, or 0. Returns 0 and sets the new length of the text, or returns -errno and leaves
 * the text unchanged.
 */
int wmk_proto_close(const struct wmk_proto *b, int err);
/* Reserve `need` bytes at the position b->p. */
bool wmk_proto_room(struct wmk_proto *b, size_t need);
void wmk_proto_number(struct wmk_proto *b, unsigned field, uint64_t value);
void wmk_proto_double(struct wmk_proto *b, unsigned field, double value);
/* Write a text as UTF-8. U+FFFD replaces invalid bytes. */
void wmk_proto_text(struct wmk_proto *b, unsigned field, const char *s, size_t len);
/* Write a text that is UTF-16 or UTF-32 in the record. */
void wmk_proto_wide_text(struct wmk_proto *b, unsigned field, const struct wmk_ctf_item *item);
/* Write bytes as hexadecimal digits, as in JSON. */
void wmk_proto_hex(struct wmk_proto *b, unsigned field, const char *bytes, size_t len);
/*
 * Begin a message, and reserve room for the length of the message. Returns the position of the length field in the
 * text.
 */
size_t wmk_proto_begin(struct wmk_proto *b, unsigned field);
/* End the message; its length is written at position `at`. */
void wmk_proto_end(struct wmk_proto *b, size_t at);

#endif
