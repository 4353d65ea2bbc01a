/* SPDX-License-Identifier: MIT */
/*
 * json_scalar.c - convert CTF 2's scalar field classes (CTF2-SPEC-2.0, sections 5.3.4 to 5.3.17) to types.
 *
 *     fixed-length-bit-array               INT, unsigned, base 16; FLOAT if made from `long double` (tsdl_unknown.h)
 *     fixed-length-bit-map                 FLAGS: a mask for each name, true if any bit is set; ranges above 64 bits
 *     fixed-length-boolean                 BOOL
 *     ...-integer                          INT, with mappings ENUM; is_variable
 *     ...-floating-point-number            FLOAT
 *     null-terminated-string               STRING
 *     {static,dynamic}-length-string       ARRAY, SEQUENCE of bytes, is_text
 *     {static,dynamic}-length-blob         BLOB, with `count` or `ref`
 */
#include "ctf/json.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "ctf/tsdl_unknown.h"
#include "ctf/wide_number.h"

/* ── roles ───────────────────────────────────────────────────────────────────────────────────────────── */

/* Check whether the field meets the conditions of a role. */
static void check_role(const struct wmk_ctf_json_at *at, const struct wmk_type *type, unsigned role)
{
	if (role == WMK_ROLE_MAGIC && (type->is_variable || type->width != 32))
		wmk_ctf_json_error(at, -EPROTO, "the packet's magic number must have a fixed length of 32 bits");
	if (role == WMK_ROLE_UUID && type->count != 16)
		wmk_ctf_json_error(at, -EPROTO, "the UUID must have 16 bytes, not %" PRIu32, type->count);
	if (role == WMK_ROLE_UUID && !at->in->to->class.has_uuid)
		wmk_ctf_json_error(at, -EPROTO, "a UUID needs the property \"uuid\" of the preamble, which is missing");
}

static void take_role(const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	struct wmk_ctf_json *in = at->in;
	unsigned role = WMK_ROLE_NONE;
	bool is_known = false;

	/* A role is valid in only one scope. */
	for (unsigned i = 1; i < WMK_ROLES; i++)
		if (wmk_ctf_roles[i].ctf2 && wmk_ctf_json_equals(at, wmk_ctf_roles[i].ctf2)) {
			is_known = true;
			role = wmk_ctf_roles[i].scope == in->root ? i : role;
		}
	if (!is_known)
		wmk_ctf_json_wrong(at, "the name of a role");
	if ((type->kind == WMK_TYPE_BLOB) != wmk_ctf_json_equals(at, wmk_ctf_roles[WMK_ROLE_UUID].ctf2))
		wmk_ctf_json_wrong(at, type->kind == WMK_TYPE_BLOB ? "a role that a blob can have"
								   : "a role that a number can have");
	type->roles |= WMK_ROLE_BIT(role);
	in->has_time = in->has_time || role == WMK_ROLE_BEGIN || role == WMK_ROLE_END || role == WMK_ROLE_TIME;
	in->n_magic += role == WMK_ROLE_MAGIC && in->n_magic < 2;
	check_role(at, type, role);
}

static void take_roles(const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	struct wmk_ctf_json_at list;
	const size_t n = wmk_ctf_json_list(at, "roles", false, &list);

	for (size_t i = 0; i < n; i++) {
		const struct wmk_ctf_json_at role = wmk_ctf_json_item(&list, i, "role");

		take_role(&role, type);
	}
}

/* ── numbers ─────────────────────────────────────────────────────────────────────────────────────────── */

/* Get the common properties of fixed-length classes (section 5.3.4). */
static void take_bits(const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	static const char *const byte_orders[] = { "little-endian", "big-endian", NULL };
	static const char *const bit_orders[] = { "first-to-last", "last-to-first", NULL };
	const uint64_t width = wmk_ctf_json_number(at, "length", true, 1, UINT64_MAX);
	const unsigned is_big = wmk_ctf_json_word(at, "byte-order", true, byte_orders, 0);
	const unsigned is_last_first = wmk_ctf_json_word(at, "bit-order", false, bit_orders, is_big);

	type->align = wmk_ctf_json_align(at, "alignment");
	if (width > WMK_CTF_WIDTH_MAX)
		wmk_ctf_json_error(at, -ENOTSUP, "a field of %" PRIu64 " bits exceeds the limit of %u", width,
				   WMK_CTF_WIDTH_MAX);
	type->width = (uint16_t)width;
	type->order = is_big ? WMK_ORDER_BIG : WMK_ORDER_LITTLE;
	type->is_reversed = is_last_first != is_big;
}

static void bit_array(const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	type->kind = WMK_TYPE_INT;
	type->is_bits = 1;
	type->base = 16;
	take_bits(at, type);
}

/* Return whether the type was an x87 number in a trace of CTF 1.8 (tsdl_unknown.h). */
static bool is_long_double(const struct wmk_ctf_json_at *at, const struct wmk_type *type)
{
	struct wmk_ctf_json_at attributes, space, long_double_mark;

	return wmk_ctf_is_long_double(type->width, 64) && type->order == WMK_ORDER_LITTLE && !type->is_reversed &&
	       wmk_ctf_json_get(at, "attributes", &attributes) &&
	       wmk_ctf_json_get(&attributes, WMK_TSDL_UNKNOWN_SPACE, &space) &&
	       wmk_ctf_json_get(&space, WMK_TSDL_UNKNOWN_LONG_DOUBLE, &long_double_mark) &&
	       json_object_is_type(long_double_mark.value, json_type_boolean) &&
	       json_object_get_boolean(long_double_mark.value);
}

static void bits_or_real(const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	bit_array(at, type);
	if (!is_long_double(at, type))
		return;
	type->kind = WMK_TYPE_FLOAT;
	type->base = 10;
	type->is_extended = 1;
}

static void boolean(const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	type->kind = WMK_TYPE_BOOL;
	type->base = 10;
	take_bits(at, type);
}

static void floating(const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	const uint64_t width = wmk_ctf_json_number(at, "length", true, 1, UINT64_MAX);
	struct wmk_ctf_json_at length;

	if (wmk_ctf_json_get(at, "length", &length) && width <= WMK_CTF_WIDTH_MAX && !wmk_ctf_exponent_bits(width))
		wmk_ctf_json_wrong(&length, "16, 32, 64, 128, or a larger multiple of 32");
	type->kind = WMK_TYPE_FLOAT;
	type->base = 10;
	take_bits(at, type);
}

static uint64_t mask_of(const struct wmk_label *bits, unsigned width)
{
	uint64_t from = (uint64_t)bits->from, to = (uint64_t)bits->to;

	if (from >= width)
		return 0;                  /* the field does not have this bit */
	if (to >= width)
		to = width - 1;
	return (to - from == 63 ? UINT64_MAX : ((uint64_t)1 << (to - from + 1)) - 1) << from;
}

static void add_flag(const struct wmk_ctf_json_at *flag, struct wmk_ctf_list *labels, uint64_t from, uint64_t to)
{
	struct wmk_ctf_builder *builder = flag->in->to;
	struct wmk_label *label = wmk_ctf_list_add(builder, labels, sizeof(*label), WMK_CTF_EVENTS_MAX);

	if (label)
		*label = (struct wmk_label){ .name = wmk_ctf_copy_text(builder, flag->name, strlen(flag->name)),
					     .from = (int64_t)from,
					     .to = (int64_t)to };
}

/*
 * Get a flag, which is true if any of the flag's bits is set. The parser stores the flag as a mask; in a field of more
 * than 64 bits, the flag is stored as a label for each range.
 */
static void take_flag(const struct wmk_ctf_json_at *flag, unsigned width, struct wmk_ctf_list *labels)
{
	struct wmk_ctf_json_ranges bits = { .is_clipped = true };
	uint64_t mask = 0;

	wmk_ctf_json_ranges(flag, NULL, &bits);
	for (uint32_t i = 0; i < bits.list.n; i++) {
		const struct wmk_label *range = (const struct wmk_label *)bits.list.items + i;

		if (width <= 64)
			mask |= mask_of(range, width);
		else if ((uint64_t)range->from < width)
			add_flag(flag, labels, (uint64_t)range->from,
				 (uint64_t)range->to < width ? (uint64_t)range->to : width - 1);
	}
	/* (no label if the field has none of the bits) */
	if (mask)
		add_flag(flag, labels, mask, mask);
}

static void bit_map(const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	struct wmk_ctf_list labels = { NULL, 0, 0 };
	struct wmk_ctf_json_at flags;

	bit_array(at, type);
	if (!wmk_ctf_json_need(at, "flags", &flags))
		return;
	type->kind = WMK_TYPE_FLAGS;
	if (!json_object_is_type(flags.value, json_type_object) || json_object_object_length(flags.value) == 0) {
		wmk_ctf_json_wrong(&flags, "an object with at least one flag");
		return;
	}
	json_object_object_foreach(flags.value, name, value) {
		const struct wmk_ctf_json_at flag = wmk_ctf_json_member(&flags, name, value);

		take_flag(&flag, type->width, &labels);
	}
	type->labels = labels.items;
	type->count = labels.n;
}

static void take_mappings(const struct wmk_ctf_json_at *at, struct wmk_ctf_json_ranges *labels)
{
	struct wmk_ctf_json_at mappings;

	if (!wmk_ctf_json_get(at, "mappings", &mappings) || !wmk_ctf_json_is(&mappings, json_type_object))
		return;
	json_object_object_foreach(mappings.value, name, value) {
		const struct wmk_ctf_json_at mapping = wmk_ctf_json_member(&mappings, name, value);

		wmk_ctf_json_ranges(&mapping, wmk_ctf_copy_text(at->in->to, name, strlen(name)), labels);
	}
}

/* Get the common properties of integers (section 5.3.7): the base, the names of values, and the roles. */
static void take_integer(const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	struct wmk_ctf_json_ranges labels = { .is_clipped = true, .is_signed = type->is_signed };
	struct wmk_ctf_json_at property;
	const uint64_t base = wmk_ctf_json_get(at, "preferred-display-base", &property)
				      ? wmk_ctf_json_number_at(&property, 0, UINT64_MAX)
				      : 10;

	if (base != 2 && base != 8 && base != 10 && base != 16)
		wmk_ctf_json_wrong(&property, "2, 8, 10 or 16");
	type->base = (uint8_t)base;
	take_mappings(at, &labels);
	type->kind = labels.list.n ? WMK_TYPE_ENUM : WMK_TYPE_INT;
	type->labels = labels.list.items;
	type->count = labels.list.n;
	if (!type->is_signed)
		take_roles(at, type);
	else if (wmk_ctf_json_get(at, "roles", &property))
		wmk_ctf_json_error(&property, -EPROTO, "a signed integer cannot have roles");
}

static void fixed_unsigned(const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	take_bits(at, type);
	take_integer(at, type);
}

static void fixed_signed(const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	type->is_signed = 1;
	fixed_unsigned(at, type);
}

static void variable_unsigned(const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	type->is_variable = 1;
	type->order = WMK_ORDER_LITTLE;
	type->align = 8;
	take_integer(at, type);
}

static void variable_signed(const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	type->is_signed = 1;
	variable_unsigned(at, type);
}

/* ── texts, blobs ────────────────────────────────────────────────────────────────────────────────────── */

static void take_encoding(const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	type->encoding = (uint8_t)wmk_ctf_json_word(at, "encoding", false, wmk_ctf2_encodings, WMK_ENCODING_UTF8);
	type->align = 8;
}

static void terminated_string(const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	type->kind = WMK_TYPE_STRING;
	take_encoding(at, type);
}

static const struct wmk_type byte = {
	.kind = WMK_TYPE_INT, .width = 8, .order = WMK_ORDER_LITTLE, .base = 10, .align = 8
};

static void static_string(const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	type->kind = WMK_TYPE_ARRAY;
	type->count = wmk_ctf_json_length(at);
	type->elem = &byte;
	type->is_text = 1;
	take_encoding(at, type);
}

static void dynamic_string(const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	type->kind = WMK_TYPE_SEQUENCE;
	type->ref = wmk_ctf_json_location(at, "length-field-location");
	type->elem = &byte;
	type->is_text = 1;
	take_encoding(at, type);
}

static void static_blob(const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	type->kind = WMK_TYPE_BLOB;
	type->align = 8;
	type->count = wmk_ctf_json_length(at);
	type->media = wmk_ctf_json_text(at, "media-type", false);
	take_roles(at, type);
}

static void dynamic_blob(const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	type->kind = WMK_TYPE_BLOB;
	type->align = 8;
	type->ref = wmk_ctf_json_location(at, "length-field-location");
	type->media = wmk_ctf_json_text(at, "media-type", false);
}

/* ── selection by the class's type ───────────────────────────────────────────────────────────────────── */

bool wmk_ctf_json_scalar(const struct wmk_ctf_json_at *at, const struct wmk_ctf_json_at *kind, struct wmk_type *type)
{
	static const struct {
		const char *name;
		void (*take)(const struct wmk_ctf_json_at *at, struct wmk_type *type);
	} kinds[] = {
		{ "fixed-length-bit-array", bits_or_real },
		{ "fixed-length-bit-map", bit_map },
		{ "fixed-length-boolean", boolean },
		{ "fixed-length-unsigned-integer", fixed_unsigned },
		{ "fixed-length-signed-integer", fixed_signed },
		{ "fixed-length-floating-point-number", floating },
		{ "variable-length-unsigned-integer", variable_unsigned },
		{ "variable-length-signed-integer", variable_signed },
		{ "null-terminated-string", terminated_string },
		{ "static-length-string", static_string },
		{ "dynamic-length-string", dynamic_string },
		{ "static-length-blob", static_blob },
		{ "dynamic-length-blob", dynamic_blob },
	};

	for (size_t i = 0; i < WMK_ARRAY_LEN(kinds); i++)
		if (wmk_ctf_json_equals(kind, kinds[i].name)) {
			kinds[i].take(at, type);
			return true;
		}
	return false;
}
