/* SPDX-License-Identifier: MIT */
/*
 * json_writer.h - write JSON piece by piece, for json.c and for other forms that contain JSON. Internal to src/read.
 */
#ifndef WMK_READ_JSON_WRITER_H
#define WMK_READ_JSON_WRITER_H

#include "read/record_scope.h"
#include "read/print_state.h"

/* The output text, and the current position in it. */
struct wmk_json_writer {
	struct wmk_print_text *out;
	char *p;                   /* NULL after an error */
	bool is_first;             /* at the begin of an object or array: the next value needs no comma */
	bool in_variant;           /* the previous item was a variant or an optional: the next value uses its name */
};

/* Begin to append to `out`. wmk_json_end() completes it and returns `err`, or the first error of a write. */
struct wmk_json_writer wmk_json_begin(struct wmk_print_text *out);
int wmk_json_end(const struct wmk_json_writer *w, int err);

/* Write unchanged bytes. */
void wmk_json_put(struct wmk_json_writer *w, const char *s, size_t len);
/* Write the value of an INT, ENUM or FLAGS as a number. */
void wmk_json_put_integer(struct wmk_json_writer *w, const struct wmk_ctf_item *item);
void wmk_json_put_text(struct wmk_json_writer *w, const char *s);
/* Write a text with quotes and escapes. */
void wmk_json_put_string(struct wmk_json_writer *w, const char *s, size_t len);
/* Write a comma, and the name of the member. If the name is NULL, the value is an element of an array. */
void wmk_json_put_name(struct wmk_json_writer *w, const char *name);
/* Write an item of a walk (a value, or the start or end of a structure) as a member with that name. */
void wmk_json_put_item(struct wmk_json_writer *w, const struct wmk_ctf_item *item, const char *name);
/* Write `,"fields":{...}` (or context, event_context, packet) for a scope that the record has. */
int wmk_json_put_part(struct wmk_json_writer *w, struct wmk_read_stream *stream, unsigned part);
/*
 * Set `text` to the JSON member `packet`, with a preceding comma; the caller calls this function after WMK_READ_PACKET.
 * `text` is empty if the packet has no packet context.
 */
int wmk_json_packet(struct wmk_print_text *text, struct wmk_read_stream *stream);

/* Return whether the field has a role that the reader itself interprets, such as a size: any role except the CPU. */
static inline bool wmk_read_is_interpreted(const struct wmk_ctf_op *op)
{
	return op->roles & ~WMK_ROLE_BIT(WMK_ROLE_CPU) && op->code <= WMK_CTF_ENUM;
}

#endif
