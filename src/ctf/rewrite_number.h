/* SPDX-License-Identifier: MIT */
/*
 * rewrite_number.h - field classes of CTF 2 for integers, enumerations, bit maps and floating point numbers, and their
 * roles (CTF2-SPEC-2.0, sections 5.3.5 to 5.3.11). Internal to src/ctf; rewrite_field.c uses these functions.
 */
#ifndef WMK_CTF_REWRITE_NUMBER_H
#define WMK_CTF_REWRITE_NUMBER_H

#include "ctf/rewrite_tree.h"

/* Return whether the operation meets the conditions of CTF 2 for the role that its name defines in CTF 1.8. */
bool wmk_tree_role_fits(const struct wmk_tree_writer *w, unsigned scope, const struct wmk_ctf_op *op, unsigned role);
/* A field with a role is unsigned in CTF 2; in CTF 1.8 such a field may be signed. */
bool wmk_tree_loses_sign(const struct wmk_tree_writer *w, unsigned scope, const struct wmk_ctf_op *op);
void wmk_tree_put_roles(struct wmk_tree_writer *w, json_object *class, const struct wmk_ctf_op *op);
json_object *wmk_tree_number_of(struct wmk_tree_writer *w, const struct wmk_ctf_op *op);

#endif
