/* SPDX-License-Identifier: MIT */
/*
 * tsdl_unknown_field.h - what TSDL says of a field and CTF 2 has no words for, as attributes beside those of
 * tsdl_unknown.h. Internal to src/ctf.
 *
 *     {"attributes": {"waymark,2026": {"name": "_a"}}}     of a member, or an option: it is called that in TSDL, where another one is called `a`
 *     {"attributes": {"waymark,2026": {"clock": "c"}}}     of an integer's class: `map = clock.c.value`, where no role says so
 */
#ifndef WMK_CTF_TSDL_UNKNOWN_FIELD_H
#define WMK_CTF_TSDL_UNKNOWN_FIELD_H

#include "ctf/name_index.h"
#include "ctf/tsdl_idents.h"
#include "ctf/rewrite_tree.h"

#define WMK_TSDL_UNKNOWN_NAME "name"
#define WMK_TSDL_UNKNOWN_CLOCK "clock"

/* Into a field class, a member or an option, which has no attributes. */
void wmk_tsdl_unknown_put_word(struct wmk_tree_writer *w, json_object *of, const char *what, const char *word);
/*
 * The word that the attributes of a type, or of a member (schema.h), have of this; malloc'd; NULL: none. `is_all`:
 * nothing else is in them. -ENOMEM.
 */
int wmk_tsdl_unknown_word(const char *attributes, const char *what, char **word, bool *is_all);

/* What is asked for again and again while names of fields are taken or not. Starts from zeros but for `parts`. */
struct wmk_tsdl_unknown_names {
	const struct wmk_ctf_scope_programs *parts;
	struct wmk_ctf_label_index labels[UINT8_MAX + 1]; /* of selectors, by the register of each */
	const struct wmk_ctf_op *variant;              /* whose choices are in `ranges` */
	struct wmk_ctf_choice_index ranges;
};

/*
 * May what is at `at` in the structure or variant at `in` of a scope be called `name`, which its attributes say? It
 * must be as the name that it has in CTF 2 but for '_' in front, and may take or give no role; nor may a label of that
 * name select another option. 1, 0; -ENOMEM.
 */
int wmk_tsdl_unknown_name_fits(struct wmk_tsdl_unknown_names *names, unsigned scope, uint32_t in, uint32_t at,
			       const char *name);
void wmk_tsdl_unknown_names_free(struct wmk_tsdl_unknown_names *names);

#endif
