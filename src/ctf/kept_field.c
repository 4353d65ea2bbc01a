/* SPDX-License-Identifier: MIT */
/*
 * kept_field.c - what TSDL says of a field and CTF 2 has no words for (see kept_field.h).
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "ctf/kept.h"
#include "ctf/kept_field.h"

void wmk_kept_put_word(struct wmk_tree_writer *w, json_object *of, const char *what, const char *word)
{
	json_object *attributes = json_object_new_object(), *ours = json_object_new_object();

	wmk_tree_put_text(w, ours, what, word);
	wmk_tree_put(w, attributes, WMK_KEPT_SPACE, ours);
	wmk_tree_put(w, of, "attributes", attributes);
}

/* What is in an object by this name; NULL: nothing, or it is no object. */
static json_object *get(json_object *of, const char *name, bool *is_all)
{
	json_object *found = NULL;

	if (json_object_is_type(of, json_type_object) && json_object_object_get_ex(of, name, &found) && json_object_object_length(of) != 1)
		*is_all = false;
	return found;
}

int wmk_kept_word(const char *attributes, const char *what, char **word, bool *is_all)
{
	json_object *whole = attributes ? wmk_tree_parse(attributes) : NULL, *found;

	*word = NULL;
	*is_all = true;
	if (!whole)
		return attributes ? wmk_error(-ENOMEM, "no memory for metadata") : 0;
	found = get(get(get(whole, "attributes", is_all), WMK_KEPT_SPACE, is_all), what, is_all);
	/* (a text with a NUL in it is no word of TSDL's) */
	if (json_object_is_type(found, json_type_string) && strlen(json_object_get_string(found)) == (size_t)json_object_get_string_len(found)) {
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

/* Would it have other roles by that name? */
static bool changes_roles(const struct wmk_ctf_op *op, unsigned scope, const char *name)
{
	const char *shown = name + (*name == '_'), *own = wmk_ctf_role_name_of(op, scope);

	if (own)
		return strcmp(shown, own) != 0;
	for (unsigned role = 1; role < WMK_ROLES; role++)
		if (!(op->roles & WMK_ROLE_BIT(role)) && wmk_ctf_role_name(scope, role) && !strcmp(shown, wmk_ctf_role_name(scope, role)))
			return true;
	return false;
}

static bool is_selected_by(const struct wmk_ctf_op *variant, uint32_t option, const struct wmk_label *label)
{
	for (uint32_t i = 0; i < variant->n_choices; i++)
		if (variant->choices[i].op == option && variant->choices[i].from == (uint64_t)label->from && variant->choices[i].to == (uint64_t)label->to)
			return true;
	return false;
}

/* Is there a label of that name that does not select the option? In TSDL it would. */
static bool is_label_of_another(const struct wmk_ctf_parts *parts, const struct wmk_ctf_op *variant, uint32_t option, const char *name)
{
	const struct wmk_type *labels;
	struct wmk_ctf_place place;

	if (!wmk_ctf_place_of(parts, variant->ref, &place))
		return true;
	labels = parts->of[place.scope]->ops[place.op].type;
	for (uint32_t i = 0; labels->kind == WMK_TYPE_ENUM && i < labels->count; i++)
		if (labels->labels[i].name && !strcmp(labels->labels[i].name, name) && !is_selected_by(variant, option, &labels->labels[i]))
			return true;
	return false;
}

bool wmk_kept_may_be_called(const struct wmk_ctf_parts *parts, unsigned scope, uint32_t in, uint32_t at, const char *name)
{
	const struct wmk_ctf_op *ops = parts->of[scope]->ops;
	const char *of = ops[at].name ? ops[at].name : "";

	if (!is_identifier(name) || strcmp(name + strspn(name, "_"), of + strspn(of, "_")) != 0 || changes_roles(&ops[at], scope, name))
		return false;
	return ops[in].code != WMK_CTF_VARIANT || !is_label_of_another(parts, &ops[in], at, name);
}
