/* SPDX-License-Identifier: MIT */
/*
 * event.c - write event classes and field types as TSDL.
 *
 * A declaration is <type> <name><suffix>. A helper field contains the length of a sequence or the presence of an
 * optional field, and precedes that field. TSDL allows arrays and sequences of any type, but readers differ in their
 * support for nested arrays. So the writer wraps an element other than a scalar, string or structure in a structure
 * with one member.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ctf/tsdl_fields.h"
#include "ctf/ctf2_writer.h"
#include "ctf/text_buffer.h"

/* The names that a structure already uses: first the names of the fields, then the names of helper fields. */
struct scope {
	char (*names)[WMK_CTF_IDENT];
	uint32_t n;
};

/*
 * Return whether a name conflicts with a name that is already in use. Two names must not differ only by a leading '_'.
 * Readers remove the leading '_' of each name. babeltrace2 compares the unchanged name from the metadata with earlier
 * names from which the '_' was removed.
 */
static bool scope_has(const struct scope *scope, const char *ident)
{
	for (uint32_t i = 0; i < scope->n; i++) {
		const char *name = scope->names[i];

		if (strcmp(name, ident) == 0 || strcmp(name + 1, ident) == 0 || strcmp(name, ident + 1) == 0)
			return true;
	}
	return false;
}

/*
 * Add the next name, which consists of the prefix, the name and the suffix. After a conflict, the name ends with a
 * number, as in "name_2". Returns the name.
 */
static const char *scope_add(struct scope *scope, const char *prefix, const char *name, const char *suffix)
{
	char *ident = scope->names[scope->n];
	char numbered[32];
	unsigned number;

	wmk_ctf_ident(ident, prefix, name, suffix);
	for (number = 2; scope_has(scope, ident); number++) {
		snprintf(numbered, sizeof(numbered), "%s_%u", suffix, number);
		wmk_ctf_ident(ident, prefix, name, numbered);
	}
	scope->n++;
	return ident;
}

static const char *order_name(uint8_t order)
{
	return order == WMK_ORDER_BIG ? "be" : order == WMK_ORDER_LITTLE ? "le" : "native";
}

static int put_integer(struct wmk_ctf_text_buffer *out, const struct wmk_type *type, const char *more)
{
	unsigned base = type->base ? type->base : 10;

	if (type->width != 8 && type->width != 16 && type->width != 32 && type->width != 64)
		return wmk_error(-EINVAL, "an integer of %u bits", type->width);
	if (base != 2 && base != 8 && base != 10 && base != 16)
		return wmk_error(-EINVAL, "an integer in base %u", base);
	wmk_ctf_put(out, "integer { size = %u; align = 8; signed = %s; byte_order = %s; base = %u;%s }", type->width,
		    type->is_signed ? "true" : "false", order_name(type->order), base, more);
	return 0;
}

static int put_float(struct wmk_ctf_text_buffer *out, const struct wmk_type *type)
{
	if (type->width != 32 && type->width != 64)
		return wmk_error(-EINVAL, "a floating point number of %u bits", type->width);
	wmk_ctf_put(out, "floating_point { exp_dig = %d; mant_dig = %d; align = 8; byte_order = %s; }",
		    type->width == 32 ? 8 : 11, type->width == 32 ? 24 : 53, order_name(type->order));
	return 0;
}

/*
 * The writer writes the labels of an enumeration in order and without overlap. Every value of the container gets a
 * label, because babeltrace 1.5 prints a warning for each record that has a value without a label.
 */
#define OTHER_LABEL "(other)"

struct range {
	const char *label;
	/* offsets from the container's least value, so that unsigned order is the container's order */
	uint64_t from, to;
};

/*
 * Convert a label's bounds to offsets from the least value of the container. Returns false if the whole range of the
 * label is outside the container's values.
 */
static bool range_of(const struct wmk_type *type, const struct wmk_label *label, struct range *range)
{
	const unsigned width = type->width;
	const uint64_t mask = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
	const int64_t high = (int64_t)(mask >> 1), low = -high - 1;
	int64_t from = label->from < label->to ? label->from : label->to;
	int64_t to = label->from < label->to ? label->to : label->from;
	uint64_t ufrom = (uint64_t)label->from & mask, uto = (uint64_t)label->to & mask;

	range->label = label->name && label->name[0] ? label->name : "(unnamed)";
	if (!type->is_signed) {
		range->from = ufrom < uto ? ufrom : uto;
		range->to = ufrom < uto ? uto : ufrom;
		return true;
	}
	if (from > high || to < low)
		return false;
	range->from = (uint64_t)(from < low ? low : from) - (uint64_t)low;
	range->to = (uint64_t)(to > high ? high : to) - (uint64_t)low;
	return true;
}

static int range_order(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	return a->from != b->from ? (a->from < b->from ? -1 : 1) : a->to != b->to ? (a->to < b->to ? -1 : 1) : 0;
}

static void put_range(struct wmk_ctf_text_buffer *out, const struct wmk_type *type, const char *label, uint64_t from,
		      uint64_t to, bool first)
{
	const uint64_t low = type->is_signed ? (uint64_t)-1 << (type->width - 1) : 0;

	wmk_ctf_put_range(out, label, from + low, to + low, type->is_signed, first);
}

/*
 * Write the labels, and the gaps between the labels. If two labels overlap, the values that they share belong to the
 * label that begins first.
 */
static void put_ranges(struct wmk_ctf_text_buffer *out, const struct wmk_type *type, struct range *ranges, uint32_t n)
{
	const uint64_t last = type->width == 64 ? UINT64_MAX : ((uint64_t)1 << type->width) - 1;
	uint64_t next = 0;         /* the first value that has no label yet */
	bool full = false, first = true;
	uint32_t i;

	qsort(ranges, n, sizeof(*ranges), range_order);
	for (i = 0; i < n && !full; i++) {
		if (ranges[i].to < next)
			continue;
		if (ranges[i].from > next) {
			put_range(out, type, OTHER_LABEL, next, ranges[i].from - 1, first);
			first = false;
		}
		put_range(out, type, ranges[i].label, ranges[i].from > next ? ranges[i].from : next, ranges[i].to,
			  first);
		first = false;
		full = ranges[i].to == last;
		next = ranges[i].to + 1;
	}
	if (!full)
		put_range(out, type, OTHER_LABEL, next, last, first);
}

static int put_enum(struct wmk_ctf_text_buffer *out, const struct wmk_type *type)
{
	const struct wmk_type container = { .kind = WMK_TYPE_INT, .width = type->width, .is_signed = type->is_signed,
					    .order = type->order, .base = type->base };
	uint32_t i, n = 0, count = type->count < WMK_LABELS_MAX ? type->count : WMK_LABELS_MAX;
	struct range *ranges;
	size_t start = out->len;
	int err;

	/* The grammar needs at least one label, so an enumeration without labels is written as an integer. */
	if (!count)
		return put_integer(out, &container, "");
	wmk_ctf_put(out, "enum : ");
	err = put_integer(out, &container, "");
	if (err < 0)
		return err;
	ranges = calloc(count, sizeof(*ranges));
	if (!ranges)
		return wmk_error(-ENOMEM, "no memory for %" PRIu32 " labels", count);
	for (i = 0; i < count; i++)
		n += range_of(&container, &type->labels[i], &ranges[n]);
	wmk_ctf_put(out, " {");
	put_ranges(out, &container, ranges, n);
	wmk_ctf_put(out, " }");
	free(ranges);
	if (!n) {
		wmk_ctf_text_cut(out, start);
		return put_integer(out, &container, "");
	}
	return 0;
}

/*
 * Write flags as an integer in base 16, because no enumeration can name combinations of bits; put_remarks() writes the
 * names of the bits.
 */
static int put_flags(struct wmk_ctf_text_buffer *out, const struct wmk_type *type)
{
	const struct wmk_type as_int = { .kind = WMK_TYPE_INT, .width = type->width, .order = type->order, .base = 16 };

	return put_integer(out, &as_int, "");
}

static int put_bool(struct wmk_ctf_text_buffer *out, const struct wmk_type *type)
{
	static const struct wmk_label labels[] = { { "false", 0, 0 }, { "true", 1, 255 } };
	const struct wmk_type as_enum = { .kind = WMK_TYPE_ENUM, .width = type->width ? type->width : 8,
					  .order = type->order, .base = 10, .count = 2, .labels = labels };

	return put_enum(out, &as_enum);
}

static int put_field(struct wmk_ctf_text_buffer *out, const struct wmk_type *type, const char *name, const char *ident,
		     struct scope *scope, unsigned depth);

/* Write `struct { <members> }`, without a name. */
static int put_struct(struct wmk_ctf_text_buffer *out, const struct wmk_field *members, uint32_t n, unsigned depth)
{
	int err;

	wmk_ctf_put(out, "struct {\n");
	err = wmk_ctf_put_fields(out, members, n, depth + 1);
	if (err < 0)
		return err;
	wmk_ctf_put_indent(out, depth);
	/* align: an empty structure would have no alignment otherwise */
	wmk_ctf_put(out, "} align(8)");
	return 0;
}

/* Write a type that needs no suffix after the field's name. */
static int put_simple(struct wmk_ctf_text_buffer *out, const struct wmk_type *type, bool text, unsigned depth)
{
	switch (type->kind) {
	case WMK_TYPE_INT:
		return put_integer(out, type, text ? " encoding = UTF8;" : "");
	case WMK_TYPE_FLOAT:
		return put_float(out, type);
	case WMK_TYPE_BOOL:
		return put_bool(out, type);
	case WMK_TYPE_STRING:
		wmk_ctf_put(out, "string { encoding = UTF8; }");
		return 0;
	case WMK_TYPE_ENUM:
		return put_enum(out, type);
	case WMK_TYPE_FLAGS:
		return put_flags(out, type);
	case WMK_TYPE_STRUCT:
		return put_struct(out, type->members, type->count, depth);
	default:
		return wmk_error(-EINVAL, "unknown field type %u", type->kind);
	}
}

static bool is_simple(const struct wmk_type *type)
{
	return type->kind != WMK_TYPE_ARRAY && type->kind != WMK_TYPE_SEQUENCE && type->kind != WMK_TYPE_BLOB &&
	       type->kind != WMK_TYPE_OPTIONAL;
}

/* Write the element type of an array or sequence: directly, or wrapped in a structure with one member. */
static int put_element(struct wmk_ctf_text_buffer *out, const struct wmk_type *elem, bool text, unsigned depth)
{
	struct wmk_field member = { .name = "value" };

	if (!elem)
		return wmk_error(-EINVAL, "an array without an element type");
	if (text && (elem->kind != WMK_TYPE_INT || elem->width != 8))
		return wmk_error(-EINVAL, "text of elements that are not bytes");
	if (is_simple(elem))
		return put_simple(out, elem, text, depth);
	member.type = *elem;
	return put_struct(out, &member, 1, depth);
}

static int put_sequence(struct wmk_ctf_text_buffer *out, const struct wmk_type *type, const char *name,
			const char *ident, struct scope *scope, unsigned depth)
{
	static const struct wmk_type byte = { .kind = WMK_TYPE_INT, .width = 8, .base = 16 };
	const struct wmk_type *elem = type->kind == WMK_TYPE_BLOB ? &byte : type->elem;
	const char *length = scope_add(scope, "__", name, "_length");
	int err;

	wmk_ctf_put(out, "integer { size = 32; align = 8; signed = false; } %s;\n", length);
	wmk_ctf_put_indent(out, depth);
	err = put_element(out, elem, type->is_text, depth);
	wmk_ctf_put(out, " %s[%s];", ident, length);
	return err;
}

static int put_optional(struct wmk_ctf_text_buffer *out, const struct wmk_type *type, const char *name,
			const char *ident, struct scope *scope, unsigned depth)
{
	const char *present = scope_add(scope, "__", name, "_present");
	int err;

	wmk_ctf_put(
		out,
		"enum : integer { size = 8; align = 8; signed = false; } { \"none\" = 0, \"some\" = 1 ... 255 } %s;\n",
		present);
	wmk_ctf_put_indent(out, depth);
	wmk_ctf_put(out, "variant <%s> {\n", present);
	wmk_ctf_put_indent(out, depth + 1);
	wmk_ctf_put(out, "struct { } none;\n");
	wmk_ctf_put_indent(out, depth + 1);
	err = put_element(out, type->elem, false, depth + 1);
	wmk_ctf_put(out, " some;\n");
	wmk_ctf_put_indent(out, depth);
	wmk_ctf_put(out, "} %s;", ident);
	return err;
}

static int put_field(struct wmk_ctf_text_buffer *out, const struct wmk_type *type, const char *name, const char *ident,
		     struct scope *scope, unsigned depth)
{
	int err;

	if (depth > WMK_CTF_DEPTH_MAX)
		return wmk_error(-E2BIG, "more than %d levels of nested types", WMK_CTF_DEPTH_MAX);
	wmk_ctf_put_indent(out, depth);
	switch (type->kind) {
	case WMK_TYPE_ARRAY:
		err = put_element(out, type->elem, type->is_text, depth);
		wmk_ctf_put(out, " %s[%" PRIu32 "];", ident, type->count);
		break;
	case WMK_TYPE_SEQUENCE:
	case WMK_TYPE_BLOB:
		err = put_sequence(out, type, name, ident, scope, depth);
		break;
	case WMK_TYPE_OPTIONAL:
		err = put_optional(out, type, name, ident, scope, depth);
		break;
	default:
		err = put_simple(out, type, false, depth);
		wmk_ctf_put(out, " %s;", ident);
	}
	if (err < 0)
		return wmk_error_add(err, "cannot declare field %s", ident + 1);
	wmk_ctf_put(out, "\n");
	return out->err;
}

int wmk_ctf_put_fields(struct wmk_ctf_text_buffer *out, const struct wmk_field *fields, uint32_t n, unsigned depth)
{
	struct scope scope = { .n = 0 };
	uint32_t i;
	int err = 0;

	if (n > WMK_EVENT_MAX || depth > WMK_CTF_DEPTH_MAX)
		return wmk_error(-E2BIG, "%" PRIu32 " fields at level %u", n, depth);
	if (!n)
		return 0;
	/* Each field has a name and at most one helper field. */
	scope.names = calloc(2 * (size_t)n, sizeof(*scope.names));
	if (!scope.names)
		return wmk_error(-ENOMEM, "no memory to name %" PRIu32 " fields", n);
	for (i = 0; i < n; i++)
		scope_add(&scope, "_", fields[i].name, "");
	for (i = 0; i < n && err >= 0; i++)
		err = put_field(out, &fields[i].type, fields[i].name, scope.names[i], &scope, depth);
	free(scope.names);
	return err < 0 ? err : out->err;
}

/* Write comments about properties that TSDL types cannot express: units, media types and names of bits. */
static void put_remarks(struct wmk_ctf_text_buffer *out, const struct wmk_event_class *event)
{
	char words[3 * WMK_NAME_MAX];
	uint32_t i, j;

	for (i = 0; i < event->n_fields; i++) {
		const struct wmk_field *field = &event->fields[i];
		const struct wmk_type *type = &field->type;

		if (field->unit) {
			snprintf(words, sizeof(words), "%.255s: unit %.255s", field->name, field->unit);
			wmk_ctf_comment_text(out, words);
		}
		if (type->kind == WMK_TYPE_BLOB && type->media) {
			snprintf(words, sizeof(words), "%.255s: media type %.255s", field->name, type->media);
			wmk_ctf_comment_text(out, words);
		}
		for (j = 0; type->kind == WMK_TYPE_FLAGS && j < type->count && j < WMK_LABELS_MAX; j++) {
			snprintf(words, sizeof(words), "%.255s: 0x%" PRIx64 " is %.255s", field->name,
				 (uint64_t)type->labels[j].from, wmk_or_empty(type->labels[j].name));
			wmk_ctf_comment_text(out, words);
		}
	}
}

int wmk_ctf_event_text(struct wmk_ctf_text_buffer *out, uint32_t version, uint32_t stream_id, uint32_t event_id,
		       const struct wmk_event_class *event)
{
	char full[WMK_FULL_NAME], uri[WMK_MESSAGE_URI];
	const char *mark = wmk_message_uri(event, uri);
	size_t start = out->len;
	int err;

	if (version == WMK_CTF_2)
		return wmk_ctf2_put_event(out, stream_id, event_id, event);
	wmk_event_full_name(event, full);
	put_remarks(out, event);
	wmk_ctf_put(out, "event {\n");
	wmk_ctf_put_entry(out, "name", full);
	wmk_ctf_put(out, "\tid = %" PRIu32 ";\n\tstream_id = %" PRIu32 ";\n\tloglevel = %u;\n", event_id, stream_id,
		    event->level);
	if (mark)
		wmk_ctf_put_entry(out, "model.emf.uri", mark);
	wmk_ctf_put(out, "\tfields := ");
	err = put_struct(out, event->fields, event->n_fields, 1);
	if (err < 0) {
		wmk_ctf_text_cut(out, start);
		return wmk_error_add(err, "cannot declare event %.80s", full);
	}
	wmk_ctf_put(out, ";\n};\n\n");
	if (out->err)
		wmk_ctf_text_cut(out, start);
	return out->err;
}
