/* SPDX-License-Identifier: MIT */
/*
 * json_writer.h - text in JSON, piece by piece: for json.c and for others whose output has JSON in it. Internal to
 * src/read.
 */
#ifndef WMK_READ_JSON_WRITER_H
#define WMK_READ_JSON_WRITER_H

#include "read/record_scope.h"
#include "read/print_state.h"

/* Output, and where in it; NULL when an error has been given. */
struct wmk_json_writer {
	struct wmk_print_text *out;
	char *p;
	bool is_first;             /* of an object or array: no comma before what comes */
	bool in_variant;           /* the item before was a variant: what comes has its name */
};

/* Behind what `out` has; wmk_json_end() makes it count: `err`, or what went wrong on the way. */
struct wmk_json_writer wmk_json_begin(struct wmk_print_text *out);
int wmk_json_end(const struct wmk_json_writer *w, int err);

/* As it is. */
void wmk_json_put(struct wmk_json_writer *w, const char *s, size_t len);
/* An INT, ENUM or FLAGS as a number. */
void wmk_json_put_integer(struct wmk_json_writer *w, const struct wmk_ctf_item *item);
void wmk_json_put_text(struct wmk_json_writer *w, const char *s);
/* In quotes, with escapes. */
void wmk_json_put_string(struct wmk_json_writer *w, const char *s, size_t len);
/* The comma, and the member's name; NULL: an element. */
void wmk_json_put_name(struct wmk_json_writer *w, const char *name);
/* The item of a walk, a begin or an end, as a member of that name. */
void wmk_json_put_item(struct wmk_json_writer *w, const struct wmk_ctf_item *item, const char *name);
/* `,"fields":{...}` (context, event_context, packet) of a part that the record has. */
int wmk_json_put_part(struct wmk_json_writer *w, struct wmk_read_stream *stream, unsigned part);
/* The packet's alone, with its comma, as what `text` has: behind WMK_READ_PACKET. Nothing where it has none. */
int wmk_json_packet(struct wmk_print_text *text, struct wmk_read_stream *stream);

/* Has the field told its meaning to the reader already: a size, a time, a count? */
static inline bool wmk_read_is_interpreted(const struct wmk_ctf_op *op)
{
	return op->roles & ~WMK_ROLE_BIT(WMK_ROLE_CPU) && op->code <= WMK_CTF_ENUM;
}

#endif
