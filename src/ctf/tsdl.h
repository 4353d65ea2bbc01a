/* SPDX-License-Identifier: MIT */
/*
 * tsdl.h - the pieces of the TSDL parser (Common Trace Format 1.8.3, sections 7 and C). Internal to src/ctf.
 *
 *     text ──tsdl_lex.c──► tokens ──tsdl_type.c (types, declarators, scopes of names)──┐
 *                                 └─tsdl_block.c (trace, env, clock, stream, event) ◄──┴──► struct wmk_ctf_builder
 *
 * One token of look-ahead. Keywords are identifiers: only their place makes them what they are, so that a field may be
 * called "event".
 */
#ifndef WMK_CTF_TSDL_H
#define WMK_CTF_TSDL_H

#include "ctf/build.h"
#include "ctf/tsdl_unknown.h"

enum wmk_tsdl_kind {
	WMK_TSDL_END, WMK_TSDL_IDENT, WMK_TSDL_NUMBER, WMK_TSDL_STRING,
	WMK_TSDL_PUNCT,            /* `punct`: one of { } ( ) [ ] < > ; : , = . * - + , or ... (E), := (D), -> (A) */
	WMK_TSDL_BAD,              /* an error has been given */
};

struct wmk_tsdl_token {
	uint8_t kind;
	char punct;
	bool is_negative;          /* NUMBER, with its sign: `number` is its magnitude */
	uint32_t line, column;     /* from 1 */
	const char *text;          /* IDENT: in the metadata, `len` bytes; STRING: decoded, on the scratch */
	size_t len;
	uint64_t number;
};

struct wmk_tsdl_scope;

struct wmk_tsdl {
	struct wmk_ctf_builder *to;
	const char *name;          /* of the file */
	const char *text, *at, *end;
	const char *line_begin;
	uint32_t line;
	struct wmk_tsdl_token token; /* the next one */
	struct wmk_tsdl_token word;  /* the keyword that begins the block or type */
	struct wmk_tsdl_token lines; /* the last string that spans several lines; `line` 0: none */
	bool is_ahead;             /* what is read is read again: nothing is warned of */
	struct wmk_tsdl_scope *scope;
	unsigned depth;            /* of nested types */
	bool is_cut;               /* the error is that the text ends */
	struct wmk_tsdl_unknown kept;
	bool has_looked_ahead;     /* for environments; `env_ahead`: their numbers, struct wmk_ctf_env_entry */
	struct wmk_ctf_list env_ahead;
};

/* ── tokens ──────────────────────────────────────────────────────────────────────────────────────────── */

/* Take the next token. -EPROTO, -ENOMEM. */
int wmk_tsdl_next(struct wmk_tsdl *in);
/* Is the next token this punctuation, this word? */
bool wmk_tsdl_is(const struct wmk_tsdl *in, char punct);
bool wmk_tsdl_is_word(const struct wmk_tsdl *in, const char *word);
/* The same, and take it. 1: it was; 0: another token, which stays. */
int wmk_tsdl_take(struct wmk_tsdl *in, char punct);
int wmk_tsdl_take_word(struct wmk_tsdl *in, const char *word);
/* Take it, or fail: "expected ';' behind a field". */
int wmk_tsdl_expect(struct wmk_tsdl *in, char punct, const char *where);
/* Give the error of the next token: "<file>:<line>:<column>: expected <what>, not <token>". -EPROTO. */
int wmk_tsdl_wrong(struct wmk_tsdl *in, const char *what);
/* An error at the next token, or at another, in words. -EPROTO unless `err` is another. */
int wmk_tsdl_error(struct wmk_tsdl *in, int err, const char *format, ...) __attribute__((format(printf, 3, 4)));
int wmk_tsdl_error_at(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The token breaks the specification, and is taken all the same. 0, -ENOMEM. */
int wmk_tsdl_warn(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The word of an IDENT or STRING token as a string of the scratch. NULL without memory. */
const char *wmk_tsdl_word(struct wmk_tsdl *in);

/* ── types ───────────────────────────────────────────────────────────────────────────────────────────── */

/* Names of types that are seen from here on, until the scope is left. */
int wmk_tsdl_enter(struct wmk_tsdl *in);
void wmk_tsdl_leave(struct wmk_tsdl *in);

/* Does a declaration of types begin here: typedef, typealias, struct, variant or enum? */
bool wmk_tsdl_is_declaration(const struct wmk_tsdl *in);
/* `typedef ...;`, `typealias ... := ...;`, `struct NAME {...};`, with the ';'. */
int wmk_tsdl_declaration(struct wmk_tsdl *in);
/* A type as it stands behind ':=', without the ';'. */
int wmk_tsdl_type(struct wmk_tsdl *in, struct wmk_type *type);
/* A number with its sign, or the string "1": for attributes. */
int wmk_tsdl_number(struct wmk_tsdl *in, int64_t *value, bool *is_unsigned);
/* Names joined by '.': "packet.header", on the scratch. */
int wmk_tsdl_path(struct wmk_tsdl *in, const char **path);

/* The number of that name in the environment, which may stand anywhere; `at`: for the error. -EPROTO. (tsdl_env.c) */
int wmk_tsdl_env_number(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, const char *name, int64_t *number);
/* Where a length or a selector is: `path`, which begins at the token. (tsdl_env.c) */
int wmk_tsdl_ref(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, const char *path, const struct wmk_ref **made);

/* ── the whole ───────────────────────────────────────────────────────────────────────────────────────── */

/* Read from its begin. */
void wmk_tsdl_open(struct wmk_tsdl *in, struct wmk_ctf_builder *to, const char *text, size_t len, const char *name);
/* What is needed before the rest is read: the version, if the first line has it; the byte order. (tsdl_head.c) */
int wmk_tsdl_signature(struct wmk_ctf_builder *to, const char *text, size_t len);
int wmk_tsdl_find_order(struct wmk_tsdl *in);

/* 1: with `partial`, and the text's end is missing; the cause chain tells where. */
int wmk_tsdl_parse(struct wmk_ctf_builder *to, const char *text, size_t len, const char *name, bool partial);

#endif
