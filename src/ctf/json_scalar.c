/* SPDX-License-Identifier: MIT */
/*
 * json_scalar.c - CTF 2's field classes that hold no others (CTF2-SPEC-2.0, sections 5.3.4 to 5.3.17) as types.
 *
 *     fixed-length-bit-array               INT, without a sign, base 16; FLOAT if it was a `long double` in 1.8 (tsdl_unknown.h)
 *     fixed-length-bit-map                 FLAGS: for each name a mask, of which any bit counts; of more than 64 bits, ranges of bits
 *     fixed-length-boolean                 BOOL
 *     ...-integer                          INT, with mappings ENUM; is_variable
 *     ...-floating-point-number            FLOAT
 *     null-terminated-string               STRING
 *     static-length-string, dynamic-...    ARRAY, SEQUENCE of bytes, is_text
 *     static-length-blob, dynamic-...      BLOB, with `count` or `ref`
 */
#include "ctf/json.h"

#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "ctf/tsdl_unknown.h"
#include "ctf/wide_number.h"

/* ── roles ───────────────────────────────────────────────────────────────────────────────────────────── */

/* What each means under each root (sections 5.6.1 and 5.8.1); elsewhere nothing. */
static const struct {
	const char *name;
	uint8_t role[WMK_CTF_JSON_ROOTS]; /* enum wmk_role */
} roles[] = {
	{ "packet-magic-number", { [WMK_CTF_JSON_PACKET_HEADER] = WMK_ROLE_MAGIC } },
	{ "metadata-stream-uuid", { [WMK_CTF_JSON_PACKET_HEADER] = WMK_ROLE_UUID } },
	{ "data-stream-class-id", { [WMK_CTF_JSON_PACKET_HEADER] = WMK_ROLE_STREAM_CLASS } },
	{ "data-stream-id", { [WMK_CTF_JSON_PACKET_HEADER] = WMK_ROLE_STREAM } },
	{ "packet-total-length", { [WMK_CTF_JSON_PACKET_CONTEXT] = WMK_ROLE_PACKET_SIZE } },
	{ "packet-content-length", { [WMK_CTF_JSON_PACKET_CONTEXT] = WMK_ROLE_CONTENT_SIZE } },
	{ "default-clock-timestamp",
	  { [WMK_CTF_JSON_PACKET_CONTEXT] = WMK_ROLE_BEGIN, [WMK_CTF_JSON_EVENT_HEADER] = WMK_ROLE_TIME } },
	{ "packet-end-default-clock-timestamp", { [WMK_CTF_JSON_PACKET_CONTEXT] = WMK_ROLE_END } },
	{ "discarded-event-record-counter-snapshot", { [WMK_CTF_JSON_PACKET_CONTEXT] = WMK_ROLE_LOST } },
	{ "packet-sequence-number", { [WMK_CTF_JSON_PACKET_CONTEXT] = WMK_ROLE_SEQUENCE } },
	{ "event-record-class-id", { [WMK_CTF_JSON_EVENT_HEADER] = WMK_ROLE_EVENT_CLASS } },
};

/* What a field must be like to have the role. */
static int check_role(const struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, const struct wmk_type *type,
		      unsigned role)
{
	if (role == WMK_ROLE_MAGIC && (type->is_variable || type->width != 32))
		return wmk_ctf_json_error(at, -EPROTO, "expected the packet's magic number to have 32 bits, always");
	if (role == WMK_ROLE_UUID && type->count != 16)
		return wmk_ctf_json_error(at, -EPROTO, "expected the UUID to have 16 bytes, not %" PRIu32, type->count);
	if (role == WMK_ROLE_UUID && !in->to->class.has_uuid)
		return wmk_ctf_json_error(at, -EPROTO,
					  "expected a property \"uuid\" of the preamble, and there is none");
	return 0;
}

static int take_role(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	const char *text = json_object_is_type(at->value, json_type_string) ? json_object_get_string(at->value) : "";
	unsigned role;
	size_t i = 0;

	while (i < sizeof(roles) / sizeof(roles[0]) && strcmp(roles[i].name, text) != 0)
		i++;
	if (i == sizeof(roles) / sizeof(roles[0]))
		return wmk_ctf_json_wrong(at, "the name of a role");
	if ((type->kind == WMK_TYPE_BLOB) != (roles[i].role[WMK_CTF_JSON_PACKET_HEADER] == WMK_ROLE_UUID))
		return wmk_ctf_json_wrong(at, type->kind == WMK_TYPE_BLOB ? "a role that a blob can have"
									  : "a role that a number can have");
	role = roles[i].role[in->root];
	type->roles |= WMK_ROLE_BIT(role);
	in->has_time = in->has_time || role == WMK_ROLE_BEGIN || role == WMK_ROLE_END || role == WMK_ROLE_TIME;
	in->n_magic += role == WMK_ROLE_MAGIC && in->n_magic < 2;
	return check_role(in, at, type, role);
}

static int take_roles(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	struct wmk_ctf_json_at list;
	size_t n;
	int err = wmk_ctf_json_list(at, "roles", false, &list, &n);

	for (size_t i = 0; err >= 0 && i < n; i++) {
		struct wmk_ctf_json_at role = wmk_ctf_json_item(&list, i, "role");

		err = take_role(in, &role, type);
	}
	return err;
}

/* ── numbers ─────────────────────────────────────────────────────────────────────────────────────────── */

/* What all of a fixed number of bits have (section 5.3.4). */
static int take_bits(const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	static const char *const byte_orders[] = { "little-endian", "big-endian", NULL };
	static const char *const bit_orders[] = { "first-to-last", "last-to-first", NULL };
	uint64_t width;
	unsigned is_big = 0, is_last_first;
	int err = wmk_ctf_json_number(at, "length", true, 1, UINT64_MAX, &width);

	if (err >= 0)
		err = wmk_ctf_json_word(at, "byte-order", true, byte_orders, &is_big);
	is_last_first = is_big;            /* when nothing is said */
	if (err >= 0)
		err = wmk_ctf_json_word(at, "bit-order", false, bit_orders, &is_last_first);
	if (err >= 0)
		err = wmk_ctf_json_align(at, "alignment", &type->align);
	if (err < 0)
		return err;
	if (width > WMK_CTF_WIDTH_MAX)
		return wmk_ctf_json_error(at, -ENOTSUP, "a field of %" PRIu64 " bits: up to %u are understood", width,
					  WMK_CTF_WIDTH_MAX);
	type->width = (uint16_t)width;
	type->order = is_big ? WMK_ORDER_BIG : WMK_ORDER_LITTLE;
	type->is_reversed = is_last_first != is_big;
	return 0;
}

static int bit_array(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	(void)in;
	type->kind = WMK_TYPE_INT;
	type->is_bits = 1;
	type->base = 16;
	return take_bits(at, type);
}

/* A number of x87's that was copied out of a trace of 1.8 (tsdl_unknown.h). */
static bool is_long_double(const struct wmk_ctf_json_at *at, const struct wmk_type *type)
{
	struct wmk_ctf_json_at attributes, space, told;

	return wmk_ctf_is_long_double(type->width, 64) && type->order == WMK_ORDER_LITTLE && !type->is_reversed &&
	       wmk_ctf_json_get(at, "attributes", &attributes) &&
	       wmk_ctf_json_get(&attributes, WMK_TSDL_UNKNOWN_SPACE, &space) &&
	       json_object_is_type(space.value, json_type_object) &&
	       wmk_ctf_json_get(&space, WMK_TSDL_UNKNOWN_LONG_DOUBLE, &told) &&
	       json_object_is_type(told.value, json_type_boolean) && json_object_get_boolean(told.value);
}

static int bits_or_real(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	int err = bit_array(in, at, type);

	if (err >= 0 && is_long_double(at, type)) {
		type->kind = WMK_TYPE_FLOAT;
		type->base = 10;
		type->is_extended = 1;
	}
	return err;
}

static int boolean(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	(void)in;
	type->kind = WMK_TYPE_BOOL;
	type->base = 10;
	return take_bits(at, type);
}

static int floating(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	struct wmk_ctf_json_at length;
	uint64_t width;
	int err = wmk_ctf_json_number(at, "length", true, 1, UINT64_MAX, &width);

	(void)in;
	if (err < 0)
		return err;
	wmk_ctf_json_get(at, "length", &length);
	if (width <= WMK_CTF_WIDTH_MAX && !wmk_ctf_exponent_bits(width))
		return wmk_ctf_json_wrong(&length, "16, 32, 64, 128, or a larger multiple of 32");
	type->kind = WMK_TYPE_FLOAT;
	type->base = 10;
	return take_bits(at, type);
}

static uint64_t mask_of(const struct wmk_label *bits, unsigned width)
{
	uint64_t from = (uint64_t)bits->from, to = (uint64_t)bits->to;

	if (from >= width)
		return 0;                  /* a bit that is not there is never set */
	if (to >= width)
		to = width - 1;
	return (to - from == 63 ? UINT64_MAX : ((uint64_t)1 << (to - from + 1)) - 1) << from;
}

static int add_flag(struct wmk_ctf_json *in, struct wmk_ctf_list *labels, const char *name, uint64_t from, uint64_t to)
{
	struct wmk_label *label = wmk_ctf_list_add(in->to, labels, sizeof(*label), WMK_CTF_EVENTS_MAX);

	if (!label)
		return wmk_error_number();
	*label = (struct wmk_label){ .name = wmk_scratch_text(&in->to->scratch, name, strlen(name)), .from = (int64_t)from, .to = (int64_t)to };
	return label->name ? 0 : -ENOMEM;
}

/*
 * A name is for some bits, any of which makes it true: a mask; where that would have more than 64 bits, each of the
 * ranges.
 */
static int take_flag(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *flag, unsigned width,
		     struct wmk_ctf_list *labels)
{
	struct wmk_ctf_json_ranges bits = { .is_clipped = true };
	uint64_t mask = 0;
	int err = wmk_ctf_json_ranges(in, flag, NULL, &bits);

	for (uint32_t i = 0; i < bits.list.n && err >= 0; i++) {
		const struct wmk_label *range = (const struct wmk_label *)bits.list.items + i;

		if (width <= 64)
			mask |= mask_of(range, width);
		else if ((uint64_t)range->from < width)
			err = add_flag(in, labels, flag->name, (uint64_t)range->from,
				       (uint64_t)range->to < width ? (uint64_t)range->to : width - 1);
	}
	/* (a name may be for bits that the field does not have) */
	return err < 0 || !mask ? err : add_flag(in, labels, flag->name, mask, mask);
}

static int bit_map(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	struct wmk_ctf_list labels = { NULL, 0, 0 };
	struct wmk_ctf_json_at flags;
	int err = bit_array(in, at, type);

	if (err >= 0)
		err = wmk_ctf_json_need(at, "flags", &flags);
	if (err < 0)
		return err;
	type->kind = WMK_TYPE_FLAGS;
	if (!json_object_is_type(flags.value, json_type_object) || json_object_object_length(flags.value) == 0)
		return wmk_ctf_json_wrong(&flags, "an object with at least one name of bits");
	json_object_object_foreach(flags.value, name, value) {
		struct wmk_ctf_json_at flag = { .up = &flags, .name = name, .value = value };

		err = take_flag(in, &flag, type->width, &labels);
		if (err < 0)
			return err;
	}
	type->labels = labels.items;
	type->count = labels.n;
	return 0;
}

/* What all integers have (section 5.3.7): a base, names of values, roles. */
static int take_integer(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	struct wmk_ctf_json_ranges labels = { .is_clipped = true, .is_signed = type->is_signed };
	struct wmk_ctf_json_at property;
	uint64_t base = 10;
	int err = wmk_ctf_json_number(at, "preferred-display-base", false, 0, UINT64_MAX, &base);

	if (err < 0)
		return err;
	if (base != 2 && base != 8 && base != 10 && base != 16) {
		wmk_ctf_json_get(at, "preferred-display-base", &property);
		return wmk_ctf_json_wrong(&property, "2, 8, 10 or 16");
	}
	type->base = (uint8_t)base;
	if (wmk_ctf_json_get(at, "mappings", &property)) {
		err = wmk_ctf_json_is(&property, json_type_object);
		if (err < 0)
			return err;
		json_object_object_foreach(property.value, name, value) {
			struct wmk_ctf_json_at mapping = { .up = &property, .name = name, .value = value };
			const char *kept = wmk_scratch_text(&in->to->scratch, name, strlen(name));

			err = kept ? wmk_ctf_json_ranges(in, &mapping, kept, &labels) : -ENOMEM;
			if (err < 0)
				return err;
		}
	}
	type->kind = labels.list.n ? WMK_TYPE_ENUM : WMK_TYPE_INT;
	type->labels = labels.list.items;
	type->count = labels.list.n;
	if (!type->is_signed)
		return take_roles(in, at, type);
	return wmk_ctf_json_get(at, "roles", &property)
		       ? wmk_ctf_json_error(&property, -EPROTO, "a number with a sign has no roles")
		       : 0;
}

static int fixed_unsigned(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	int err = take_bits(at, type);

	return err < 0 ? err : take_integer(in, at, type);
}

static int fixed_signed(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	type->is_signed = 1;
	return fixed_unsigned(in, at, type);
}

static int variable_unsigned(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	type->is_variable = 1;
	type->order = WMK_ORDER_LITTLE;
	type->align = 8;
	return take_integer(in, at, type);
}

static int variable_signed(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	type->is_signed = 1;
	return variable_unsigned(in, at, type);
}

/* ── texts, blobs ────────────────────────────────────────────────────────────────────────────────────── */

static int take_encoding(const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	/* As enum wmk_encoding has them. */
	static const char *const encodings[] = { "utf-8", "utf-16le", "utf-16be", "utf-32le", "utf-32be", NULL };
	unsigned encoding = WMK_ENCODING_UTF8;
	int err = wmk_ctf_json_word(at, "encoding", false, encodings, &encoding);

	type->encoding = (uint8_t)encoding;
	type->align = 8;
	return err;
}

static int terminated_string(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	(void)in;
	type->kind = WMK_TYPE_STRING;
	return take_encoding(at, type);
}

static const struct wmk_type byte = {
	.kind = WMK_TYPE_INT, .width = 8, .order = WMK_ORDER_LITTLE, .base = 10, .align = 8
};

static int static_string(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	int err = wmk_ctf_json_length(at, type);

	(void)in;
	type->kind = WMK_TYPE_ARRAY;
	type->elem = &byte;
	type->is_text = 1;
	return err < 0 ? err : take_encoding(at, type);
}

static int dynamic_string(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	int err = wmk_ctf_json_location(in, at, "length-field-location", &type->ref);

	type->kind = WMK_TYPE_SEQUENCE;
	type->elem = &byte;
	type->is_text = 1;
	return err < 0 ? err : take_encoding(at, type);
}

static int static_blob(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	int err = wmk_ctf_json_length(at, type);

	type->kind = WMK_TYPE_BLOB;
	type->align = 8;
	if (err >= 0)
		err = wmk_ctf_json_text(in, at, "media-type", false, &type->media);
	return err < 0 ? err : take_roles(in, at, type);
}

static int dynamic_blob(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	int err = wmk_ctf_json_location(in, at, "length-field-location", &type->ref);

	type->kind = WMK_TYPE_BLOB;
	type->align = 8;
	return err < 0 ? err : wmk_ctf_json_text(in, at, "media-type", false, &type->media);
}

/* ── which it is ─────────────────────────────────────────────────────────────────────────────────────── */

int wmk_ctf_json_scalar(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, const char *kind,
			struct wmk_type *type)
{
	static const struct {
		const char *name;
		int (*take)(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, struct wmk_type *type);
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

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, kind) == 0) {
			int err = kinds[i].take(in, at, type);

			return err < 0 ? err : 1;
		}
	return 0;
}
