/* SPDX-License-Identifier: MIT */
/*
 * tsdl_unknown.h - keep TSDL entries without a meaning in CTF: entries of any name, callsites, unknown log levels.
 * Internal to src/ctf.
 *
 * The parser stores entries without a meaning as attributes of CTF 2, in the JSON text `more` of a class (class.h). So
 * the metadata of both versions contains the entries without a meaning, and a conversion to CTF 2 and back keeps these
 * entries. A word, which 1.8 distinguishes from a text, is an object:
 *
 *     {"attributes": {"waymark,2026": {
 *         "entries": {"colour": "red", "size.x": 5, "kind": {"word": "odd"}},
 *         "callsites": [{"name": "e", "line": 7}]}}}
 *
 * CTF 2 has no floating point class for the `long double` of x87 (schema.h: is_extended). A conversion to CTF 2 writes
 * a `long double` of x87 as a bit array with the boolean attribute WMK_TSDL_UNKNOWN_LONG_DOUBLE. tsdl_unknown_field.h
 * keeps what belongs to fields.
 */
#ifndef WMK_CTF_TSDL_UNKNOWN_H
#define WMK_CTF_TSDL_UNKNOWN_H

#include <json-c/json.h>

#include "ctf/rewrite_tsdl.h"
#include "schema/scratch.h"

#define WMK_TSDL_UNKNOWN_SPACE "waymark,2026"
#define WMK_TSDL_UNKNOWN_LONG_DOUBLE "long-double"
/* The JSON text of the attributes of a type that was made from `long double` (schema.h). */
#define WMK_TSDL_UNKNOWN_OF_LONG_DOUBLE \
	"{\"attributes\":{\"" WMK_TSDL_UNKNOWN_SPACE "\":{\"" WMK_TSDL_UNKNOWN_LONG_DOUBLE "\":true}}}"

/* The value after a '='. */
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

/* State of the parser while it parses metadata: starts zeroed, and ends with wmk_tsdl_unknown_end(). */
struct wmk_tsdl_unknown {
	json_object *entries;      /* entries of the current block */
	json_object *of_trace, *callsites; /* entries and callsites of completed blocks, or NULL */
};

/* Add an entry of the current block. -ENOMEM; -E2BIG: too many entries. */
int wmk_tsdl_unknown_add(struct wmk_tsdl_unknown *kept, const char *path, const struct wmk_tsdl_unknown_value *value);
/*
 * Complete the current block. wmk_tsdl_unknown_of_class() returns the block's entries as the `more` of a class (NULL:
 * none). wmk_tsdl_unknown_of_trace() keeps the entries for the trace, and wmk_tsdl_unknown_callsite() adds them as a
 * callsite. -ENOMEM, -E2BIG.
 */
int wmk_tsdl_unknown_of_class(struct wmk_tsdl_unknown *kept, struct wmk_scratch *scratch, const char **more);
void wmk_tsdl_unknown_of_trace(struct wmk_tsdl_unknown *kept);
int wmk_tsdl_unknown_callsite(struct wmk_tsdl_unknown *kept);
/* After all metadata has been parsed, return the member `more` of the trace. -ENOMEM. */
int wmk_tsdl_unknown_end(struct wmk_tsdl_unknown *kept, struct wmk_scratch *scratch, const char **more);

/*
 * Write the entries in the JSON text `more` to the current block. The writer reports other parts of the text `more`,
 * and entries that the block cannot have, as lost.
 */
void wmk_tsdl_unknown_put(struct wmk_tsdl_writer *w, enum wmk_tsdl_unknown_block block, const char *more);
/* Write the callsites in the JSON text `more` of a trace, one block for each callsite. */
void wmk_tsdl_unknown_put_callsites(struct wmk_tsdl_writer *w, const char *more);

/* Return whether the path consists of identifiers joined by '.', without keywords. */
bool wmk_tsdl_unknown_is_path(const char *path);

#endif
