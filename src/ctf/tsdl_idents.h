/* SPDX-License-Identifier: MIT */
/*
 * tsdl_idents.h - identifiers of members and options in TSDL. Internal to src/ctf; for rewrite_tsdl.c.
 *
 * Names that were read from TSDL stay the same. Names from CTF 2 become identifiers. In packet header, packet context
 * and event header, 1.8 defines the role of a value by its name. So a value with roles gets the name of its first role,
 * and rewrite_type.c reports its other roles. Members without a role get a leading '_', which readers remove. Options
 * of a variant get the names of the labels that select them.
 *
 * CTF 2 metadata that was made from TSDL may have the original names in attributes (tsdl_unknown_field.h). An original
 * name is restored if its restoration changes no other name.
 */
#ifndef WMK_CTF_TSDL_IDENTS_H
#define WMK_CTF_TSDL_IDENTS_H

#include "ctf/op_path.h"

/* Identifiers of all named operations of a scope, by operation. Starts zeroed. */
struct wmk_ctf_idents {
	char **names;
	uint8_t *kept;             /* WMK_IDENT_RESTORED: the name is from the attributes, */
	uint32_t n;
};

#define WMK_IDENT_RESTORED 1u
#define WMK_IDENT_MORE 2u          /* which contain more than the name */

/* Make the identifiers of parts->of[scope]. `is_tsdl`: the trace was read from TSDL. -ENOMEM. */
int wmk_ctf_idents_make(struct wmk_ctf_idents *idents, const struct wmk_ctf_scope_programs *parts, unsigned scope,
			bool is_tsdl);
/* The name that defines a role in a scope; for an operation, the name of its first role. NULL: none. */
const char *wmk_ctf_role_name(unsigned scope, unsigned role);
const char *wmk_ctf_role_name_of(const struct wmk_ctf_op *op, unsigned scope);
/* Whether the name is a keyword of TSDL. */
bool wmk_ctf_is_keyword(const char *name);
/* The identifier of an operation; "": none. */
const char *wmk_ctf_idents_of(const struct wmk_ctf_idents *idents, uint32_t at);
/* WMK_IDENT_* of an operation. */
unsigned wmk_ctf_idents_restored(const struct wmk_ctf_idents *idents, uint32_t at);
void wmk_ctf_idents_free(struct wmk_ctf_idents *idents);

#endif
