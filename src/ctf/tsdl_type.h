/* SPDX-License-Identifier: MIT */
/*
 * tsdl_type.h - interfaces between the parsers of TSDL's types (tsdl.h has those to the rest).
 *
 *     tsdl_scope.c   names of types
 *     tsdl_type.c    specifiers and declarators: `unsigned long x[3]`, `struct { ... } align(8)`
 *     tsdl_scalar.c  bodies of integer, floating_point, string and enum
 */
#ifndef WMK_CTF_TSDL_TYPE_H
#define WMK_CTF_TSDL_TYPE_H

#include "ctf/tsdl.h"

/*
 * Name spaces. Name spaces for the fields of a structure and the properties of a type serve only to detect duplicates.
 */
enum {
	WMK_TSDL_FIELD = 'f',
	WMK_TSDL_PROPERTY = 'p',
	WMK_TSDL_ALIAS = 'a',
	WMK_TSDL_STRUCT_TAG = 's',
	WMK_TSDL_VARIANT_TAG = 'v',
	WMK_TSDL_ENUM_TAG = 'e'
};

/* Declare a name in the innermost scope; the function reports a duplicate as an error at the token. */
void wmk_tsdl_declare(struct wmk_tsdl *in, const struct wmk_tsdl_token *token, char space, const char *text,
		      const struct wmk_type *type);
/* Find a name; the function searches the innermost scope first. NULL: not declared. */
const struct wmk_type *wmk_tsdl_find(const struct wmk_tsdl *in, char space, const char *text);

/* Parse the rest of a type after its keyword, which is in->word. */
void wmk_tsdl_integer(struct wmk_tsdl *in, struct wmk_type *type);
void wmk_tsdl_float(struct wmk_tsdl *in, struct wmk_type *type);
void wmk_tsdl_string(struct wmk_tsdl *in, struct wmk_type *type);
void wmk_tsdl_enum(struct wmk_tsdl *in, struct wmk_type *type);

/* Find the type of a tag without a body; `what` is the kind of type in error messages. */
void wmk_tsdl_known_tag(struct wmk_tsdl *in, char space, const char *what, const char *tag,
			const struct wmk_tsdl_token *at, struct wmk_type *type);

/*
 * Parse a type without declarators; *words is the name of the type if a '*' may follow the name ("const char"), and
 * NULL otherwise.
 */
void wmk_tsdl_specifier(struct wmk_tsdl *in, struct wmk_type *type, const char **words);
/* Parse the value of `align = N` or `align(N)`, which is a power of two, in bits. */
void wmk_tsdl_alignment(struct wmk_tsdl *in, uint32_t *align);

#endif
