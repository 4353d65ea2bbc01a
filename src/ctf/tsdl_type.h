/* SPDX-License-Identifier: MIT */
/*
 * tsdl_type.h - what the files of TSDL's types tell each other (tsdl.h has what they tell the rest).
 *
 *     tsdl_scope.c   names of types
 *     tsdl_type.c    specifiers and declarators: `unsigned long x[3]`, `struct { ... } align(8)`
 *     tsdl_scalar.c  integer, floating_point, string, enum: what their braces may hold
 */
#ifndef WMK_CTF_TSDL_TYPE_H
#define WMK_CTF_TSDL_TYPE_H

#include "ctf/tsdl.h"

/*
 * Spaces of names. In a structure's and a type's own scope, fields and properties have one too: so that none is there
 * twice.
 */
enum {
	WMK_TSDL_FIELD = 'f',
	WMK_TSDL_PROPERTY = 'p',
	WMK_TSDL_ALIAS = 'a',
	WMK_TSDL_STRUCT_TAG = 's',
	WMK_TSDL_VARIANT_TAG = 'v',
	WMK_TSDL_ENUM_TAG = 'e'
};

/* In the innermost scope; an error at the token when it is declared there already. */
void wmk_tsdl_declare(struct wmk_tsdl *in, const struct wmk_tsdl_token *token, char space, const char *text,
		      const struct wmk_type *type);
/* From the innermost scope outwards; NULL: nowhere. */
const struct wmk_type *wmk_tsdl_find(const struct wmk_tsdl *in, char space, const char *text);

/* Behind the word that begins each, which is in->word. */
void wmk_tsdl_integer(struct wmk_tsdl *in, struct wmk_type *type);
void wmk_tsdl_float(struct wmk_tsdl *in, struct wmk_type *type);
void wmk_tsdl_string(struct wmk_tsdl *in, struct wmk_type *type);
void wmk_tsdl_enum(struct wmk_tsdl *in, struct wmk_type *type);

/* A tag alone, `what` for errors: the type that it was declared for. */
void wmk_tsdl_known_tag(struct wmk_tsdl *in, char space, const char *what, const char *tag,
			const struct wmk_tsdl_token *at, struct wmk_type *type);

/* A type without declarators; *words is its name when it is one that a '*' can follow ("const char"), else NULL. */
void wmk_tsdl_specifier(struct wmk_tsdl *in, struct wmk_type *type, const char **words);
/* The value of `align = N` and `align(N)`: bits, a power of two. */
void wmk_tsdl_alignment(struct wmk_tsdl *in, uint32_t *align);

#endif
