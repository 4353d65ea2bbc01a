/* SPDX-License-Identifier: MIT */
/*
 * rewrite_number.c - convert number operations to field classes of CTF 2 (see rewrite_number.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/rewrite_number.h"

#include "base/error.h"
#include "ctf/format_names.h"
#include "ctf/range_set.h"
#include "ctf/text_buffer.h"
#include "ctf/tsdl_unknown_field.h"

/*
 * In CTF 1.8, a name defines a role for a value of any type. In CTF 2, a value must meet the conditions of its role;
 * this function checks the conditions.
 */
bool wmk_tree_role_fits(const struct wmk_tree_writer *w, unsigned scope, const struct wmk_ctf_op *op, unsigned role)
{
	switch (role) {
	case WMK_ROLE_MAGIC:
		return op->width == 32 && op == &w->parts.of[scope]->ops[1];
	case WMK_ROLE_UUID:
		return op->code > WMK_CTF_ENUM && !op->ref && op->count == 16 && w->decoder->class->has_uuid;
	case WMK_ROLE_BEGIN:
	case WMK_ROLE_END:
	case WMK_ROLE_TIME:
		return w->has_clock;
	case WMK_ROLE_CPU:
		/* CTF 2 has no role of a CPU number; readers know the name of the field */
		return false;
	default:
		return op->code <= WMK_CTF_ENUM;
	}
}

/* Return the set of the operation's roles that CTF 2 allows. */
static unsigned fit_roles(const struct wmk_tree_writer *w, unsigned scope, const struct wmk_ctf_op *op)
{
	unsigned fit = 0;

	for (unsigned roles = op->roles; roles; roles &= roles - 1)
		if (wmk_tree_role_fits(w, scope, op, (unsigned)__builtin_ctz(roles)))
			fit |= roles & -roles;
	return fit;
}

static bool is_integer(const struct wmk_ctf_op *op)
{
	return op->code == WMK_CTF_INT || op->code == WMK_CTF_ENUM || (op->code == WMK_CTF_FLAGS && !op->type->count);
}

/* A value with a role is unsigned in CTF 2; in CTF 1.8 such a value may be signed. The bits stay the same. */
bool wmk_tree_loses_sign(const struct wmk_tree_writer *w, unsigned scope, const struct wmk_ctf_op *op)
{
	return op->is_signed && is_integer(op) && fit_roles(w, scope, op);
}

void wmk_tree_put_roles(struct wmk_tree_writer *w, json_object *class, const struct wmk_ctf_op *op)
{
	unsigned fit = fit_roles(w, w->scope, op);
	json_object *list;

	if (!fit)
		return;
	list = json_object_new_array();
	for (; fit; fit &= fit - 1)
		wmk_tree_append(w, list, json_object_new_string(wmk_ctf_roles[__builtin_ctz(fit)].ctf2));
	wmk_tree_put(w, class, "roles", list);
}

/*
 * Keep the mapping of the value to a clock. The mapping to the stream's clock is expressed by the role of a time; the
 * mapping to any other clock is expressed by an attribute.
 */
static void put_clock(struct wmk_tree_writer *w, json_object *class, const struct wmk_ctf_op *op)
{
	const bool is_time =
		op->roles & (WMK_ROLE_BIT(WMK_ROLE_BEGIN) | WMK_ROLE_BIT(WMK_ROLE_END) | WMK_ROLE_BIT(WMK_ROLE_TIME));

	if (!op->type->clock || (is_time && w->clock && !strcmp(op->type->clock, w->clock->name)))
		return;
	if (strlen(op->type->clock) >= WMK_CTF_IDENT)
		w->lost |= 1u << WMK_CTF_LOST_CLOCK;
	else
		wmk_tsdl_unknown_put_word(w, class, WMK_TSDL_UNKNOWN_CLOCK, op->type->clock);
}

/* Write the common properties of fixed-length field classes. */
static void put_bits(struct wmk_tree_writer *w, json_object *class, const struct wmk_ctf_op *op)
{
	wmk_tree_put_number(w, class, "length", op->width);
	wmk_tree_put_text(w, class, "byte-order", op->is_big ? "big-endian" : "little-endian");
	if (op->is_reversed)
		wmk_tree_put_text(w, class, "bit-order", op->is_big ? "first-to-last" : "last-to-first");
	if (op->align > 1)
		wmk_tree_put_number(w, class, "alignment", op->align);
}

/* Return the list of ranges of a name; the function creates the list if needed; NULL: memory is short. */
static json_object *ranges_of(struct wmk_tree_writer *w, json_object *mappings, const char *label)
{
	json_object *name = wmk_tree_text_of(w, wmk_or_empty(label)), *ranges = NULL;

	if (name && !json_object_object_get_ex(mappings, json_object_get_string(name), &ranges)) {
		ranges = json_object_new_array();
		wmk_tree_put(w, mappings, json_object_get_string(name), ranges);
	}
	json_object_put(name);
	return ranges;
}

/*
 * Put names with their ranges. The function writes all ranges of a name together, at the position of the first range.
 * Several names may share values, as in CTF 1.8. With `is_signed`, signed values stay signed; without `is_signed`,
 * signed values become unsigned values with the same bits.
 */
static void put_ranges(struct wmk_tree_writer *w, json_object *class, const char *property, const struct wmk_type *type,
		       bool is_signed)
{
	json_object *mappings = json_object_new_object();

	for (uint32_t i = 0; i < type->count; i++) {
		struct wmk_ctf_range spans[2] = { { (uint64_t)type->labels[i].from, (uint64_t)type->labels[i].to } };
		const unsigned n =
			is_signed == type->is_signed
				? 1
				: wmk_ctf_without_sign(type->width, type->labels[i].from, type->labels[i].to, spans);

		if (!n)
			w->lost |= 1u << WMK_CTF_LOST_LABEL;
		for (unsigned j = 0; j < n; j++)
			wmk_tree_append_range(w, ranges_of(w, mappings, type->labels[i].name), spans[j].from,
					      spans[j].to, is_signed);
	}
	/* (without memory `mappings` is NULL, and wmk_tree_put() sets the error) */
	if (!mappings || json_object_object_length(mappings))
		wmk_tree_put(w, class, property, mappings);
	else
		json_object_put(mappings);
}

static void put_flags(struct wmk_tree_writer *w, json_object *class, const struct wmk_type *type)
{
	json_object *flags;

	if (type->width > 64) {
		/* (ranges instead of masks: see json_scalar.c) */
		put_ranges(w, class, "flags", type, type->is_signed);
		return;
	}
	flags = json_object_new_object();
	for (uint32_t i = 0; i < type->count; i++) {
		json_object *ranges = json_object_new_array();
		uint64_t mask = (uint64_t)type->labels[i].from;

		for (unsigned from = 0, to; from < 64; from = to + 1) {
			to = from;
			if (!(mask >> from & 1))
				continue;
			while (to < 63 && mask >> (to + 1) & 1)
				to++;
			wmk_tree_append_range(w, ranges, from, to, false);
		}
		wmk_tree_put(w, flags, type->labels[i].name, ranges);
	}
	wmk_tree_put(w, class, "flags", flags);
}

json_object *wmk_tree_number_of(struct wmk_tree_writer *w, const struct wmk_ctf_op *op)
{
	json_object *class = json_object_new_object();
	const bool is_signed = op->is_signed && !wmk_tree_loses_sign(w, w->scope, op);
	char type[64];

	/* (negative values would become numbers that are too large for a role) */
	if (op->is_signed && !is_signed && op->width > 64 && w->err >= 0)
		w->err = wmk_error(-ENOTSUP,
				   "CTF 2 cannot describe '%.60s': a signed integer of more than 64 bits cannot have a "
				   "role",
				   wmk_or_empty(op->name));
	snprintf(type, sizeof(type), "%s-length-%s", op->width ? "fixed" : "variable",
		 op->code == WMK_CTF_BOOL    ? "boolean"
		 : op->type->is_extended     ? "bit-array"
		 : op->code == WMK_CTF_FLOAT ? "floating-point-number"
		 : !is_integer(op)           ? "bit-map"
		 : is_signed                 ? "signed-integer"
					     : "unsigned-integer");
	wmk_tree_put_text(w, class, "type", type);
	if (op->width)
		put_bits(w, class, op);
	if (is_integer(op) && op->type->base && op->type->base != 10)
		wmk_tree_put_number(w, class, "preferred-display-base", op->type->base);
	if (op->code == WMK_CTF_ENUM && op->type->count)
		put_ranges(w, class, "mappings", op->type, is_signed);
	if (!is_integer(op) && op->code == WMK_CTF_FLAGS)
		put_flags(w, class, op->type);
	if (is_integer(op)) {
		wmk_tree_put_roles(w, class, op);
		put_clock(w, class, op);
	}
	return class;
}
