/* SPDX-License-Identifier: MIT */
/*
 * rewrite_tree.h - build the JSON trees of CTF 2 metadata, and the trees of field classes. Internal to src/ctf;
 * rewrite_json.c uses these functions.
 *
 * `err` keeps the first error. After an error, the functions still allocate and free trees.
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
	int err;                   /* the first error */
	bool has_clock;            /* the stream has a clock */
	const struct wmk_ctf_clock_class *clock; /* the stream's clock if known, or NULL */
	/* state of what is being written */
	struct wmk_ctf_scope_programs parts;
	unsigned scope;
	const struct wmk_ctf_op *named; /* the structure with the members that have the names in `names` */
	json_object *names;
};

/* Set the error -ENOMEM, if there is no error yet. */
void wmk_tree_no_memory(struct wmk_tree_writer *w);
/* Add a member or an element and take ownership of `value`; a NULL `value` means that its allocation failed. */
void wmk_tree_put(struct wmk_tree_writer *w, json_object *object, const char *key, json_object *value);
void wmk_tree_append(struct wmk_tree_writer *w, json_object *array, json_object *value);
/* Make a JSON text; invalid UTF-8 becomes U+FFFD. wmk_tree_put_text() adds no member if `text` is NULL. */
json_object *wmk_tree_text_of(struct wmk_tree_writer *w, const char *text);
void wmk_tree_put_text(struct wmk_tree_writer *w, json_object *object, const char *key, const char *text);
void wmk_tree_put_number(struct wmk_tree_writer *w, json_object *object, const char *key, uint64_t number);
json_object *wmk_tree_integer_of(uint64_t value, bool is_signed);
/* Parse the text `more` of a class; the caller owns the tree. NULL: no memory. */
json_object *wmk_tree_parse(const char *more);
/* Add the properties that the parser has kept in the member `more` of a class; NULL: no properties. */
void wmk_tree_put_more(struct wmk_tree_writer *w, json_object *object, const char *more);
/* Append [from, to]. */
void wmk_tree_append_range(struct wmk_tree_writer *w, json_object *ranges, uint64_t from, uint64_t to, bool is_signed);

/* Make the field class of an operation of w->scope, with its contents (rewrite_field.c). */
json_object *wmk_tree_class_of(struct wmk_tree_writer *w, uint32_t at);

#endif
