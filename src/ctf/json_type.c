/* SPDX-License-Identifier: MIT */
/*
 * json_type.c - CTF 2's field classes as types (CTF2-SPEC-2.0, section 5.3): those that hold others, and aliases. What
 * holds none is in json_scalar.c.
 *
 * `align` becomes what a reader aligns to (section 6.4.1), with that of what is inside considered.
 *
 * An alias is read where it is declared, and once more for each kind of root that it is used under, since its roles
 * mean something else there; all uses share what was made. So the size of what is made is bounded by the text's,
 * however often aliases refer to aliases.
 */
#include "ctf/json.h"

#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_class(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *of, const char *name, unsigned depth,
		      struct wmk_type *type);

static void align_to(struct wmk_type *type, const struct wmk_type *inner)
{
	if (inner->align > type->align)
		type->align = inner->align;
}

/* Of members and options no two have the same name. `seen` has the ones before. */
static int check_unique(json_object *seen, const struct wmk_ctf_json_at *at, const char *name)
{
	if (json_object_object_get_ex(seen, name, NULL))
		return wmk_ctf_json_error(at, -EPROTO, "expected another name: one before it has this one");
	return json_object_object_add(seen, name, NULL) == 0 ? 0 : wmk_error(-ENOMEM, "no memory for a name");
}

/* ── structures ──────────────────────────────────────────────────────────────────────────────────────── */

/* No role of CTF 2 tells a processor: tracers agree on a name in the packet's context. */
static void find_cpu(const struct wmk_ctf_json *in, struct wmk_field *field)
{
	struct wmk_type *type = &field->type;
	bool is_number = (type->kind == WMK_TYPE_INT || type->kind == WMK_TYPE_ENUM) && !type->is_signed;

	if (in->root == WMK_CTF_JSON_PACKET_CONTEXT && is_number && !type->roles && strcmp(field->name, "cpu_id") == 0)
		type->roles = WMK_ROLE_BIT(WMK_ROLE_CPU);
}

static int read_member(struct wmk_ctf_json *in, struct wmk_ctf_json_at *at, json_object *seen, unsigned depth,
		       struct wmk_field *field)
{
	int err = wmk_ctf_json_is(at, json_type_object);

	if (err >= 0)
		err = wmk_ctf_json_text(in, at, "name", true, &field->name);
	if (err < 0)
		return err;
	at->name = field->name;
	err = check_unique(seen, at, field->name);
	if (err >= 0)
		err = wmk_ctf_json_extras(at);
	if (err >= 0)
		err = read_class(in, at, "field-class", depth + 1, &field->type);
	if (err >= 0)
		err = wmk_ctf_json_keep(in, at, WMK_CTF_JSON_OF_FIELDS, &field->type.field_attributes);
	if (err >= 0)
		find_cpu(in, field);
	return err;
}

static int structure(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, unsigned depth, struct wmk_type *type)
{
	struct wmk_ctf_json_at list;
	size_t n;
	int err = wmk_ctf_json_align(at, "minimum-alignment", &type->align);

	if (err >= 0)
		err = wmk_ctf_json_list(at, "member-classes", false, &list, &n);
	if (err < 0)
		return err;
	type->kind = WMK_TYPE_STRUCT;
	type->count = (uint32_t)n;
	if (n == 0)
		return 0;
	struct wmk_field *members = wmk_scratch_alloc(&in->to->scratch, n * sizeof(*members));
	json_object *seen = members ? json_object_new_object() : NULL;

	type->members = members;
	if (!seen)
		return wmk_error(-ENOMEM, "no memory for a structure");
	for (size_t i = 0; err >= 0 && i < n; i++) {
		struct wmk_ctf_json_at member = wmk_ctf_json_item(&list, i, "member");

		err = read_member(in, &member, seen, depth, &members[i]);
		align_to(type, &members[i].type);
	}
	json_object_put(seen);
	return err;
}

/* ── arrays ──────────────────────────────────────────────────────────────────────────────────────────── */

static int elements(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, unsigned depth, struct wmk_type *type)
{
	struct wmk_type *elem = wmk_scratch_alloc(&in->to->scratch, sizeof(*elem));
	int err = elem ? wmk_ctf_json_align(at, "minimum-alignment", &type->align) : -ENOMEM;

	type->elem = elem;
	if (err >= 0)
		err = read_class(in, at, "element-field-class", depth + 1, elem);
	if (err >= 0)
		align_to(type, elem);
	return err;
}

static int static_array(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, unsigned depth,
			struct wmk_type *type)
{
	int err = wmk_ctf_json_length(at, type);

	type->kind = WMK_TYPE_ARRAY;
	return err < 0 ? err : elements(in, at, depth, type);
}

static int dynamic_array(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, unsigned depth,
			 struct wmk_type *type)
{
	int err = wmk_ctf_json_location(in, at, "length-field-location", &type->ref);

	type->kind = WMK_TYPE_SEQUENCE;
	return err < 0 ? err : elements(in, at, depth, type);
}

/* ── what a selector decides ─────────────────────────────────────────────────────────────────────────── */

/*
 * Whether the selector has a sign is not known here. Ranges that only one with a sign can reach, or only one without,
 * are kept as it has them; in all others both read the same.
 */
static int keep_ranges(const struct wmk_ctf_json_at *at, const struct wmk_ctf_json_ranges *ranges,
		       struct wmk_type *type)
{
	if (ranges->has_negative && ranges->has_big)
		return wmk_ctf_json_error(at, -ENOTSUP, "ranges of a selector with numbers below 0 and above %" PRId64,
					  INT64_MAX);
	type->is_signed = ranges->has_negative;
	type->ranges = ranges->list.items;
	type->n_ranges = ranges->list.n;
	return 0;
}

static int optional(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, unsigned depth, struct wmk_type *type)
{
	struct wmk_type *elem = wmk_scratch_alloc(&in->to->scratch, sizeof(*elem));
	struct wmk_ctf_json_ranges ranges = { .is_clipped = false };
	struct wmk_ctf_json_at property;
	int err = elem ? wmk_ctf_json_location(in, at, "selector-field-location", &type->ref) : -ENOMEM;

	type->kind = WMK_TYPE_OPTIONAL;
	type->align = 1;
	type->elem = elem;
	if (err >= 0 && wmk_ctf_json_get(at, "selector-field-ranges", &property)) {
		err = wmk_ctf_json_ranges(in, &property, NULL, &ranges);
		if (err >= 0)
			err = keep_ranges(&property, &ranges, type);
	}
	return err < 0 ? err : read_class(in, at, "field-class", depth + 1, elem);
}

/* Of options that have names. */
static int name_options(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *list, size_t n, json_object *seen,
			struct wmk_field *members)
{
	for (size_t i = 0; i < n; i++) {
		struct wmk_ctf_json_at option = wmk_ctf_json_item(list, i, "option");
		int err = wmk_ctf_json_is(&option, json_type_object);

		if (err >= 0)
			err = wmk_ctf_json_text(in, &option, "name", false, &members[i].name);
		if (err >= 0 && (option.name = members[i].name))
			err = check_unique(seen, &option, option.name);
		if (err < 0)
			return err;
	}
	return 0;
}

/* An option without a name gets one that no other has: "#3". */
static int name_unnamed(struct wmk_ctf_json *in, json_object *seen, size_t i, struct wmk_field *member)
{
	char name[48];

	snprintf(name, sizeof(name), "#%zu", i + 1);
	for (unsigned more = 1; json_object_object_get_ex(seen, name, NULL); more++)
		snprintf(name, sizeof(name), "#%zu.%u", i + 1, more);
	member->name = wmk_scratch_text(&in->to->scratch, name, strlen(name));
	return member->name ? 0 : -ENOMEM;
}

static int read_option(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, unsigned depth,
		       struct wmk_field *member, struct wmk_ctf_json_ranges *ranges)
{
	struct wmk_ctf_json_at property;
	int err = wmk_ctf_json_extras(at);

	if (err >= 0)
		err = wmk_ctf_json_need(at, "selector-field-ranges", &property);
	if (err >= 0)
		err = wmk_ctf_json_ranges(in, &property, member->name, ranges);
	if (err >= 0)
		err = read_class(in, at, "field-class", depth + 1, &member->type);
	return err < 0 ? err : wmk_ctf_json_keep(in, at, WMK_CTF_JSON_OF_FIELDS, &member->type.field_attributes);
}

static int by_signed(const void *a, const void *b)
{
	const struct wmk_label *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

static int by_unsigned(const void *a, const void *b)
{
	const struct wmk_label *x = a, *y = b;

	return ((uint64_t)x->from > (uint64_t)y->from) - ((uint64_t)x->from < (uint64_t)y->from);
}

/* The ranges of two options do not meet; those of one may. Puts them in order. */
static int check_apart(const struct wmk_ctf_json_at *list, const struct wmk_type *type, struct wmk_label *ranges)
{
	const struct wmk_label *far = ranges;

	qsort(ranges, type->n_ranges, sizeof(*ranges), type->is_signed ? by_signed : by_unsigned);
	for (uint32_t i = 1; i < type->n_ranges; i++) {
		const struct wmk_label *next = &ranges[i];
		bool meets = type->is_signed ? next->from <= far->to : (uint64_t)next->from <= (uint64_t)far->to;

		if (meets && next->name != far->name)
			return wmk_ctf_json_error(
				list, -EPROTO, "expected options of different values: \"%.*s\" and \"%.*s\" share some",
				wmk_ctf_json_shown(far->name), far->name, wmk_ctf_json_shown(next->name), next->name);
		if (type->is_signed ? next->to > far->to : (uint64_t)next->to > (uint64_t)far->to)
			far = next;
	}
	return 0;
}

static int read_options(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *list, unsigned depth, json_object *seen,
			struct wmk_type *type, struct wmk_field *members)
{
	struct wmk_ctf_json_ranges ranges = { .is_clipped = false };
	int err = name_options(in, list, type->count, seen, members);

	for (size_t i = 0; err >= 0 && i < type->count; i++) {
		struct wmk_ctf_json_at option = wmk_ctf_json_item(list, i, "option");

		option.name = members[i].name;
		if (!option.name)
			err = name_unnamed(in, seen, i, &members[i]);
		if (err >= 0)
			err = read_option(in, &option, depth, &members[i], &ranges);
	}
	if (err >= 0)
		err = keep_ranges(list, &ranges, type);
	return err < 0 ? err : check_apart(list, type, ranges.list.items);
}

static int variant(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, unsigned depth, struct wmk_type *type)
{
	struct wmk_ctf_json_at list;
	size_t n = 0;
	int err = wmk_ctf_json_location(in, at, "selector-field-location", &type->ref);

	if (err >= 0)
		err = wmk_ctf_json_list(at, "options", true, &list, &n);
	if (err < 0)
		return err;
	if (n == 0)
		return wmk_ctf_json_wrong(&list, "at least one option");
	struct wmk_field *members = wmk_scratch_alloc(&in->to->scratch, n * sizeof(*members));
	json_object *seen = members ? json_object_new_object() : NULL;

	if (!seen)
		return wmk_error(-ENOMEM, "no memory for a variant");
	type->kind = WMK_TYPE_VARIANT;
	type->align = 1;
	type->count = (uint32_t)n;
	type->members = members;
	err = read_options(in, &list, depth, seen, type, members);
	json_object_put(seen);
	return err;
}

/* ── which it is ─────────────────────────────────────────────────────────────────────────────────────── */

static int too_deep(const struct wmk_ctf_json_at *at)
{
	return wmk_ctf_json_error(at, -E2BIG, "field classes within field classes in more than %u levels",
				  WMK_CTF_TYPE_DEPTH);
}

static int read_object(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, unsigned depth, struct wmk_type *type)
{
	static const struct {
		const char *name;
		int (*take)(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, unsigned depth,
			    struct wmk_type *type);
	} kinds[] = { { "structure", structure },
		      { "static-length-array", static_array },
		      { "dynamic-length-array", dynamic_array },
		      { "optional", optional },
		      { "variant", variant } };
	struct wmk_ctf_json_at kind;
	int got;

	*type = (struct wmk_type){ 0 };
	if (depth >= WMK_CTF_TYPE_DEPTH)
		return too_deep(at);
	if (depth + 1 > in->deepest)
		in->deepest = depth + 1;
	got = wmk_ctf_json_need(at, "type", &kind);
	if (got >= 0)
		got = wmk_ctf_json_is(&kind, json_type_string);
	if (got >= 0)
		got = wmk_ctf_json_extras(at);
	if (got < 0)
		return got;
	const char *text = json_object_get_string(kind.value);

	got = wmk_ctf_json_scalar(in, at, text, type);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && got == 0; i++)
		if (strcmp(kinds[i].name, text) == 0) {
			got = kinds[i].take(in, at, depth, type);
			got = got < 0 ? got : 1;
		}
	if (got == 0)
		return wmk_ctf_json_wrong(&kind, "a type of field class");
	return got < 0 ? got : wmk_ctf_json_keep(in, at, WMK_CTF_JSON_OF_FIELDS, &type->attributes);
}

/* ── aliases ─────────────────────────────────────────────────────────────────────────────────────────── */

/* What was made of an alias, for each root that it was used under. */
struct alias {
	struct {
		const struct wmk_type *type; /* NULL: not yet */
		unsigned levels;
		bool has_time;
		uint8_t n_magic;
	} made[WMK_CTF_JSON_ROOTS];
};

static int make_alias(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *body, struct alias *alias)
{
	struct wmk_type *type = wmk_scratch_alloc(&in->to->scratch, sizeof(*type));
	unsigned deepest = in->deepest;
	bool has_time = in->has_time;
	uint8_t n_magic = in->n_magic;

	in->deepest = 0;
	in->has_time = false;
	in->n_magic = 0;
	int err = type ? read_object(in, body, 0, type) : -ENOMEM;

	if (err >= 0) {
		alias->made[in->root].type = type;
		alias->made[in->root].levels = in->deepest;
		alias->made[in->root].has_time = in->has_time;
		alias->made[in->root].n_magic = in->n_magic;
	}
	in->deepest = deepest;
	in->has_time = has_time;
	in->n_magic = n_magic;
	return err;
}

/* The object that the alias `at` stands for. NULL: there is none, and an error was given. */
static json_object *find_alias(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at)
{
	const char *name = json_object_get_string(at->value);
	json_object *body;

	/* A name with a NUL in it cannot have been declared. */
	if (strlen(name) == (size_t)json_object_get_string_len(at->value) &&
	    json_object_object_get_ex(in->aliases, name, &body))
		return body;
	wmk_ctf_json_wrong(at, "the name of a field class alias that was declared before");
	return NULL;
}

/*
 * Only aliases that were whole before it are in an alias: each level of this recursion is one of its levels, which were
 * counted where it was declared.
 */
static int use_alias(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, unsigned depth, struct wmk_type *type)
{
	json_object *found = find_alias(in, at);
	struct wmk_ctf_json_at body = {
		.up = at, .what = "alias", .name = json_object_get_string(at->value), .value = found
	};
	struct alias *alias = found ? json_object_get_userdata(found) : NULL;

	if (!alias)
		return -EPROTO;
	int err = alias->made[in->root].type ? 0 : make_alias(in, &body, alias);

	if (err < 0)
		return err;
	if (depth + alias->made[in->root].levels > WMK_CTF_TYPE_DEPTH)
		return too_deep(at);
	if (depth + alias->made[in->root].levels > in->deepest)
		in->deepest = depth + alias->made[in->root].levels;
	in->has_time = in->has_time || alias->made[in->root].has_time;
	in->n_magic = in->n_magic + alias->made[in->root].n_magic < 2 ? in->n_magic + alias->made[in->root].n_magic : 2;
	*type = *alias->made[in->root].type;
	return 0;
}

static int read_class(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *of, const char *name, unsigned depth,
		      struct wmk_type *type)
{
	struct wmk_ctf_json_at at;
	int err = wmk_ctf_json_need(of, name, &at);

	if (err < 0)
		return err;
	if (json_object_is_type(at.value, json_type_string))
		return use_alias(in, &at, depth, type);
	if (json_object_is_type(at.value, json_type_object))
		return read_object(in, &at, depth, type);
	return wmk_ctf_json_wrong(&at, "a field class, or the name of an alias of one");
}

int wmk_ctf_json_alias(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, const char *name)
{
	json_object *body = at->value;
	struct alias *alias;
	int err;

	if (json_object_object_get_ex(in->aliases, name, NULL))
		return wmk_ctf_json_error(at->up, -EPROTO, "expected another name: there is an alias \"%.*s\" already",
					  wmk_ctf_json_shown(name), name);
	if (json_object_is_type(body, json_type_string)) {
		body = find_alias(in, at);
		if (!body)
			return -EPROTO;
	} else {
		if (!json_object_is_type(body, json_type_object))
			return wmk_ctf_json_wrong(at, "a field class, or the name of an alias of one");
		alias = wmk_scratch_alloc(&in->to->scratch, sizeof(*alias));
		in->root = WMK_CTF_JSON_OTHER;
		err = alias ? make_alias(in, at, alias) : -ENOMEM;
		if (err < 0)
			return err;
		json_object_set_userdata(body, alias, NULL);
	}
	if (json_object_object_add(in->aliases, name, json_object_get(body)) == 0)
		return 0;
	json_object_put(body);
	return wmk_error(-ENOMEM, "no memory for an alias");
}

/* ── roots ───────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_ctf_json_structure(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *of, const char *name,
			   enum wmk_ctf_json_root root, const struct wmk_type **type)
{
	struct wmk_ctf_json_at at;
	struct wmk_type *made;
	int err;

	*type = NULL;
	in->root = (uint8_t)root;
	in->has_time = false;
	in->n_magic = 0;
	in->deepest = 0;
	if (!wmk_ctf_json_get(of, name, &at))
		return 0;
	made = wmk_scratch_alloc(&in->to->scratch, sizeof(*made));
	err = made ? read_class(in, of, name, 0, made) : -ENOMEM;
	if (err < 0)
		return err;
	if (made->kind != WMK_TYPE_STRUCT)
		return wmk_ctf_json_error(&at, -EPROTO, "expected a structure, and it is another field class");
	for (uint32_t i = 1; i < made->count; i++)
		if (made->members[i].type.roles & WMK_ROLE_BIT(WMK_ROLE_MAGIC))
			return wmk_ctf_json_error(&at, -EPROTO,
						  "expected the packet's magic number first, not as member %" PRIu32,
						  i + 1);
	if (in->n_magic > (made->count && made->members[0].type.roles & WMK_ROLE_BIT(WMK_ROLE_MAGIC)))
		return wmk_ctf_json_error(&at, -EPROTO,
					  "expected the packet's magic number first, not within a member");
	*type = made;
	return 0;
}
