/* SPDX-License-Identifier: MIT */
/*
 * tsdl.h - parts of the TSDL parser (Common Trace Format 1.8.3, sections 7 and C). Internal to src/ctf.
 *
 *     text ──tsdl_lex.c──► tokens ──tsdl_type.c (types, declarators, scopes of names)──┐
 *                                 └─tsdl_block.c (trace, env, clock, stream, event) ◄──┴──► struct wmk_ctf_builder
 *
 * The parser reads one token ahead. Keywords are identifiers that have a meaning only at certain places, so a field may
 * be named "event".
 *
 * The builder keeps the first error. After an error, the next token is BAD, which no function accepts. After an error,
 * callers can still use all functions safely: results are meaningless, and all loops end.
 */
#ifndef WMK_CTF_TSDL_H
#define WMK_CTF_TSDL_H

#include "ctf/build.h"
#include "ctf/tsdl_unknown.h"

enum wmk_tsdl_kind {
	WMK_TSDL_END, WMK_TSDL_IDENT, WMK_TSDL_NUMBER, WMK_TSDL_STRING,
	WMK_TSDL_PUNCT,            /* `punct`: one of { } ( ) [ ] < > ; : , = . * - + , or ... (E), := (D), -> (A) */
	WMK_TSDL_BAD,              /* after an error */
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
	const char *name;          /* name of the file */
	const char *text, *at, *end;
	const char *line_begin;
	uint32_t line;
	struct wmk_tsdl_token token; /* the next token */
	struct wmk_tsdl_token word;  /* the keyword that begins the block or type */
	struct wmk_tsdl_token lines; /* the last string that spans several lines; `line` 0: none */
	bool is_ahead;             /* looking ahead: the text is parsed again later, so it causes no warnings */
	struct wmk_tsdl_scope *scope;
	unsigned depth;            /* levels of nested types */
	bool is_cut;               /* the error is an unexpected end of the text */
	struct wmk_tsdl_unknown kept;
	/* the parser has read the environments ahead; `env_ahead`: the numbers in them, struct wmk_ctf_env_entry */
	bool has_looked_ahead;
	struct wmk_ctf_list env_ahead;
};

/* ── tokens ──────────────────────────────────────────────────────────────────────────────────────────── */

/* Read the next token. */
void wmk_tsdl_next(struct wmk_tsdl *in);
/* Return whether the next token is the given punctuation or word. */
bool wmk_tsdl_is(const struct wmk_tsdl *in, char punct);
bool wmk_tsdl_is_word(const struct wmk_tsdl *in, const char *word);
/*
 * Take the next token if it is the given punctuation or word. Returns false and takes no token if the next token is
 * another token.
 */
bool wmk_tsdl_take(struct wmk_tsdl *in, char punct);
bool wmk_tsdl_take_word(struct wmk_tsdl *in, const char *word);
/*
 * The condition of a loop that ends with the given punctuation. True: another token follows. Returns false after it has
 * taken the punctuation, or after an error.
 */
bool wmk_tsdl_before(struct wmk_tsdl *in, char punct);
/* Take the given punctuation, or report "expected ';' after a field". */
void wmk_tsdl_expect(struct wmk_tsdl *in, char punct, const char *where);
/* Report "<file>:<line>:<column>: expected <what>, not <token>" at a token, or at the next token if `at` is NULL. */
void wmk_tsdl_wrong(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, const char *what);
/* Report an error at a token, or at the next token if `at` is NULL. */
void wmk_tsdl_error(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, int err, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Add a warning about a token that violates the specification and is accepted. */
void wmk_tsdl_warn(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Take a token of the kind IDENT or STRING and return the text of the token. */
const char *wmk_tsdl_take_text(struct wmk_tsdl *in);

/* ── types ───────────────────────────────────────────────────────────────────────────────────────────── */

/* Open or close a scope for the names of types. */
void wmk_tsdl_enter(struct wmk_tsdl *in);
void wmk_tsdl_leave(struct wmk_tsdl *in);

/* Return whether a declaration of types (typedef, typealias, struct, variant or enum) begins at the next token. */
bool wmk_tsdl_is_declaration(const struct wmk_tsdl *in);
/* Parse `typedef ...;`, `typealias ... := ...;` or `struct NAME {...};`, with the ';'. */
void wmk_tsdl_declaration(struct wmk_tsdl *in);
/* Parse a type that follows ':=', but not the final ';'. */
void wmk_tsdl_type(struct wmk_tsdl *in, struct wmk_type *type);
/* Parse a number with optional signs. *is_unsigned becomes false if the signs make it negative. */
int64_t wmk_tsdl_number(struct wmk_tsdl *in, bool *is_unsigned);
/* Parse names joined by '.', such as "packet.header"; the resulting text is in scratch memory. */
const char *wmk_tsdl_path(struct wmk_tsdl *in);

/*
 * Return the number with that name in the environment; `at` is the place for errors. (tsdl_env.c)
 */
int64_t wmk_tsdl_env_number(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, const char *name);
/* Make a reference to a length or selector from `path`, which begins at the token `at`. (tsdl_env.c) */
const struct wmk_ref *wmk_tsdl_ref(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, const char *path);

/* ── the whole ───────────────────────────────────────────────────────────────────────────────────────── */

/* Start to parse a text. */
void wmk_tsdl_open(struct wmk_tsdl *in, struct wmk_ctf_builder *to, const char *text, size_t len, const char *name);
/*
 * Find the version of CTF and the byte order of the trace, before the text is parsed. (tsdl_head.c)
 */
void wmk_tsdl_signature(struct wmk_ctf_builder *to, const char *text, size_t len);
void wmk_tsdl_find_order(struct wmk_tsdl *in);

/*
 * Parse the whole text. With `partial`, the function returns 1 if the end of the text is missing; the cause chain
 * contains the place where the text ends.
 */
int wmk_tsdl_parse(struct wmk_ctf_builder *to, const char *text, size_t len, const char *name, bool partial);

#endif
