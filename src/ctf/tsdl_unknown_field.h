/* SPDX-License-Identifier: MIT */
/*
 * tsdl_unknown_field.h - keep properties of TSDL fields that CTF 2 cannot express, as attributes next to the attributes
 * of tsdl_unknown.h. Internal to src/ctf.
 *
 *     {"attributes": {"waymark,2026": {"name": "_a"}}}     original name of a member or option, when another one is `a`
 *     {"attributes": {"waymark,2026": {"clock": "c"}}}     of an integer: `map = clock.c.value` without a role
 */
#ifndef WMK_CTF_TSDL_UNKNOWN_FIELD_H
#define WMK_CTF_TSDL_UNKNOWN_FIELD_H

#include "ctf/name_index.h"
#include "ctf/tsdl_idents.h"
#include "ctf/rewrite_tree.h"

#define WMK_TSDL_UNKNOWN_NAME "name"
#define WMK_TSDL_UNKNOWN_CLOCK "clock"

/* Add an attribute to a field class, a member or an option, which must not have attributes yet. */
void wmk_tsdl_unknown_put_word(struct wmk_tree_writer *w, json_object *of, const char *what, const char *word);
/*
 * Get the text of attribute `what` from the attributes of a type or member (schema.h). *word is allocated with
 * malloc(), or NULL if the attributes have no such text. *is_all: the attributes contain nothing else. -ENOMEM.
 */
int wmk_tsdl_unknown_word(const char *attributes, const char *what, char **word, bool *is_all);

/* A cache that speeds up decisions about the names of fields. Starts zeroed except `parts`. */
struct wmk_tsdl_unknown_names {
	const struct wmk_ctf_scope_programs *parts;
	struct wmk_ctf_label_index labels[UINT8_MAX + 1]; /* of selectors, by register */
	const struct wmk_ctf_op *variant;              /* the variant to which the choices in `ranges` belong */
	struct wmk_ctf_choice_index ranges;
};

/*
 * Return whether the member or option `at` of the structure or variant `in` may have the name `name` from its
 * attributes. The name must not add or remove a role. The name must equal the name in CTF 2, except for a leading '_'.
 * A label of the selector that equals `name` must not select another option. 1, 0; -ENOMEM.
 */
int wmk_tsdl_unknown_name_fits(struct wmk_tsdl_unknown_names *names, unsigned scope, uint32_t in, uint32_t at,
			       const char *name);
void wmk_tsdl_unknown_names_free(struct wmk_tsdl_unknown_names *names);

#endif
