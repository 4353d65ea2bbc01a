/* SPDX-License-Identifier: MIT */
/*
 * json.h - parts of the parser of CTF 2's metadata (CTF2-SPEC-2.0, section 5). Internal to src/ctf.
 *
 *     text ──json.c: fragments, a json-c tree for each ──────────────────────┬──► struct wmk_ctf_builder
 *              │  json_type.c: compound field classes, aliases ──────────────┤
 *              │  json_scalar.c: scalar field classes, roles ────────────────┤
 *              │  json_attributes.c: properties that are kept as text ───────┤
 *              └► json_value.c: properties, ranges, locations, errors ───────┘
 *
 * Functions pass a value together with its path (struct wmk_ctf_json_at), so that an error message can contain the
 * path. The path is a chain on the stack, from the value up to its fragment. A tree lives until its fragment is parsed.
 * The tree of an alias lives until the whole text is parsed. Values that are needed for a longer time are copied to the
 * builder's scratch memory.
 *
 * The builder keeps the first error. After an error, results of functions are meaningless, but callers can use them
 * safely.
 */
#ifndef WMK_CTF_JSON_H
#define WMK_CTF_JSON_H

#include <json-c/json.h>

#include "ctf/build.h"
#include "ctf/format_names.h"

/*
 * A value and its place. `what` NULL: the property `name`. If `what` is not NULL, the value is an element of the kind
 * `what`. `index` is the element's number from 1 (0: no number), and `name` is its name (NULL: no name).
 */
struct wmk_ctf_json_at {
	struct wmk_ctf_json *in;
	const struct wmk_ctf_json_at *up; /* NULL: the fragment */
	const char *what, *name;
	uint32_t index;
	json_object *value;
};

struct wmk_ctf_json {
	struct wmk_ctf_builder *to;
	json_object *aliases;          /* by name: the field class; its userdata belongs to json_type.c */
	json_object *clocks;           /* id: index in to->clocks */
	json_object *streams;          /* id in digits: true */
	struct wmk_ctf_list stream_clocks; /* uint32_t, for each of to->streams: 1 + index in to->clocks, or 0 */
	uint32_t line;                 /* line of the current fragment, from 1 */
	/* of the current root field class: */
	uint8_t root;                  /* enum wmk_scope, which defines the valid roles; WMK_SCOPE_NEAR: no roles */
	bool has_time;                 /* it contains a time of the stream's clock */
	uint8_t n_magic;               /* fields with the role of the magic number; 2: two or more */
	unsigned deepest;              /* deepest level of types so far */
};

/* ── values (json_value.c) ───────────────────────────────────────────────────────────────────────────── */

/* Report an error at the place of the value. */
void wmk_ctf_json_error(const struct wmk_ctf_json_at *at, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Report the error "expected <wanted>, not <the value>". */
void wmk_ctf_json_wrong(const struct wmk_ctf_json_at *at, const char *wanted);

/*
 * Error messages show only the start of a long text from the metadata. Returns the number of bytes to show, which end
 * at a character boundary. For "%.*s".
 */
int wmk_ctf_json_shown(const char *text);

/* Get a property of an object. Returns false if the object has no such property. */
bool wmk_ctf_json_get(const struct wmk_ctf_json_at *of, const char *name, struct wmk_ctf_json_at *at);
/* Get a property of an object; a missing property is an error. */
bool wmk_ctf_json_need(const struct wmk_ctf_json_at *of, const char *name, struct wmk_ctf_json_at *at);
/* Check the type of the value; another type is an error. */
bool wmk_ctf_json_is(const struct wmk_ctf_json_at *at, json_type type);
/* Return whether the value is equal to this text. */
bool wmk_ctf_json_equals(const struct wmk_ctf_json_at *at, const char *text);
/* Get the bits of an integer value. True: it is above INT64_MAX. */
bool wmk_ctf_json_bits(const struct wmk_ctf_json_at *at, int64_t *bits);

/*
 * Get a property as a text or a number. With `must`, a missing property is an error. Without `must`, the result for a
 * missing property is NULL or 0. Other errors are a value of another type, a word that is not in the list, a number out
 * of bounds, and a text that contains a NUL.
 */
const char *wmk_ctf_json_text(const struct wmk_ctf_json_at *of, const char *name, bool must);
uint64_t wmk_ctf_json_number(const struct wmk_ctf_json_at *of, const char *name, bool must, uint64_t min, uint64_t max);
/*
 * Return the index of the value in `words`, which ends with NULL; return `otherwise` if the property is missing and
 * `must` is not set.
 */
unsigned wmk_ctf_json_word(const struct wmk_ctf_json_at *of, const char *name, bool must, const char *const *words,
			   unsigned otherwise);
uint64_t wmk_ctf_json_number_at(const struct wmk_ctf_json_at *at, uint64_t min, uint64_t max);
/* Return an alignment in bits, which is a power of two, or 1 if the property is missing. */
uint32_t wmk_ctf_json_align(const struct wmk_ctf_json_at *of, const char *name);
/* Get a list, and return the number of its elements. */
size_t wmk_ctf_json_list(const struct wmk_ctf_json_at *of, const char *name, bool must, struct wmk_ctf_json_at *list);
/* Get element `i` of the list; error messages name the element "<what> <i + 1>" of the owner of the list. */
struct wmk_ctf_json_at wmk_ctf_json_item(const struct wmk_ctf_json_at *list, size_t i, const char *what);
/* Return the place of a member of an object, during an iteration over the object. */
struct wmk_ctf_json_at wmk_ctf_json_member(const struct wmk_ctf_json_at *of, const char *name, json_object *value);
/* The value as a text. */
const char *wmk_ctf_json_text_at(const struct wmk_ctf_json_at *at);

/* ── attributes (json_attributes.c) ──────────────────────────────────────────────────────────────────── */

/*
 * Check the properties `attributes` and `extensions`, which objects of many kinds may have. Extensions change the
 * format; the parser supports no extension.
 */
void wmk_ctf_json_extras(const struct wmk_ctf_json_at *of);
/* Limit of nested values in a fragment: three for each level of types, and some more for ranges and attributes. */
#define WMK_CTF_JSON_DEPTH ((int)WMK_CTF_TYPE_DEPTH * 3 + 64)
/*
 * Return all properties that the parser does not interpret, as the text of a JSON object in scratch memory; NULL: no
 * such properties.
 */
enum wmk_ctf_json_kept { WMK_CTF_JSON_OF_CLASSES, WMK_CTF_JSON_OF_CLOCKS, WMK_CTF_JSON_OF_FIELDS };
const char *wmk_ctf_json_keep(const struct wmk_ctf_json_at *of, enum wmk_ctf_json_kept what);
/*
 * Get the attributes of an event record class: two attributes become members of *event, and the text of the other
 * attributes is kept.
 */
void wmk_ctf_json_attributes(const struct wmk_ctf_json_at *at, struct wmk_ctf_event_class *event);

/* Get integer range sets (section 5.3.2) as labels. */
struct wmk_ctf_json_ranges {
	struct wmk_ctf_list list;      /* struct wmk_label */
	/*
	 * is_clipped: reduce each range to the values that an integer of this signedness can have; else keep the bits
	 */
	bool is_clipped;
	bool is_signed;
	bool has_negative, has_big;    /* a number below 0, or above INT64_MAX, was read */
};

/* Append each range of the set at `at` as a label with this name. */
void wmk_ctf_json_ranges(const struct wmk_ctf_json_at *at, const char *name, struct wmk_ctf_json_ranges *to);

/* Get a field location (section 5.3.1). -E2BIG: the path is too long. */
const struct wmk_ref *wmk_ctf_json_location(const struct wmk_ctf_json_at *of, const char *name);
/* Get "length", for type->count. -E2BIG: more than 32 bits. */
uint32_t wmk_ctf_json_length(const struct wmk_ctf_json_at *at);

/* ── field classes (json_scalar.c, json_type.c) ──────────────────────────────────────────────────────── */

/*
 * Make `type`, which the caller has zeroed, from the field class at `at`, which has the "type" `kind`. Returns false if
 * `kind` is not a scalar field class.
 */
bool wmk_ctf_json_scalar(const struct wmk_ctf_json_at *at, const struct wmk_ctf_json_at *kind, struct wmk_type *type);

/*
 * Get the structure in a property, or NULL if the property is missing. in->has_time is set if it contains a time.
 * -EPROTO, -ENOTSUP, -E2BIG (deeper than WMK_CTF_TYPE_DEPTH, or a length of more than 32 bits).
 */
const struct wmk_type *wmk_ctf_json_structure(const struct wmk_ctf_json_at *of, const char *name,
					      enum wmk_scope root);
/* Declare `name` as an alias of the field class at `at`, for the fragments that follow. */
void wmk_ctf_json_alias(const struct wmk_ctf_json_at *at, const char *name);

/* ── the whole (json.c) ──────────────────────────────────────────────────────────────────────────────── */

/*
 * Fill the builder, which must be empty, from a JSON text sequence (RFC 7464). `name` is the name of the file in error
 * messages. With `partial`, the function drops the last fragment if this fragment is incomplete. If the function drops
 * a fragment, it returns 1, and the cause chain contains the place where the text ends. With `partial`, the function
 * also returns 1 for a text without a fragment. After success, the clock pointers of the stream classes point into
 * to->clocks. -EPROTO, -ENOTSUP, -E2BIG, -ENOMEM; the cause chain has file, line, number of the fragment, path to the
 * value, and the expected value. For malformed JSON, the cause chain also contains the column.
 */
int wmk_ctf_json_parse(struct wmk_ctf_builder *to, const char *text, size_t len, const char *name, bool partial);

#endif
