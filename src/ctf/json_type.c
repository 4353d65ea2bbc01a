/* SPDX-License-Identifier: MIT */
/*
 * json_type.c - convert CTF 2's field classes (CTF2-SPEC-2.0, section 5.3) to types: compound classes and aliases.
 * The functions for scalar classes are in json_scalar.c.
 *
 * `align` is the effective alignment (section 6.4.1), which includes the alignment of the contents.
 *
 * The parser parses the body of an alias when it parses the declaration of the alias. For each kind of root that uses
 * the alias, the parser parses the body again, because each kind of root has other roles. All uses of an alias in one
 * kind of root share one type. So the size of the text limits the memory of types, even if there are many references
 * between aliases.
 */
#include "ctf/json.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_class(const struct wmk_ctf_json_at *of, const char *name, unsigned depth, struct wmk_type *type);

static void align_to(struct wmk_type *type, const struct wmk_type *inner)
{
	if (inner->align > type->align)
		type->align = inner->align;
}

/*
 * If the set `seen` already contains the name, report a duplicate; otherwise, add the name to the set.
 */
static void check_unique(json_object *seen, const struct wmk_ctf_json_at *at, const char *name)
{
	if (json_object_object_get_ex(seen, name, NULL))
		wmk_ctf_json_error(at, -EPROTO, "duplicate name");
	else if (json_object_object_add(seen, name, NULL) != 0)
		wmk_ctf_fail(at->in->to, wmk_error(-ENOMEM, "no memory for a name"));
}

/* Create an empty set of names. NULL: no memory. */
static json_object *new_names(struct wmk_ctf_json *in)
{
	json_object *names = json_object_new_object();

	if (!names)
		wmk_ctf_fail(in->to, wmk_error(-ENOMEM, "no memory for the names of members"));
	return names;
}

/* ── structures ──────────────────────────────────────────────────────────────────────────────────────── */

/* CTF 2 has no role for a CPU number; tracers use this field name in the packet context. */
static void find_cpu(const struct wmk_ctf_json *in, struct wmk_field *field)
{
	struct wmk_type *type = &field->type;
	bool is_number = (type->kind == WMK_TYPE_INT || type->kind == WMK_TYPE_ENUM) && !type->is_signed;

	if (in->root == WMK_SCOPE_PACKET_CONTEXT && is_number && !type->roles && strcmp(field->name, "cpu_id") == 0)
		type->roles = WMK_ROLE_BIT(WMK_ROLE_CPU);
}

static void read_member(struct wmk_ctf_json_at *at, json_object *seen, unsigned depth, struct wmk_field *field)
{
	field->name = wmk_ctf_json_is(at, json_type_object) ? wmk_ctf_json_text(at, "name", true) : NULL;
	if (!field->name)
		return;
	at->name = field->name;
	check_unique(seen, at, field->name);
	wmk_ctf_json_extras(at);
	read_class(at, "field-class", depth + 1, &field->type);
	field->type.field_attributes = wmk_ctf_json_keep(at, WMK_CTF_JSON_OF_FIELDS);
	find_cpu(at->in, field);
}

static void structure(const struct wmk_ctf_json_at *at, unsigned depth, struct wmk_type *type)
{
	struct wmk_ctf_json_at list;
	size_t n;

	type->align = wmk_ctf_json_align(at, "minimum-alignment");
	n = wmk_ctf_json_list(at, "member-classes", false, &list);
	type->kind = WMK_TYPE_STRUCT;
	if (n == 0)
		return;
	struct wmk_field *members = wmk_ctf_alloc(at->in->to, n * sizeof(*members));
	json_object *seen = new_names(at->in);

	type->members = members;
	type->count = (uint32_t)n;
	for (size_t i = 0; at->in->to->err >= 0 && i < n; i++) {
		struct wmk_ctf_json_at member = wmk_ctf_json_item(&list, i, "member");

		read_member(&member, seen, depth, &members[i]);
		align_to(type, &members[i].type);
	}
	json_object_put(seen);
}

/* ── arrays ──────────────────────────────────────────────────────────────────────────────────────────── */

static void elements(const struct wmk_ctf_json_at *at, unsigned depth, struct wmk_type *type)
{
	struct wmk_type *elem = wmk_ctf_alloc(at->in->to, sizeof(*elem));

	type->align = wmk_ctf_json_align(at, "minimum-alignment");
	type->elem = elem;
	if (!elem)
		return;
	read_class(at, "element-field-class", depth + 1, elem);
	align_to(type, elem);
}

static void static_array(const struct wmk_ctf_json_at *at, unsigned depth, struct wmk_type *type)
{
	type->kind = WMK_TYPE_ARRAY;
	type->count = wmk_ctf_json_length(at);
	elements(at, depth, type);
}

static void dynamic_array(const struct wmk_ctf_json_at *at, unsigned depth, struct wmk_type *type)
{
	type->kind = WMK_TYPE_SEQUENCE;
	type->ref = wmk_ctf_json_location(at, "length-field-location");
	elements(at, depth, type);
}

/* ── optional fields and variants ────────────────────────────────────────────────────────────────────── */

/*
 * Keep the ranges of a selector, although the function does not know the signedness of the selector. Ranges with a
 * negative number are kept as signed, and ranges with a number above INT64_MAX are kept as unsigned. Ranges with
 * neither a negative number nor a number above INT64_MAX have the same bits in signed and unsigned form.
 */
static void keep_ranges(const struct wmk_ctf_json_at *at, const struct wmk_ctf_json_ranges *ranges,
			struct wmk_type *type)
{
	if (ranges->has_negative && ranges->has_big)
		wmk_ctf_json_error(at, -ENOTSUP, "the ranges of a selector contain both negative numbers and numbers "
						 "above %" PRId64,
				   INT64_MAX);
	type->is_signed = ranges->has_negative;
	type->ranges = ranges->list.items;
	type->n_ranges = ranges->list.n;
}

static void optional(const struct wmk_ctf_json_at *at, unsigned depth, struct wmk_type *type)
{
	struct wmk_type *elem = wmk_ctf_alloc(at->in->to, sizeof(*elem));
	struct wmk_ctf_json_ranges ranges = { .is_clipped = false };
	struct wmk_ctf_json_at property;

	type->kind = WMK_TYPE_OPTIONAL;
	type->align = 1;
	type->elem = elem;
	type->ref = wmk_ctf_json_location(at, "selector-field-location");
	if (wmk_ctf_json_get(at, "selector-field-ranges", &property)) {
		wmk_ctf_json_ranges(&property, NULL, &ranges);
		keep_ranges(&property, &ranges, type);
	}
	if (elem)
		read_class(at, "field-class", depth + 1, elem);
}

/* Get the names of options; the name of an unnamed option is NULL. */
static void name_options(const struct wmk_ctf_json_at *list, size_t n, json_object *seen, struct wmk_field *members)
{
	for (size_t i = 0; i < n; i++) {
		struct wmk_ctf_json_at option = wmk_ctf_json_item(list, i, "option");

		if (!wmk_ctf_json_is(&option, json_type_object))
			return;
		members[i].name = option.name = wmk_ctf_json_text(&option, "name", false);
		if (option.name)
			check_unique(seen, &option, option.name);
	}
}

/* Give each unnamed option a unique name such as "#3". */
static void name_unnamed(struct wmk_ctf_json *in, json_object *seen, size_t i, struct wmk_field *member)
{
	char name[48];

	snprintf(name, sizeof(name), "#%zu", i + 1);
	for (unsigned more = 1; json_object_object_get_ex(seen, name, NULL); more++)
		snprintf(name, sizeof(name), "#%zu.%u", i + 1, more);
	member->name = wmk_ctf_copy_text(in->to, name, strlen(name));
}

static void read_option(const struct wmk_ctf_json_at *at, unsigned depth, struct wmk_field *member,
			struct wmk_ctf_json_ranges *ranges)
{
	struct wmk_ctf_json_at property;

	wmk_ctf_json_extras(at);
	if (wmk_ctf_json_need(at, "selector-field-ranges", &property))
		wmk_ctf_json_ranges(&property, member->name, ranges);
	read_class(at, "field-class", depth + 1, &member->type);
	member->type.field_attributes = wmk_ctf_json_keep(at, WMK_CTF_JSON_OF_FIELDS);
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

/* Sort the ranges, and check that the ranges of different options do not overlap. Ranges of one option may overlap. */
static void check_apart(const struct wmk_ctf_json_at *list, const struct wmk_type *type, struct wmk_label *ranges)
{
	const struct wmk_label *far = ranges;

	qsort(ranges, type->n_ranges, sizeof(*ranges), type->is_signed ? by_signed : by_unsigned);
	for (uint32_t i = 1; i < type->n_ranges; i++) {
		const struct wmk_label *next = &ranges[i];
		bool meets = type->is_signed ? next->from <= far->to : (uint64_t)next->from <= (uint64_t)far->to;

		if (meets && next->name != far->name)
			wmk_ctf_json_error(
				list, -EPROTO, "the options \"%.*s\" and \"%.*s\" have values in common",
				wmk_ctf_json_shown(far->name), far->name, wmk_ctf_json_shown(next->name), next->name);
		if (type->is_signed ? next->to > far->to : (uint64_t)next->to > (uint64_t)far->to)
			far = next;
	}
}

static void read_options(const struct wmk_ctf_json_at *list, unsigned depth, json_object *seen, struct wmk_type *type,
			 struct wmk_field *members)
{
	struct wmk_ctf_json_ranges ranges = { .is_clipped = false };

	name_options(list, type->count, seen, members);
	for (size_t i = 0; list->in->to->err >= 0 && i < type->count; i++) {
		struct wmk_ctf_json_at option = wmk_ctf_json_item(list, i, "option");

		option.name = members[i].name;
		if (!option.name)
			name_unnamed(list->in, seen, i, &members[i]);
		read_option(&option, depth, &members[i], &ranges);
	}
	if (list->in->to->err < 0)
		return;
	keep_ranges(list, &ranges, type);
	check_apart(list, type, ranges.list.items);
}

static void variant(const struct wmk_ctf_json_at *at, unsigned depth, struct wmk_type *type)
{
	struct wmk_ctf_json_at list;
	struct wmk_field *members;
	json_object *seen;
	size_t n;

	type->ref = wmk_ctf_json_location(at, "selector-field-location");
	n = wmk_ctf_json_list(at, "options", true, &list);
	if (n == 0)
		wmk_ctf_json_wrong(&list, "at least one option");
	members = wmk_ctf_alloc(at->in->to, n * sizeof(*members));
	seen = members ? new_names(at->in) : NULL;
	if (!seen)
		return;
	type->kind = WMK_TYPE_VARIANT;
	type->align = 1;
	type->count = (uint32_t)n;
	type->members = members;
	read_options(&list, depth, seen, type, members);
	json_object_put(seen);
}

/* ── selection by the class's type ───────────────────────────────────────────────────────────────────── */

static void too_deep(const struct wmk_ctf_json_at *at)
{
	wmk_ctf_json_error(at, -E2BIG, "more than %u levels of nested field classes", WMK_CTF_TYPE_DEPTH);
}

static bool read_container(const struct wmk_ctf_json_at *at, const struct wmk_ctf_json_at *kind, unsigned depth,
			   struct wmk_type *type)
{
	static const struct {
		const char *name;
		void (*take)(const struct wmk_ctf_json_at *at, unsigned depth, struct wmk_type *type);
	} kinds[] = { { "structure", structure },
		      { "static-length-array", static_array },
		      { "dynamic-length-array", dynamic_array },
		      { "optional", optional },
		      { "variant", variant } };

	for (size_t i = 0; i < WMK_ARRAY_LEN(kinds); i++)
		if (wmk_ctf_json_equals(kind, kinds[i].name)) {
			kinds[i].take(at, depth, type);
			return true;
		}
	return false;
}

static void read_object(const struct wmk_ctf_json_at *at, unsigned depth, struct wmk_type *type)
{
	struct wmk_ctf_json *in = at->in;
	struct wmk_ctf_json_at kind;

	*type = (struct wmk_type){ 0 };
	if (depth >= WMK_CTF_TYPE_DEPTH) {
		too_deep(at);
		return;
	}
	if (depth + 1 > in->deepest)
		in->deepest = depth + 1;
	if (!wmk_ctf_json_need(at, "type", &kind) || !wmk_ctf_json_is(&kind, json_type_string))
		return;
	wmk_ctf_json_extras(at);
	if (in->to->err < 0)
		return;
	if (!wmk_ctf_json_scalar(at, &kind, type) && !read_container(at, &kind, depth, type))
		wmk_ctf_json_wrong(&kind, "a known type of field class");
	type->attributes = wmk_ctf_json_keep(at, WMK_CTF_JSON_OF_FIELDS);
}

/* ── aliases ─────────────────────────────────────────────────────────────────────────────────────────── */

/* The types that the parser has made from an alias, one type for each kind of root that uses the alias. */
struct alias {
	struct made_of_alias {
		const struct wmk_type *type; /* NULL: not yet */
		unsigned levels;
		bool has_time;
		uint8_t n_magic;
	} made[WMK_SCOPE_EVENT_HEADER + 1];
};

static void make_alias(const struct wmk_ctf_json_at *body, struct alias *alias)
{
	struct wmk_ctf_json *in = body->in;
	struct wmk_type *type = wmk_ctf_alloc(in->to, sizeof(*type));
	const struct wmk_ctf_json around = *in;

	if (!type)
		return;
	in->deepest = 0;
	in->has_time = false;
	in->n_magic = 0;
	read_object(body, 0, type);
	alias->made[in->root] = (struct made_of_alias){ type, in->deepest, in->has_time, in->n_magic };
	in->deepest = around.deepest;
	in->has_time = around.has_time;
	in->n_magic = around.n_magic;
}

/*
 * Return the body of the alias, which is an object. The function returns NULL and reports an error if the alias is
 * unknown.
 */
static json_object *find_alias(const struct wmk_ctf_json_at *at)
{
	const char *name = json_object_get_string(at->value);
	json_object *body;

	/* No alias has a name that contains a NUL. */
	if (strlen(name) == (size_t)json_object_get_string_len(at->value) &&
	    json_object_object_get_ex(at->in->aliases, name, &body))
		return body;
	wmk_ctf_json_wrong(at, "the name of a field class alias that was declared before");
	return NULL;
}

/*
 * Use an alias. An alias can refer only to aliases that precede its own declaration, so the recursion of use_alias()
 * ends. The depth of the recursion is at most the nesting depth of the alias. The parser checks the nesting depth of an
 * alias when it parses the declaration.
 */
static void use_alias(const struct wmk_ctf_json_at *at, unsigned depth, struct wmk_type *type)
{
	struct wmk_ctf_json *in = at->in;
	json_object *found = find_alias(at);
	const struct wmk_ctf_json_at body = {
		.in = in, .up = at, .what = "alias", .name = json_object_get_string(at->value), .value = found
	};
	struct alias *alias = found ? json_object_get_userdata(found) : NULL;
	const struct made_of_alias *made;

	if (!alias)
		return;
	made = &alias->made[in->root];
	if (!made->type)
		make_alias(&body, alias);
	if (in->to->err < 0)
		return;
	if (depth + made->levels > WMK_CTF_TYPE_DEPTH)
		too_deep(at);
	if (depth + made->levels > in->deepest)
		in->deepest = depth + made->levels;
	in->has_time = in->has_time || made->has_time;
	in->n_magic = in->n_magic + made->n_magic < 2 ? in->n_magic + made->n_magic : 2;
	*type = *made->type;
}

static void read_class(const struct wmk_ctf_json_at *of, const char *name, unsigned depth, struct wmk_type *type)
{
	struct wmk_ctf_json_at at;

	if (!wmk_ctf_json_need(of, name, &at))
		return;
	if (json_object_is_type(at.value, json_type_string))
		use_alias(&at, depth, type);
	else if (json_object_is_type(at.value, json_type_object))
		read_object(&at, depth, type);
	else
		wmk_ctf_json_wrong(&at, "a field class, or the name of a field class alias");
}

void wmk_ctf_json_alias(const struct wmk_ctf_json_at *at, const char *name)
{
	struct wmk_ctf_json *in = at->in;
	json_object *body = at->value;
	struct alias *alias;

	if (json_object_object_get_ex(in->aliases, name, NULL))
		wmk_ctf_json_error(at->up, -EPROTO, "duplicate name: an alias \"%.*s\" exists",
				   wmk_ctf_json_shown(name), name);
	if (json_object_is_type(body, json_type_string)) {
		body = find_alias(at);
	} else if (json_object_is_type(body, json_type_object)) {
		alias = wmk_ctf_alloc(in->to, sizeof(*alias));
		in->root = WMK_SCOPE_NEAR;
		make_alias(at, alias);
		json_object_set_userdata(body, alias, NULL);
	} else {
		wmk_ctf_json_wrong(at, "a field class, or the name of a field class alias");
	}
	if (in->to->err < 0 || json_object_object_add(in->aliases, name, json_object_get(body)) == 0)
		return;
	json_object_put(body);
	wmk_ctf_fail(in->to, wmk_error(-ENOMEM, "no memory for an alias"));
}

/* ── roots ───────────────────────────────────────────────────────────────────────────────────────────── */

const struct wmk_type *wmk_ctf_json_structure(const struct wmk_ctf_json_at *of, const char *name,
					      enum wmk_scope root)
{
	struct wmk_ctf_json *in = of->in;
	struct wmk_ctf_json_at at;
	struct wmk_type *made;

	in->root = (uint8_t)root;
	in->has_time = false;
	in->n_magic = 0;
	in->deepest = 0;
	if (!wmk_ctf_json_get(of, name, &at))
		return NULL;
	made = wmk_ctf_alloc(in->to, sizeof(*made));
	if (!made)
		return NULL;
	read_class(of, name, 0, made);
	if (in->to->err < 0)
		return NULL;
	if (made->kind != WMK_TYPE_STRUCT)
		wmk_ctf_json_error(&at, -EPROTO, "expected a structure, found another field class");
	for (uint32_t i = 1; i < made->count && made->kind == WMK_TYPE_STRUCT; i++)
		if (made->members[i].type.roles & WMK_ROLE_BIT(WMK_ROLE_MAGIC))
			wmk_ctf_json_error(&at, -EPROTO,
					   "expected the packet's magic number first, not as member %" PRIu32, i + 1);
	if (in->n_magic > (made->count && made->members && made->members[0].type.roles & WMK_ROLE_BIT(WMK_ROLE_MAGIC)))
		wmk_ctf_json_error(&at, -EPROTO, "expected the packet's magic number as the first member, not inside "
						 "another member");
	return made;
}
