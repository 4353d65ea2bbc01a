/* SPDX-License-Identifier: MIT */
/*
 * json.h - the pieces of the reader of CTF 2's metadata (CTF2-SPEC-2.0, section 5). Internal to src/ctf.
 *
 *     text ──json.c: fragments, a tree of json-c's for each─────────────────┬──► struct wmk_ctf_builder
 *              │  json_type.c: field classes that hold others, aliases ──────┤
 *              │  json_scalar.c: those that hold none, roles ────────────────┤
 *              │  json_attributes.c: what is kept as it is ──────────────────┤
 *              └► json_value.c: properties, ranges, locations, errors ───────┘
 *
 * A value is always taken together with the way to it (struct wmk_ctf_json_at), so that an error can tell the place:
 * the chain of those is on the stack, from the value up to its fragment. Trees live until their fragment is read; those
 * of aliases until the text is. What is kept of them is copied to the builder's scratch.
 *
 * The builder keeps the first error. What a function returns after it has no meaning, but can be used.
 */
#ifndef WMK_CTF_JSON_H
#define WMK_CTF_JSON_H

#include <json-c/json.h>

#include "ctf/build.h"
#include "ctf/format_names.h"

/*
 * A value and where it stands: the property `name`; or the `what` of number `index` (from 1), called `name` if it is
 * called something.
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
	json_object *aliases;          /* name: the field class that it stands for, whose userdata is json_type.c's */
	json_object *clocks;           /* id: index in to->clocks */
	json_object *streams;          /* id in digits: true */
	struct wmk_ctf_list stream_clocks; /* uint32_t, for each of to->streams: 1 + index in to->clocks, or 0 */
	uint32_t line;                 /* of the fragment that is being read, from 1 */
	/* Of the field class that is being read: */
	uint8_t root;                  /* enum wmk_scope: which roles mean something; WMK_SCOPE_NEAR: none */
	bool has_time;                 /* something in it is a time of the stream's clock */
	uint8_t n_magic;               /* fields in it that are the packet's magic number; 2: or more */
	unsigned deepest;              /* levels of types in it so far */
};

/* ── values (json_value.c) ───────────────────────────────────────────────────────────────────────────── */

/* An error at this place, in words. */
void wmk_ctf_json_error(const struct wmk_ctf_json_at *at, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* "expected <wanted>, not <the value>". */
void wmk_ctf_json_wrong(const struct wmk_ctf_json_at *at, const char *wanted);

/* As many bytes of a text from the metadata as an error shows of it: no character is cut. For "%.*s". */
int wmk_ctf_json_shown(const char *text);

/* The property of an object. False: it has none of this name. */
bool wmk_ctf_json_get(const struct wmk_ctf_json_at *of, const char *name, struct wmk_ctf_json_at *at);
/* The same; an error where there is none. */
bool wmk_ctf_json_need(const struct wmk_ctf_json_at *of, const char *name, struct wmk_ctf_json_at *at);
/* Is it of this type? Else an error. */
bool wmk_ctf_json_is(const struct wmk_ctf_json_at *at, json_type type);
/* Is it a text that is this one? */
bool wmk_ctf_json_equals(const struct wmk_ctf_json_at *at, const char *text);
/* The bits of an integer. True: it is above INT64_MAX. */
bool wmk_ctf_json_bits(const struct wmk_ctf_json_at *at, int64_t *bits);

/*
 * Properties of a type. `must`: an error where there is none; else it is 0 or NULL then. Errors: it is not of the type,
 * not among the words, out of bounds; a text has a NUL in it.
 */
const char *wmk_ctf_json_text(const struct wmk_ctf_json_at *of, const char *name, bool must);
uint64_t wmk_ctf_json_number(const struct wmk_ctf_json_at *of, const char *name, bool must, uint64_t min, uint64_t max);
/* The index in `words`, which ends with a NULL; `otherwise` where there is none and `must` is not set. */
unsigned wmk_ctf_json_word(const struct wmk_ctf_json_at *of, const char *name, bool must, const char *const *words,
			   unsigned otherwise);
uint64_t wmk_ctf_json_number_at(const struct wmk_ctf_json_at *at, uint64_t min, uint64_t max);
/* A power of two, bits; 1 where there is none. */
uint32_t wmk_ctf_json_align(const struct wmk_ctf_json_at *of, const char *name);
/* A list: the number of its elements. */
size_t wmk_ctf_json_list(const struct wmk_ctf_json_at *of, const char *name, bool must, struct wmk_ctf_json_at *list);
/* Its element `i`, called "<what> <i + 1> of what the list is of" in errors. */
struct wmk_ctf_json_at wmk_ctf_json_item(const struct wmk_ctf_json_at *list, size_t i, const char *what);
/* A member of an object that is gone through. */
struct wmk_ctf_json_at wmk_ctf_json_member(const struct wmk_ctf_json_at *of, const char *name, json_object *value);
/* The text that this value is. */
const char *wmk_ctf_json_text_at(const struct wmk_ctf_json_at *at);

/* ── attributes (json_attributes.c) ──────────────────────────────────────────────────────────────────── */

/*
 * `attributes` and `extensions`, which many objects may have: the latter change the format, and none is known.
 */
void wmk_ctf_json_extras(const struct wmk_ctf_json_at *of);
/*
 * Levels of values in a fragment: three for each level of types, some for ranges, and for attributes of whatever shape.
 */
#define WMK_CTF_JSON_DEPTH ((int)WMK_CTF_TYPE_DEPTH * 3 + 64)
/*
 * What is read and no more: those of such properties that are there, as the text of an object on the scratch; NULL:
 * none is.
 */
enum wmk_ctf_json_kept { WMK_CTF_JSON_OF_CLASSES, WMK_CTF_JSON_OF_CLOCKS, WMK_CTF_JSON_OF_FIELDS };
const char *wmk_ctf_json_keep(const struct wmk_ctf_json_at *of, enum wmk_ctf_json_kept what);
/* An event record class's: the two that the class has room for go out of the tree into it, the others are kept. */
void wmk_ctf_json_attributes(const struct wmk_ctf_json_at *at, struct wmk_ctf_event_class *event);

/* Integer range sets (section 5.3.2), as labels. */
struct wmk_ctf_json_ranges {
	struct wmk_ctf_list list;      /* struct wmk_label */
	/* keep of each what a number of this sign can be; else the bits of what stands there */
	bool is_clipped;
	bool is_signed;
	bool has_negative, has_big;    /* there was a number below 0, one above INT64_MAX */
};

/* Append the ranges of the set at `at`, with this name. */
void wmk_ctf_json_ranges(const struct wmk_ctf_json_at *at, const char *name, struct wmk_ctf_json_ranges *to);

/* Where another value stands (section 5.3.1). -E2BIG: the way is too long. */
const struct wmk_ref *wmk_ctf_json_location(const struct wmk_ctf_json_at *of, const char *name);
/* "length", for type->count. -E2BIG: it needs more than 32 bits. */
uint32_t wmk_ctf_json_length(const struct wmk_ctf_json_at *at);

/* ── field classes (json_scalar.c, json_type.c) ──────────────────────────────────────────────────────── */

/*
 * Make `type`, which is all zeros, of the field class at `at`, whose "type" is `kind`. False: `kind` is none that holds
 * no others.
 */
bool wmk_ctf_json_scalar(const struct wmk_ctf_json_at *at, const struct wmk_ctf_json_at *kind, struct wmk_type *type);

/*
 * The structure that the property is, or NULL where there is none. in->has_time tells whether a time is in it.
 * -EPROTO, -ENOTSUP, -E2BIG (deeper than WMK_CTF_TYPE_DEPTH, longer than 32 bits can tell).
 */
const struct wmk_type *wmk_ctf_json_structure(const struct wmk_ctf_json_at *of, const char *name,
					      enum wmk_scope root);
/* Make `name` stand for the field class that `at` is, for what comes after. */
void wmk_ctf_json_alias(const struct wmk_ctf_json_at *at, const char *name);

/* ── the whole (json.c) ──────────────────────────────────────────────────────────────────────────────── */

/*
 * Fill the builder, which must be empty, from a JSON text sequence (RFC 7464). `name` is for errors: the file's. With
 * `partial`, a last fragment that is cut off is dropped: then 1 is returned, and the cause chain tells where it ends;
 * likewise where there is none yet. Streams have their clocks then: pointers into to->clocks. -EPROTO, -ENOTSUP,
 * -E2BIG, -ENOMEM with a cause chain: the file and line, the fragment's number, the way to the value, what was
 * expected; of what is no JSON the column as well.
 */
int wmk_ctf_json_parse(struct wmk_ctf_builder *to, const char *text, size_t len, const char *name, bool partial);

#endif
