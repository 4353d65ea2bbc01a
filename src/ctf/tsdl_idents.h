/* SPDX-License-Identifier: MIT */
/*
 * tsdl_idents.h - what the members of structures, and options of variants, are called in TSDL. Internal to src/ctf; for
 * rewrite_tsdl.c.
 *
 * Names out of TSDL stay. Others: 1.8 knows what a value means by the name that it has in packet header, packet context
 * and event header, so values with a role get that name (of several roles that of the first; the rest is
 * rewrite_type.c's to tell); all others get a '_' in front, which readers take off again. Options of a variant are
 * called as the label that selects them. What CTF 2 was made of TSDL may say which names these had
 * (tsdl_unknown_field.h):
 * they have them again, where nobody else's is changed by that.
 */
#ifndef WMK_CTF_TSDL_IDENTS_H
#define WMK_CTF_TSDL_IDENTS_H

#include "ctf/op_path.h"

/* Of all that has a name in a scope, by operation. Starts from zeros. */
struct wmk_ctf_idents {
	char **names;
	uint8_t *kept;             /* WMK_IDENT_RESTORED: out of its attributes, ... */
	uint32_t n;
};

#define WMK_IDENT_RESTORED 1u
#define WMK_IDENT_MORE 2u          /* ... which have more in them */

/* Anew, for what parts->of[scope] is. `is_tsdl`: it was read from TSDL. -ENOMEM. */
int wmk_ctf_idents_make(struct wmk_ctf_idents *idents, const struct wmk_ctf_scope_programs *parts, unsigned scope,
			bool is_tsdl);
/*
 * The name that tells the role there, NULL: none does; and the name that an operation has for the first of its roles.
 */
const char *wmk_ctf_role_name(unsigned scope, unsigned role);
const char *wmk_ctf_role_name_of(const struct wmk_ctf_op *op, unsigned scope);
/* Is it a word of TSDL's own? */
bool wmk_ctf_is_keyword(const char *name);
/* "" where it has none. */
const char *wmk_ctf_idents_of(const struct wmk_ctf_idents *idents, uint32_t at);
/* WMK_IDENT_*, of its attributes. */
unsigned wmk_ctf_idents_restored(const struct wmk_ctf_idents *idents, uint32_t at);
void wmk_ctf_idents_free(struct wmk_ctf_idents *idents);

#endif
