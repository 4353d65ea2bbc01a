/* SPDX-License-Identifier: MIT */
/*
 * tsdl_idents.c - identifiers in TSDL (see tsdl_idents.h).
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "ctf/format_names.h"
#include "ctf/tsdl_idents.h"
#include "ctf/tsdl_unknown_field.h"
#include "ctf/text_buffer.h"

const char *wmk_ctf_role_name(unsigned scope, unsigned role)
{
	return scope <= WMK_SCOPE_EVENT_HEADER ? wmk_ctf_roles[role].tsdl : NULL;
}

/* (a time is expressed by the mapping to a clock) */
const char *wmk_ctf_role_name_of(const struct wmk_ctf_op *op, unsigned scope)
{
	const unsigned first = op->roles ? (unsigned)__builtin_ctz(op->roles) : WMK_ROLE_NONE;

	return first == WMK_ROLE_TIME ? NULL : wmk_ctf_role_name(scope, first);
}

bool wmk_ctf_is_keyword(const char *name)
{
	static const char *const words[] = {
		"align",   "callsite", "char",    "clock",          "const",  "double",   "enum",
		"env",     "event",    "float",   "floating_point", "int",    "integer",  "long",
		"short",   "signed",   "stream",  "string",         "struct", "trace",    "typealias",
		"typedef", "unsigned", "variant", "void",           "_Bool",  "_Complex", "_Imaginary",
	};

	for (size_t i = 0; i < WMK_ARRAY_LEN(words); i++)
		if (!strcmp(words[i], name))
			return true;
	return false;
}

/*
 * The used identifiers and, for each name with duplicates, the next number to try. Untrusted input can contain many
 * duplicates, and a search from number 2 for each duplicate would take quadratic time.
 */
struct seen {
	json_object *idents, *numbers;
};

/* Make an unused name by appending the first free number to the name, as in name_2 or name_3. */
static int make_numbered(struct seen *seen, const char *prefix, const char *name, char ident[WMK_CTF_IDENT])
{
	char base[WMK_CTF_IDENT], suffix[16];
	json_object *next;
	int32_t number = 2;

	wmk_ctf_ident(base, prefix, name, "");
	if (json_object_object_get_ex(seen->numbers, base, &next)) {
		number = json_object_get_int(next);
	} else {
		next = json_object_new_int(number);
		if (!next)
			return -ENOMEM;
		if (json_object_object_add(seen->numbers, base, next) != 0) {
			json_object_put(next);
			return -ENOMEM;
		}
	}
	do {
		snprintf(suffix, sizeof(suffix), "_%d", number++);
		wmk_ctf_ident(ident, prefix, name, suffix);
	} while (json_object_object_get_ex(seen->idents, ident, NULL));
	json_object_set_int(next, number);
	return 0;
}

/* Make a unique identifier for a member or option of the operation `in`. */
static char *make_name(const struct wmk_ctf_op *ops, unsigned scope, uint32_t in, uint32_t at, struct seen *seen)
{
	const char *role = wmk_ctf_role_name_of(&ops[at], scope), *name = wmk_or_empty(ops[at].name);
	/* (readers remove a leading '_' from the labels of selectors, too) */
	const bool is_plain = ops[in].code == WMK_CTF_VARIANT && !wmk_ctf_is_keyword(name) && *name != '_' &&
			      !(*name >= '0' && *name <= '9');
	const char *prefix = is_plain ? "" : "_", *suffix = "";
	char ident[WMK_CTF_IDENT];

	/* A field without a role must not get the name of a role. */
	for (unsigned i = 1; i < WMK_ROLES && !role; i++)
		if (!(ops[at].roles & WMK_ROLE_BIT(i)) && wmk_ctf_role_name(scope, i) &&
		    !strcmp(wmk_ctf_role_name(scope, i), name))
			suffix = "_";
	if (role || !*name)
		snprintf(ident, sizeof(ident), "%s", role ? role : "_");
	else
		wmk_ctf_ident(ident, prefix, name, suffix);
	if (json_object_object_get_ex(seen->idents, ident, NULL) && make_numbered(seen, prefix, name, ident) < 0)
		return NULL;
	return json_object_object_add(seen->idents, ident, NULL) == 0 ? strdup(ident) : NULL;
}

void wmk_ctf_idents_free(struct wmk_ctf_idents *idents)
{
	for (uint32_t i = 0; i < idents->n; i++)
		free(idents->names[i]);
	free(idents->names);
	free(idents->kept);
	*idents = (struct wmk_ctf_idents){ NULL, NULL, 0 };
}

/* Copy the names in the structure or variant at `in` from TSDL. */
static int make_raw_names(struct wmk_ctf_idents *idents, const struct wmk_ctf_op *ops, uint32_t in)
{
	for (uint32_t i = in + 1; ops[i].code != WMK_CTF_END; i = ops[i].next) {
		idents->names[i] = strdup(wmk_ctf_raw_name(ops, in, i));
		if (!idents->names[i])
			return -ENOMEM;
	}
	return 0;
}

/* Restore the original name from the attributes, if this name is allowed. */
static int take_kept(struct wmk_ctf_idents *idents, struct wmk_tsdl_unknown_names *kept, unsigned scope, uint32_t in,
		     uint32_t at)
{
	char *name;
	bool is_all;
	int err = wmk_tsdl_unknown_word(kept->parts->of[scope]->ops[at].type->field_attributes, WMK_TSDL_UNKNOWN_NAME,
					&name, &is_all);

	if (err < 0 || !name)
		return err;
	err = wmk_tsdl_unknown_name_fits(kept, scope, in, at, name);
	if (err <= 0) {
		free(name);
		return err;
	}
	idents->names[at] = name;
	idents->kept[at] = WMK_IDENT_RESTORED | (is_all ? 0 : WMK_IDENT_MORE);
	return 0;
}

/*
 * Make the identifiers in the structure or variant at `in`. Attributes are not trusted, so an original name must not
 * replace the identifier of another field. So the function first makes the identifiers of all fields without a valid
 * original name. The function then restores each original name that is not in use.
 */
static int make_names(struct wmk_ctf_idents *idents, struct wmk_tsdl_unknown_names *kept, unsigned scope, uint32_t in)
{
	const struct wmk_ctf_op *ops = kept->parts->of[scope]->ops;
	struct seen seen = { json_object_new_object(), json_object_new_object() };
	int err = seen.idents && seen.numbers ? 0 : -ENOMEM;

	for (uint32_t i = in + 1; ops[i].code != WMK_CTF_END && err >= 0; i = ops[i].next) {
		err = take_kept(idents, kept, scope, in, i);
		if (err < 0 || idents->names[i])
			continue;
		idents->names[i] = make_name(ops, scope, in, i, &seen);
		err = idents->names[i] ? 0 : -ENOMEM;
	}
	for (uint32_t i = in + 1; ops[i].code != WMK_CTF_END && err >= 0; i = ops[i].next) {
		if (!idents->kept[i])
			continue;
		if (!json_object_object_get_ex(seen.idents, idents->names[i], NULL)) {
			err = json_object_object_add(seen.idents, idents->names[i], NULL) == 0 ? 0 : -ENOMEM;
			continue;
		}
		free(idents->names[i]);
		idents->kept[i] = 0;
		idents->names[i] = make_name(ops, scope, in, i, &seen);
		err = idents->names[i] ? 0 : -ENOMEM;
	}
	json_object_put(seen.idents);
	json_object_put(seen.numbers);
	return err;
}

int wmk_ctf_idents_make(struct wmk_ctf_idents *idents, const struct wmk_ctf_scope_programs *parts, unsigned scope,
			bool is_tsdl)
{
	const struct wmk_ctf_program *program = parts->of[scope];
	struct wmk_tsdl_unknown_names kept = { .parts = parts };
	int err = 0;

	wmk_ctf_idents_free(idents);
	if (!program->n_ops)
		return 0;
	idents->names = calloc(program->n_ops, sizeof(*idents->names));
	idents->kept = calloc(program->n_ops, sizeof(*idents->kept));
	idents->n = idents->names && idents->kept ? program->n_ops : 0;
	for (uint32_t in = 0; in < idents->n && err >= 0; in++)
		if (program->ops[in].code == WMK_CTF_STRUCT || program->ops[in].code == WMK_CTF_VARIANT)
			err = is_tsdl ? make_raw_names(idents, program->ops, in) : make_names(idents, &kept, scope, in);
	wmk_tsdl_unknown_names_free(&kept);
	return err >= 0 && idents->n ? 0 : wmk_error(-ENOMEM, "no memory for names");
}

const char *wmk_ctf_idents_of(const struct wmk_ctf_idents *idents, uint32_t at)
{
	const char *name = at < idents->n ? idents->names[at] : NULL;

	return wmk_or_empty(name);
}

unsigned wmk_ctf_idents_restored(const struct wmk_ctf_idents *idents, uint32_t at)
{
	return at < idents->n ? idents->kept[at] : 0;
}
