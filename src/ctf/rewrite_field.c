/* SPDX-License-Identifier: MIT */
/*
 * rewrite_field.c - convert operations to field classes of CTF 2 (CTF2-SPEC-2.0, section 5.3); see rewrite_tree.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ctf/format_names.h"
#include "ctf/tsdl_unknown_field.h"
#include "ctf/rewrite_number.h"
#include "ctf/rewrite_tree.h"
#include "ctf/range_set.h"
#include "ctf/text_buffer.h"

/* ── names ───────────────────────────────────────────────────────────────────────────────────────────── */

/* The names of the members of a structure, or of the options of a variant, in order. */
struct names {
	json_object *all;          /* an array; null for options that no value selects */
	json_object *twins;        /* names, without leading '_', that several fields have; or NULL */
};

/* Return the name of the member in the metadata that was read. */
static const char *raw_of(const struct wmk_ctf_op *in, uint32_t member)
{
	return in->type->members ? wmk_or_empty(in->type->members[member].name) : "";
}

static const char *without_bars(const char *name)
{
	return name + strspn(name, "_");
}

/*
 * Make a unique name for CTF 2, because two names in CTF 1.8 may differ only by a leading '_'. The later of two such
 * names keeps its '_', or gets one more '_'. `seen` has the earlier names.
 */
static json_object *name_of(struct wmk_tree_writer *w, const char *name, const char *raw, json_object *seen,
			    struct names *names)
{
	struct wmk_ctf_text_buffer longer = { NULL, 0, 0, 0 };
	json_object *made = wmk_tree_text_of(w, name);

	for (bool is_raw = false; made && json_object_object_get_ex(seen, json_object_get_string(made), NULL);
	     is_raw = true) {
		names->twins = names->twins ? names->twins : json_object_new_object();
		wmk_tree_put(w, names->twins, without_bars(name), json_object_new_boolean(true));
		wmk_ctf_put(&longer, "%s%s", is_raw ? "_" : "", is_raw ? json_object_get_string(made) : raw);
		json_object_put(made);
		made = longer.err ? NULL : wmk_tree_text_of(w, wmk_or_empty(longer.text));
		wmk_ctf_text_free(&longer);
	}
	if (!made)
		wmk_tree_no_memory(w);
	if (made && seen)
		json_object_object_add(seen, json_object_get_string(made), NULL);
	return made;
}

/*
 * Return the names in the structure or variant at `in`. For a variant, `ranges` contains the ranges that select each
 * option, indexed by operation from `in`; otherwise `ranges` is NULL.
 */
static struct names names_in(struct wmk_tree_writer *w, const struct wmk_ctf_op *ops, uint32_t in,
			     json_object *const *ranges)
{
	struct names names = { json_object_new_array(), NULL };
	json_object *seen = json_object_new_object();
	uint32_t member = 0;

	for (uint32_t i = in + 1; ops[i].code != WMK_CTF_END; i = ops[i].next, member++) {
		const bool is_met = !ranges || json_object_array_length(ranges[i - in]);

		wmk_tree_append(
			w, names.all,
			is_met ? name_of(w, wmk_or_empty(ops[i].name), raw_of(&ops[in], member), seen, &names)
			       : NULL);
	}
	json_object_put(seen);
	return names;
}

static void free_names(struct names *names)
{
	json_object_put(names->all);
	json_object_put(names->twins);
}

/*
 * Return the name of a member on a path. The names of the last structure are cached, because many length fields may be
 * in one structure.
 */
static json_object *step_of(struct wmk_tree_writer *w, unsigned scope, uint32_t at)
{
	const struct wmk_ctf_op *ops = w->parts.of[scope]->ops;
	uint32_t around[WMK_CTF_TYPE_DEPTH + 1];
	const uint32_t in = around[wmk_ctf_op_parents(ops, at, around) - 1];
	size_t member = 0;

	if (w->named != &ops[in]) {
		struct names names = names_in(w, ops, in, NULL);

		json_object_put(w->names);
		w->names = json_object_get(names.all);
		w->named = &ops[in];
		free_names(&names);
	}
	for (uint32_t i = in + 1; i < at; i = ops[i].next)
		member++;
	return json_object_get(json_object_array_get_idx(w->names, member));
}

static void put_location(struct wmk_tree_writer *w, json_object *class, const char *key, uint32_t at)
{
	const struct wmk_ctf_op *op = &w->parts.of[w->scope]->ops[at];
	const struct wmk_ctf_op_location from = { w->scope, at };
	json_object *location, *path;
	struct wmk_ctf_op_location to;
	struct wmk_ctf_op_path way;

	if (w->err < 0)
		return;
	if (op->n_sources) {
		/* (one path leads to all sources) */
		to = (struct wmk_ctf_op_location){ op->sources->scope, op->sources->op };
		wmk_ctf_op_path_through(&w->parts, &to, &way);
	} else if (!wmk_ctf_op_of_register(&w->parts, op->ref, &to)) {
		w->err = wmk_error(-ENOTSUP, "a field depends on a value that does not exist");
	} else {
		w->err = wmk_ctf_op_path_to(&w->parts, &from, &to, &way);
	}
	if (w->err < 0)
		return;
	location = json_object_new_object();
	path = json_object_new_array();
	if (way.is_absolute)
		wmk_tree_put_text(w, location, "origin", wmk_ctf2_origins[to.scope - WMK_SCOPE_PACKET_HEADER]);
	/* (null leads out of a structure) */
	for (unsigned i = 0; i < way.outwards && path; i++)
		json_object_array_add(path, NULL);
	for (unsigned i = 0; i < way.n; i++)
		wmk_tree_append(w, path, step_of(w, to.scope, way.ops[i]));
	wmk_tree_put(w, location, "path", path);
	wmk_tree_put(w, class, key, location);
}

static void put_encoding(struct wmk_tree_writer *w, json_object *class, const struct wmk_type *type)
{
	if (type->encoding != WMK_ENCODING_UTF8)
		wmk_tree_put_text(w, class, "encoding", wmk_ctf2_encodings[type->encoding]);
}

static json_object *array_of(struct wmk_tree_writer *w, uint32_t at)
{
	static const char *const kinds[] = {
		[WMK_CTF_TEXT] = "string", [WMK_CTF_BLOB] = "blob", [WMK_CTF_ARRAY] = "array"
	};
	const struct wmk_ctf_op *op = &w->parts.of[w->scope]->ops[at];
	/* In CTF 1.8, the UUID of a packet is an array of bytes. */
	const bool is_uuid =
		op->roles & WMK_ROLE_BIT(WMK_ROLE_UUID) && wmk_tree_role_fits(w, w->scope, op, WMK_ROLE_UUID);
	json_object *class = json_object_new_object();
	char type[48];

	snprintf(type, sizeof(type), "%s-length-%s", op->ref ? "dynamic" : "static",
		 kinds[is_uuid ? WMK_CTF_BLOB : op->code]);
	wmk_tree_put_text(w, class, "type", type);
	if (op->ref)
		put_location(w, class, "length-field-location", at);
	else
		wmk_tree_put_number(w, class, "length", op->count);
	if (op->code == WMK_CTF_TEXT)
		put_encoding(w, class, op->type);
	if (op->code == WMK_CTF_BLOB)
		wmk_tree_put_text(w, class, "media-type", op->type->media);
	if (op->code != WMK_CTF_ARRAY && op->type->elem && op->type->elem->clock)
		w->lost |= 1u << WMK_CTF_LOST_CLOCK;
	if (is_uuid)
		wmk_tree_put_roles(w, class, op);
	if (op->code != WMK_CTF_ARRAY || is_uuid)
		return class;
	if (op->align > 1)
		wmk_tree_put_number(w, class, "minimum-alignment", op->align);
	wmk_tree_put(w, class, "element-field-class", wmk_tree_class_of(w, at + 1));
	return class;
}

/* The list to which the free parts of a range are appended. */
struct pieces {
	struct wmk_tree_writer *w;
	json_object *ranges;
	bool is_signed;
};

static int append_piece(void *data, uint64_t from, uint64_t to)
{
	const struct pieces *pieces = data;

	if (pieces->ranges)
		wmk_tree_append_range(pieces->w, pieces->ranges, wmk_ctf_turned(from, pieces->is_signed),
				      wmk_ctf_turned(to, pieces->is_signed), pieces->is_signed);
	return pieces->w->err;
}

/*
 * Mark the values from `from` to `to` as taken. Append the free parts of this range to `ranges`, unless `ranges` is
 * NULL.
 */
static void take(struct wmk_tree_writer *w, struct wmk_ctf_range_set *taken, uint64_t from, uint64_t to, bool is_signed,
		 json_object *ranges)
{
	struct pieces pieces = { w, ranges, is_signed };
	int err = w->err < 0 ? 0
			     : wmk_ctf_range_set_add(taken, wmk_ctf_turned(from, is_signed),
						     wmk_ctf_turned(to, is_signed), append_piece, &pieces);

	if (w->err >= 0)
		w->err = err;
}

/*
 * Return the selector if the conversion makes the selector unsigned, and NULL otherwise. (Several sources exist only in
 * CTF 2, where no value has both a sign and a role.)
 */
static const struct wmk_ctf_op *unsigned_selector(const struct wmk_tree_writer *w, const struct wmk_ctf_op *op)
{
	const struct wmk_ctf_op *selector;
	struct wmk_ctf_op_location place;

	if (!op->is_signed || op->n_sources || !wmk_ctf_op_of_register(&w->parts, op->ref, &place))
		return NULL;
	selector = &w->parts.of[place.scope]->ops[place.op];
	return wmk_tree_loses_sign(w, place.scope, selector) ? selector : NULL;
}

/*
 * For each option, append the values that select the option to the option's list; `ranges[i]` belongs to the operation
 * at + i. True: the values are unsigned. (A selector of more than 64 bits that loses its sign was already rejected,
 * because it precedes the variant.)
 */
static bool give_ranges(struct wmk_tree_writer *w, uint32_t at, json_object *const *ranges,
			struct wmk_ctf_range_set *taken)
{
	const struct wmk_ctf_op *op = &w->parts.of[w->scope]->ops[at], *selector = unsigned_selector(w, op);

	for (uint32_t i = 0; i < op->n_choices && w->err >= 0; i++) {
		const struct wmk_ctf_choice *choice = &op->choices[i];
		struct wmk_ctf_range spans[2] = { { choice->from, choice->to } };
		const unsigned n = selector ? wmk_ctf_without_sign(selector->width, (int64_t)choice->from,
								   (int64_t)choice->to, spans)
					    : 1;

		for (unsigned j = 0; j < n; j++)
			take(w, taken, spans[j].from, spans[j].to, op->is_signed && !selector, ranges[choice->op - at]);
	}
	return selector || !op->is_signed;
}

/* Bits of the largest selector. A selector of variable size counts as 64 bits. */
static unsigned selector_width(const struct wmk_tree_writer *w, const struct wmk_ctf_op *op)
{
	struct wmk_ctf_op_location only;
	unsigned widest = 0;

	if (!op->n_sources && wmk_ctf_op_of_register(&w->parts, op->ref, &only))
		widest = w->parts.of[only.scope]->ops[only.op].width;
	for (uint32_t i = 0; i < op->n_sources; i++) {
		const unsigned width = w->parts.of[op->sources[i].scope]->ops[op->sources[i].op].width;

		if (!width)
			return 64;
		widest = width > widest ? width : widest;
	}
	return widest ? widest : 64;
}

/*
 * Give ranges to options that no value selects: TSDL allows such options, but CTF 2 requires a range. An option without
 * a label gets a value that is too large for the selector, so that a conversion back to CTF 1.8 restores the option. If
 * no free value is too large for the selector, the option is left out. The conversion also leaves out an option with a
 * label that no value selects, because the values of the label select other options.
 */
static void give_beyond(struct wmk_tree_writer *w, uint32_t at, json_object *const *ranges,
			struct wmk_ctf_range_set *taken, bool is_signed)
{
	const struct wmk_ctf_op *ops = w->parts.of[w->scope]->ops;
	const unsigned width = selector_width(w, &ops[at]);
	bool *has_label = calloc(ops[at].next - at, sizeof(*has_label));
	/* (a value with a role is unsigned in CTF 2) */
	uint64_t last = width < 64 ? wmk_ctf_turned((UINT64_C(1) << width) - 1, is_signed) : UINT64_MAX;

	if (taken->n && taken->spans[taken->n - 1].to > last)
		last = taken->spans[taken->n - 1].to;
	if (!has_label)
		wmk_tree_no_memory(w);
	for (uint32_t i = 0; i < ops[at].n_choices && has_label; i++)
		has_label[ops[at].choices[i].op - at] = true;
	for (uint32_t i = at + 1; ops[i].code != WMK_CTF_END && w->err >= 0; i = ops[i].next) {
		if (json_object_array_length(ranges[i - at]))
			continue;
		if (last == UINT64_MAX || has_label[i - at]) {
			w->lost |= 1u << WMK_CTF_LOST_OPTION;
			continue;
		}
		last++;
		wmk_tree_append_range(w, ranges[i - at], wmk_ctf_turned(last, is_signed),
				      wmk_ctf_turned(last, is_signed), is_signed);
	}
	free(has_label);
}

/* Return the member `member` of the structure at `in`, or an option of the variant. */
static json_object *part_of(struct wmk_tree_writer *w, uint32_t in, uint32_t at, uint32_t member,
			    const struct names *names)
{
	const struct wmk_ctf_op *ops = w->parts.of[w->scope]->ops;
	json_object *part = json_object_new_object();

	wmk_tree_put(w, part, "name", json_object_get(json_object_array_get_idx(names->all, member)));
	wmk_tree_put(w, part, "field-class", wmk_tree_class_of(w, at));
	wmk_tree_put_more(w, part, ops[at].type->field_attributes);
	/*
	 * (Each of the fields with such a name keeps its original name; otherwise a conversion to 1.8 could swap the
	 * names.)
	 */
	if (names->twins &&
	    json_object_object_get_ex(names->twins, without_bars(wmk_or_empty(ops[at].name)), NULL))
		wmk_tsdl_unknown_put_word(w, part, WMK_TSDL_UNKNOWN_NAME, raw_of(&ops[in], member));
	return part;
}

static json_object *variant_of(struct wmk_tree_writer *w, uint32_t at)
{
	const struct wmk_ctf_op *ops = w->parts.of[w->scope]->ops;
	json_object *class = json_object_new_object(), *options = json_object_new_array();
	json_object **ranges = calloc(ops[at].next - at, sizeof(json_object *));
	struct wmk_ctf_range_set taken = { NULL, 0, 0 };
	struct names names = { NULL, NULL };
	uint32_t member = 0;

	wmk_tree_put_text(w, class, "type", "variant");
	put_location(w, class, "selector-field-location", at);
	if (!ranges)
		wmk_tree_no_memory(w);
	for (uint32_t i = at + 1; ranges && ops[i].code != WMK_CTF_END; i = ops[i].next)
		ranges[i - at] = json_object_new_array();
	if (ranges) {
		const bool is_unsigned = give_ranges(w, at, ranges, &taken);

		give_beyond(w, at, ranges, &taken, !is_unsigned);
		names = names_in(w, ops, at, ranges);
	}
	for (uint32_t i = at + 1; ranges && ops[i].code != WMK_CTF_END; i = ops[i].next, member++) {
		json_object *option;

		if (json_object_array_length(ranges[i - at]) == 0) {
			json_object_put(ranges[i - at]);
			continue;
		}
		option = part_of(w, at, i, member, &names);
		wmk_tree_put(w, option, "selector-field-ranges", ranges[i - at]);
		wmk_tree_append(w, options, option);
	}
	if (!json_object_array_length(options) && w->err >= 0)
		w->err = wmk_error(-ENOTSUP, "CTF 2 cannot describe the variant '%.60s': no value of its selector "
					     "selects an option",
				   wmk_or_empty(ops[at].name));
	wmk_tree_put(w, class, "options", options);
	free_names(&names);
	free(taken.spans);
	free(ranges);
	return class;
}

static json_object *optional_of(struct wmk_tree_writer *w, uint32_t at)
{
	const struct wmk_ctf_op *op = &w->parts.of[w->scope]->ops[at];
	json_object *class = json_object_new_object(), *ranges[2] = { NULL, json_object_new_array() };
	struct wmk_ctf_range_set taken = { NULL, 0, 0 };

	wmk_tree_put_text(w, class, "type", "optional");
	put_location(w, class, "selector-field-location", at);
	if (op->n_choices) {
		give_ranges(w, at, ranges, &taken);
		wmk_tree_put(w, class, "selector-field-ranges", ranges[1]);
	} else {
		json_object_put(ranges[1]);
	}
	wmk_tree_put(w, class, "field-class", wmk_tree_class_of(w, at + 1));
	free(taken.spans);
	return class;
}

/* ── structures ──────────────────────────────────────────────────────────────────────────────────────── */

static json_object *structure_of(struct wmk_tree_writer *w, uint32_t at)
{
	const struct wmk_ctf_op *ops = w->parts.of[w->scope]->ops;
	json_object *class = json_object_new_object(), *members = json_object_new_array();
	struct names names = names_in(w, ops, at, NULL);
	uint32_t member = 0;

	wmk_tree_put_text(w, class, "type", "structure");
	if (ops[at].align > 1)
		wmk_tree_put_number(w, class, "minimum-alignment", ops[at].align);
	for (uint32_t i = at + 1; ops[i].code != WMK_CTF_END; i = ops[i].next)
		wmk_tree_append(w, members, part_of(w, at, i, member++, &names));
	wmk_tree_put(w, class, "member-classes", members);
	free_names(&names);
	return class;
}

static json_object *string_of(struct wmk_tree_writer *w, const struct wmk_ctf_op *op)
{
	json_object *class = json_object_new_object();

	wmk_tree_put_text(w, class, "type", "null-terminated-string");
	put_encoding(w, class, op->type);
	return class;
}

static json_object *class_of(struct wmk_tree_writer *w, uint32_t at)
{
	const struct wmk_ctf_op *op = &w->parts.of[w->scope]->ops[at];

	switch (op->code) {
	case WMK_CTF_STRUCT:
		return structure_of(w, at);
	case WMK_CTF_VARIANT:
		return variant_of(w, at);
	case WMK_CTF_OPTIONAL:
		return optional_of(w, at);
	case WMK_CTF_ARRAY:
	case WMK_CTF_TEXT:
	case WMK_CTF_BLOB:
		return array_of(w, at);
	case WMK_CTF_STRING:
		return string_of(w, op);
	default:
		return wmk_tree_number_of(w, op);
	}
}

json_object *wmk_tree_class_of(struct wmk_tree_writer *w, uint32_t at)
{
	json_object *class = class_of(w, at);

	wmk_tree_put_more(w, class, w->parts.of[w->scope]->ops[at].type->attributes);
	return class;
}
