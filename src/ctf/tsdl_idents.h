/* SPDX-License-Identifier: MIT */
/*
 * tsdl_idents.h - identifiers of members and options in TSDL. Internal to src/ctf; rewrite_tsdl.c uses these functions.
 *
 * Names that were read from TSDL stay unchanged. Names from CTF 2 become identifiers. In the packet header, the packet
 * context and the event header, the name of a value defines its role in CTF 1.8. So a value with several roles gets the
 * name of its first role, and rewrite_type.c reports the other roles. Members without a role get a leading '_'; readers
 * remove this '_'. If a label selects an option of a variant, the option gets the name of the label.
 *
 * CTF 2 metadata that was made from TSDL may have the original names in attributes (tsdl_unknown_field.h). An original
 * name is restored only if its restoration does not change another name.
 */
#ifndef WMK_CTF_TSDL_IDENTS_H
#define WMK_CTF_TSDL_IDENTS_H

#include "ctf/op_path.h"

/* The identifiers of all named operations of a scope, indexed by operation. Starts zeroed. */
struct wmk_ctf_idents {
	char **names;
	uint8_t *kept;             /* WMK_IDENT_RESTORED: the name is from the attributes, */
	uint32_t n;
};

#define WMK_IDENT_RESTORED 1u
#define WMK_IDENT_MORE 2u          /* which contain more than the name */

/* Make the identifiers of the scope parts->of[scope]. `is_tsdl` is true if the trace was read from TSDL. -ENOMEM. */
int wmk_ctf_idents_make(struct wmk_ctf_idents *idents, const struct wmk_ctf_scope_programs *parts, unsigned scope,
			bool is_tsdl);
/* Return the name that defines a role in a scope; for an operation, return the name of its first role. NULL: none. */
const char *wmk_ctf_role_name(unsigned scope, unsigned role);
const char *wmk_ctf_role_name_of(const struct wmk_ctf_op *op, unsigned scope);
/* Return whether the name is a keyword of TSDL. */
bool wmk_ctf_is_keyword(const char *name);
/* Return the identifier of an operation, or "" for an operation without a name. */
const char *wmk_ctf_idents_of(const struct wmk_ctf_idents *idents, uint32_t at);
/* WMK_IDENT_* of an operation. */
unsigned wmk_ctf_idents_restored(const struct wmk_ctf_idents *idents, uint32_t at);
void wmk_ctf_idents_free(struct wmk_ctf_idents *idents);

#endif
