/* SPDX-License-Identifier: MIT */
/*
 * tsdl_unknown_field.c - keep properties of TSDL fields that CTF 2 cannot express (see tsdl_unknown_field.h).
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "ctf/tsdl_unknown.h"
#include "ctf/tsdl_unknown_field.h"

void wmk_tsdl_unknown_put_word(struct wmk_tree_writer *w, json_object *of, const char *what, const char *word)
{
	json_object *attributes = json_object_new_object(), *ours = json_object_new_object();

	wmk_tree_put_text(w, ours, what, word);
	wmk_tree_put(w, attributes, WMK_TSDL_UNKNOWN_SPACE, ours);
	wmk_tree_put(w, of, "attributes", attributes);
}

/*
 * Get a member of an object; the result is NULL if the object has no such member, or if `of` is not an object. `is_all`
 * becomes false if the object has other members.
 */
static json_object *get(json_object *of, const char *name, bool *is_all)
{
	json_object *found = NULL;

	if (json_object_is_type(of, json_type_object) && json_object_object_get_ex(of, name, &found) &&
	    json_object_object_length(of) != 1)
		*is_all = false;
	return found;
}

int wmk_tsdl_unknown_word(const char *attributes, const char *what, char **word, bool *is_all)
{
	json_object *whole = attributes ? wmk_tree_parse(attributes) : NULL, *found;

	*word = NULL;
	*is_all = true;
	if (!whole)
		return attributes ? wmk_error(-ENOMEM, "no memory for metadata") : 0;
	found = get(get(get(whole, "attributes", is_all), WMK_TSDL_UNKNOWN_SPACE, is_all), what, is_all);
	/* (a text that contains a NUL is not a word of TSDL) */
	if (json_object_is_type(found, json_type_string) &&
	    strlen(json_object_get_string(found)) == (size_t)json_object_get_string_len(found)) {
		*word = strdup(json_object_get_string(found));
		if (!*word) {
			json_object_put(whole);
			return wmk_error(-ENOMEM, "no memory for metadata");
		}
	}
	json_object_put(whole);
	return 0;
}

/* ── names ───────────────────────────────────────────────────────────────────────────────────────────── */

static bool is_identifier(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

	return *name && !(*name >= '0' && *name <= '9') && !name[strspn(name, letters)] && !wmk_ctf_is_keyword(name);
}

/* Return whether the field name `name` would add a role to the operation or remove a role from it in TSDL. */
static bool changes_roles(const struct wmk_ctf_op *op, unsigned scope, const char *name)
{
	const char *shown = name + (*name == '_'), *own = wmk_ctf_role_name_of(op, scope);

	if (own)
		return strcmp(shown, own) != 0;
	for (unsigned role = 1; role < WMK_ROLES; role++)
		if (!(op->roles & WMK_ROLE_BIT(role)) && wmk_ctf_role_name(scope, role) &&
		    !strcmp(shown, wmk_ctf_role_name(scope, role)))
			return true;
	return false;
}

/* Make an index of the labels of the variant's selector, and an index of the variant's choices. */
static int make_ready(struct wmk_tsdl_unknown_names *names, const struct wmk_ctf_op *variant,
		      const struct wmk_ctf_op_location *place)
{
	struct wmk_ctf_label_index *labels = &names->labels[variant->ref];
	int err = labels->is_made
			  ? 0
			  : wmk_ctf_label_index_make(labels, names->parts->of[place->scope]->ops[place->op].type);

	if (err < 0 || names->variant == variant)
		return err;
	wmk_ctf_choice_index_free(&names->ranges);
	names->variant = NULL;
	err = wmk_ctf_choice_index_make(&names->ranges, variant);
	if (err >= 0)
		names->variant = variant;
	return err;
}

/*
 * Return whether a label of the selector has this name and does not select the option. In TSDL, such a label would
 * select an option that has the same name. 1, 0; -ENOMEM.
 */
static int is_label_of_another(struct wmk_tsdl_unknown_names *names, const struct wmk_ctf_op *variant, uint32_t option,
			       const char *name)
{
	const struct wmk_ctf_label_index *labels = &names->labels[variant->ref];
	struct wmk_ctf_op_location place;
	int err;

	if (!labels->is_made && !wmk_ctf_op_of_register(names->parts, variant->ref, &place))
		return 1;
	err = make_ready(names, variant, &place);
	if (err < 0)
		return err;
	for (uint32_t i = wmk_ctf_label_index_find(labels, name);
	     i < labels->n && !strcmp(labels->labels[i]->name, name); i++)
		if (!wmk_ctf_choice_index_has(&names->ranges, option, labels->labels[i]))
			return 1;
	return 0;
}

int wmk_tsdl_unknown_name_fits(struct wmk_tsdl_unknown_names *names, unsigned scope, uint32_t in, uint32_t at,
			       const char *name)
{
	const struct wmk_ctf_op *ops = names->parts->of[scope]->ops;
	const char *of = wmk_or_empty(ops[at].name);
	int other;

	if (!is_identifier(name) || strcmp(name + strspn(name, "_"), of + strspn(of, "_")) != 0 ||
	    changes_roles(&ops[at], scope, name))
		return 0;
	other = ops[in].code == WMK_CTF_VARIANT ? is_label_of_another(names, &ops[in], at, name) : 0;
	return other < 0 ? other : !other;
}

void wmk_tsdl_unknown_names_free(struct wmk_tsdl_unknown_names *names)
{
	for (unsigned reg = 0; reg <= UINT8_MAX; reg++)
		wmk_ctf_label_index_free(&names->labels[reg]);
	wmk_ctf_choice_index_free(&names->ranges);
	names->variant = NULL;
}
