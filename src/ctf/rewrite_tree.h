/* SPDX-License-Identifier: MIT */
/*
 * rewrite_tree.h - the trees of JSON that metadata of CTF 2 is made of, and the field classes among them. Internal to
 * src/ctf; for rewrite_json.c.
 *
 * The first error is kept in `err`; what comes after it is made and freed as if there were none.
 */
#ifndef WMK_CTF_REWRITE_TREE_H
#define WMK_CTF_REWRITE_TREE_H

#include <json-c/json.h>

#include "ctf/op_path.h"
#include "ctf/rewrite.h"

struct wmk_tree_writer {
	const struct wmk_ctf_decoder *decoder;
	struct wmk_ctf_text_buffer *out;
	uint32_t lost;
	int err;                   /* the first */
	bool has_clock;            /* the stream */
	const struct wmk_ctf_clock_class *clock; /* the stream's, where that is known; or NULL */
	/* What is being written. */
	struct wmk_ctf_scope_programs parts;
	unsigned scope;
	const struct wmk_ctf_op *named; /* the structure whose members' names are in `names` */
	json_object *names;
};

/* The error that memory is missing, if there was none before. */
void wmk_tree_no_memory(struct wmk_tree_writer *w);
/* A member, an element: `value` is taken over; NULL: there was no memory for it. */
void wmk_tree_put(struct wmk_tree_writer *w, json_object *object, const char *key, json_object *value);
void wmk_tree_append(struct wmk_tree_writer *w, json_object *array, json_object *value);
/* Texts are UTF-8 there: what is none is U+FFFD. NULL: there is no member. */
json_object *wmk_tree_text_of(struct wmk_tree_writer *w, const char *text);
void wmk_tree_put_text(struct wmk_tree_writer *w, json_object *object, const char *key, const char *text);
void wmk_tree_put_number(struct wmk_tree_writer *w, json_object *object, const char *key, uint64_t number);
json_object *wmk_tree_integer_of(uint64_t value, bool is_signed);
/* The tree of a class's `more`, to be put away. NULL: no memory. */
json_object *wmk_tree_parse(const char *more);
/* The properties that were kept when it was read (struct wmk_ctf_event_class's `more`); NULL: none were. */
void wmk_tree_put_more(struct wmk_tree_writer *w, json_object *object, const char *more);
/* [from, to] */
void wmk_tree_append_range(struct wmk_tree_writer *w, json_object *ranges, uint64_t from, uint64_t to, bool is_signed);

/* The field class of an operation of w->scope, and of all that is in it (rewrite_field.c). */
json_object *wmk_tree_class_of(struct wmk_tree_writer *w, uint32_t at);

#endif
