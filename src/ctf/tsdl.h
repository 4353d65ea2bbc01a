/* SPDX-License-Identifier: MIT */
/*
 * tsdl.h - the pieces of the TSDL parser (Common Trace Format 1.8.3, sections 7 and C). Internal to src/ctf.
 *
 *     text ──tsdl_lex.c──► tokens ──tsdl_type.c (types, declarators, scopes of names)──┐
 *                                 └─tsdl_block.c (trace, env, clock, stream, event) ◄──┴──► struct wmk_ctf_builder
 *
 * One token of look-ahead. Keywords are identifiers: only their place makes them what they are, so that a field may be
 * called "event".
 *
 * The first error is kept in the builder. After it the next token is BAD, which no function takes: what a function
 * returns then has no meaning but can be used, and all loops end.
 */
#ifndef WMK_CTF_TSDL_H
#define WMK_CTF_TSDL_H

#include "ctf/build.h"
#include "ctf/tsdl_unknown.h"

enum wmk_tsdl_kind {
	WMK_TSDL_END, WMK_TSDL_IDENT, WMK_TSDL_NUMBER, WMK_TSDL_STRING,
	WMK_TSDL_PUNCT,            /* `punct`: one of { } ( ) [ ] < > ; : , = . * - + , or ... (E), := (D), -> (A) */
	WMK_TSDL_BAD,              /* there was an error */
};

struct wmk_tsdl_token {
	uint8_t kind;
	char punct;
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

/* Take the next token. */
void wmk_tsdl_next(struct wmk_tsdl *in);
/* Is the next token this punctuation, this word? */
bool wmk_tsdl_is(const struct wmk_tsdl *in, char punct);
bool wmk_tsdl_is_word(const struct wmk_tsdl *in, const char *word);
/* The same, and take it. False: it is another token, which stays. */
bool wmk_tsdl_take(struct wmk_tsdl *in, char punct);
bool wmk_tsdl_take_word(struct wmk_tsdl *in, const char *word);
/* For loops: the next token is another than this punctuation, which else is taken, and there was no error. */
bool wmk_tsdl_before(struct wmk_tsdl *in, char punct);
/* Take it, or fail: "expected ';' behind a field". */
void wmk_tsdl_expect(struct wmk_tsdl *in, char punct, const char *where);
/* The error of a token, the next one if `at` is NULL: "<file>:<line>:<column>: expected <what>, not <token>". */
void wmk_tsdl_wrong(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, const char *what);
/* An error of a token, the next one if `at` is NULL, in words. */
void wmk_tsdl_error(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, int err, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* The token breaks the specification, and is taken all the same. */
void wmk_tsdl_warn(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The text of an IDENT or STRING token, which is taken. */
const char *wmk_tsdl_take_text(struct wmk_tsdl *in);

/* ── types ───────────────────────────────────────────────────────────────────────────────────────────── */

/* Names of types that are seen from here on, until the scope is left. */
void wmk_tsdl_enter(struct wmk_tsdl *in);
void wmk_tsdl_leave(struct wmk_tsdl *in);

/* Does a declaration of types begin here: typedef, typealias, struct, variant or enum? */
bool wmk_tsdl_is_declaration(const struct wmk_tsdl *in);
/* `typedef ...;`, `typealias ... := ...;`, `struct NAME {...};`, with the ';'. */
void wmk_tsdl_declaration(struct wmk_tsdl *in);
/* A type as it stands behind ':=', without the ';'. */
void wmk_tsdl_type(struct wmk_tsdl *in, struct wmk_type *type);
/* A number with its sign, or the string "1": for attributes. */
int64_t wmk_tsdl_number(struct wmk_tsdl *in, bool *is_unsigned);
/* Names joined by '.': "packet.header", on the scratch. */
const char *wmk_tsdl_path(struct wmk_tsdl *in);

/* The number of that name in the environment, which may stand anywhere; `at`: for the error. (tsdl_env.c) */
int64_t wmk_tsdl_env_number(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, const char *name);
/* Where a length or a selector is: `path`, which begins at the token. (tsdl_env.c) */
const struct wmk_ref *wmk_tsdl_ref(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, const char *path);

/* ── the whole ───────────────────────────────────────────────────────────────────────────────────────── */

/* Read from its begin. */
void wmk_tsdl_open(struct wmk_tsdl *in, struct wmk_ctf_builder *to, const char *text, size_t len, const char *name);
/* What is needed before the rest is read: the version, if the first line has it; the byte order. (tsdl_head.c) */
void wmk_tsdl_signature(struct wmk_ctf_builder *to, const char *text, size_t len);
void wmk_tsdl_find_order(struct wmk_tsdl *in);

/* 1: with `partial`, and the text's end is missing; the cause chain tells where. */
int wmk_tsdl_parse(struct wmk_ctf_builder *to, const char *text, size_t len, const char *name, bool partial);

#endif
