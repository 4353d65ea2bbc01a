/* SPDX-License-Identifier: MIT */
/*
 * tsdl_unknown.h - what TSDL says in its blocks and gives no meaning to: entries of any name, callsites, levels that no
 * tracer of today has. Internal to src/ctf.
 *
 * It goes where CTF 2 has room for it, in a class's `more` (class.h), as attributes; so that it stands in the metadata
 * of either version, and in that of 1.8 made of 2 as it stood before. A word, which 1.8 tells from a text, is an
 * object:
 *
 *     {"attributes": {"waymark,2026": {"entries": {"colour": "red", "size.x": 5, "kind": {"word": "odd"}}, "callsites": [{"name": "e", "line": 7}]}}}
 *
 * And x87's `long double` (schema.h: is_extended), which is none of CTF 2's floating point numbers, is a bit array of a
 * type with such an attribute. What is said of fields beside: tsdl_unknown_field.h.
 */
#ifndef WMK_CTF_TSDL_UNKNOWN_H
#define WMK_CTF_TSDL_UNKNOWN_H

#include <json-c/json.h>

#include "ctf/rewrite_tsdl.h"
#include "schema/scratch.h"

#define WMK_TSDL_UNKNOWN_SPACE "waymark,2026"
#define WMK_TSDL_UNKNOWN_LONG_DOUBLE "long-double"
/* As a type's attributes (schema.h). */
#define WMK_TSDL_UNKNOWN_OF_LONG_DOUBLE \
	"{\"attributes\":{\"" WMK_TSDL_UNKNOWN_SPACE "\":{\"" WMK_TSDL_UNKNOWN_LONG_DOUBLE "\":true}}}"

/* As it stands behind a '='. */
struct wmk_tsdl_unknown_value {
	const char *text;          /* a string, or words joined by '.'; NULL: a number */
	bool is_word, is_unsigned;
	int64_t number;
};

enum wmk_tsdl_unknown_block {
	WMK_TSDL_UNKNOWN_TRACE,
	WMK_TSDL_UNKNOWN_CLOCK,
	WMK_TSDL_UNKNOWN_STREAM,
	WMK_TSDL_UNKNOWN_EVENT,
	WMK_TSDL_UNKNOWN_CALLSITE
};

/* While metadata is read: starts from zeros, ends with wmk_tsdl_unknown_end(). */
struct wmk_tsdl_unknown {
	json_object *entries;      /* of the block that is being read, ... */
	json_object *of_trace, *callsites; /* ... and of those that have been read; or NULL */
};

/* An entry of the block that is being read. -ENOMEM; -E2BIG: there are too many. */
int wmk_tsdl_unknown_add(struct wmk_tsdl_unknown *kept, const char *path, const struct wmk_tsdl_unknown_value *value);
/*
 * That block has been read: its entries as a class's `more`, NULL where there are none; as the trace's; as a callsite.
 * -ENOMEM, -E2BIG.
 */
int wmk_tsdl_unknown_of_class(struct wmk_tsdl_unknown *kept, struct wmk_scratch *scratch, const char **more);
void wmk_tsdl_unknown_of_trace(struct wmk_tsdl_unknown *kept);
int wmk_tsdl_unknown_callsite(struct wmk_tsdl_unknown *kept);
/* All has been read: the trace's `more`. -ENOMEM. */
int wmk_tsdl_unknown_end(struct wmk_tsdl_unknown *kept, struct wmk_scratch *scratch, const char **more);

/*
 * The entries of `more` into the block that is being written. What else is in it, or is no entry of such a block, is
 * counted as lost.
 */
void wmk_tsdl_unknown_put(struct wmk_tsdl_writer *w, enum wmk_tsdl_unknown_block block, const char *more);
/* The callsites of a trace's `more`, block by block. */
void wmk_tsdl_unknown_put_callsites(struct wmk_tsdl_writer *w, const char *more);

/* Names that are identifiers and no keywords, joined by '.'. */
bool wmk_tsdl_unknown_is_path(const char *path);

#endif
