/* SPDX-License-Identifier: MIT */
/*
 * field.c - values of columns from records (see field.h).
 */
#include <math.h>
#include <string.h>

#include "analyze/query/field.h"
#include "base/utf8.h"
#include "ctf/wide_number.h"
#include "read/json_writer.h"

struct wmk_query_place wmk_query_place_find(const struct wmk_query_class *class, unsigned scope, const char *field,
					    unsigned nth)
{
	const struct wmk_ctf_program *program = wmk_read_scope_program(class->stream, class->event, scope);
	const struct wmk_ctf_op *ops = program->ops;
	struct wmk_query_place place = { .scope = scope, .is_constant = true };

	for (uint32_t i = 1; program->n_ops && ops[i].code != WMK_CTF_END; i = ops[i].next) {
		uint64_t bits;

		place.distance = wmk_bits_align(place.distance, ops[i].align);
		if (strcmp(wmk_or_empty(ops[i].name), field) == 0 && nth-- == 0) {
			place.op = i;
			place.is_constant = place.is_constant && ops[i].code < WMK_CTF_STRUCT;
			break;
		}
		bits = wmk_ctf_fixed_bits(ops, i);
		place.is_constant = place.is_constant && bits;
		place.distance += bits;
	}
	return place;
}

/* ── values ──────────────────────────────────────────────────────────────────────────────────────────────────── */

static void set_text(struct wmk_query_value *value, const char *text, size_t len)
{
	value->kind = WMK_QUERY_TEXT;
	value->text = text;
	value->len = len;
}

static int end_text(struct wmk_json_writer *w, int err, struct wmk_query_value *value)
{
	err = wmk_json_end(w, err);
	if (err >= 0)
		set_text(value, w->out->text, w->out->len);
	return err;
}

/* Replace bytes that are not UTF-8. */
static int take_clean(const char *text, size_t len, struct wmk_print_text *scratch, struct wmk_query_value *value)
{
	struct wmk_json_writer w = wmk_json_begin(scratch);

	for (size_t i = 0, n; i < len; i += n ? n : 1) {
		n = wmk_utf8_length(text + i, len - i);
		wmk_json_put(&w, n ? text + i : "\xef\xbf\xbd", n ? n : 3);
	}
	return end_text(&w, 0, value);
}

/* Replace bytes that are not UTF-8, and convert UTF-16 and UTF-32. */
static int take_text(const struct wmk_ctf_item *item, struct wmk_print_text *scratch, struct wmk_query_value *value)
{
	const unsigned encoding = item->op->type->encoding;
	struct wmk_json_writer w;
	uint32_t character;
	char bytes[4];
	size_t i = 0, n;

	while (encoding == WMK_ENCODING_UTF8 && i < item->len &&
	       (n = item->text[i] & 0x80 ? wmk_utf8_length(item->text + i, item->len - i) : 1) != 0)
		i += n;
	if (encoding == WMK_ENCODING_UTF8 && i == item->len) {
		set_text(value, item->text, item->len);
		return 0;
	}
	if (encoding == WMK_ENCODING_UTF8)
		return take_clean(item->text, item->len, scratch, value);
	w = wmk_json_begin(scratch);
	for (i = 0; (n = wmk_print_character(item->text + i, item->len - i, encoding, &character)) != 0; i += n)
		wmk_json_put(&w, bytes, (size_t)(wmk_print_encode(bytes, character) - bytes));
	return end_text(&w, 0, value);
}

/* An integer outside the range of SQLite's integers becomes a text of digits. */
static int take_integer(const struct wmk_ctf_item *item, struct wmk_print_text *scratch, struct wmk_query_value *value)
{
	struct wmk_json_writer w;

	if (!item->is_wide && (item->op->is_signed || item->value.i >= 0)) {
		value->kind = WMK_QUERY_INTEGER;
		value->integer = item->value.i;
		return 0;
	}
	w = wmk_json_begin(scratch);
	wmk_json_put_integer(&w, item);
	return end_text(&w, 0, value);
}

static int take_scalar(const struct wmk_ctf_item *item, bool number, struct wmk_print_text *scratch,
		       struct wmk_query_value *value)
{
	const struct wmk_ctf_op *op = item->op;
	const char *label = op->code == WMK_CTF_ENUM && !number ? wmk_ctf_label(item) : NULL;

	if (label) {
		/* (labels are valid as long as the metadata; a label that is not UTF-8 is copied) */
		if (!wmk_utf8_is(label))
			return take_clean(label, strlen(label), scratch, value);
		*value = wmk_query_lasting(label);
		return 0;
	}
	switch (op->code) {
	case WMK_CTF_BOOL:
		*value = wmk_query_integer(item->value.u != 0);
		return 0;
	case WMK_CTF_FLOAT:
		if (!isnan(item->value.f))
			*value = (struct wmk_query_value){ .kind = WMK_QUERY_REAL, .real = item->value.f };
		return 0;
	case WMK_CTF_STRING:
	case WMK_CTF_TEXT:
		return take_text(item, scratch, value);
	case WMK_CTF_BLOB:
		*value = (struct wmk_query_value){ .kind = WMK_QUERY_BYTES, .text = item->text, .len = item->len };
		return 0;
	default:
		return take_integer(item, scratch, value);
	}
}

/* Convert a structure or an array to JSON; `item` is its first item. */
static int take_container(struct wmk_ctf_walk *walk, struct wmk_ctf_item *item, struct wmk_print_text *scratch,
			  struct wmk_query_value *value)
{
	struct wmk_json_writer w = wmk_json_begin(scratch);
	unsigned depth = 0;

	w.in_variant = true;           /* the label is in this column, not the number */
	do {
		wmk_json_put_item(&w, item, item->op->name);
		depth += item->op->code >= WMK_CTF_STRUCT && !item->is_end;
		depth -= item->is_end;
	} while (depth && wmk_ctf_next(walk, item));
	return end_text(&w, walk->err, value);
}

int wmk_query_place_value(const struct wmk_query_place *place, struct wmk_read_stream *stream, bool number,
			  struct wmk_print_text *scratch, struct wmk_query_value *value)
{
	const struct wmk_ctf_program *program;
	struct wmk_ctf_walk *walk = &stream->record.walk;
	struct wmk_ctf_item item;
	bool is_there;

	*value = (struct wmk_query_value){ .kind = WMK_QUERY_NULL };
	if (!place->op)
		return 0;
	scratch->len = 0;
	program = wmk_read_scope_begin(stream, place->scope);
	wmk_ctf_walk_enter(walk, program);
	if (place->is_constant) {
		walk->at = wmk_bits_align(walk->at, program->ops->align) + place->distance;
		walk->op = place->op;
		is_there = wmk_ctf_next(walk, &item);
	} else {
		while ((is_there = wmk_ctf_next(walk, &item)) && item.op != &program->ops[place->op])
			;
	}
	while (is_there && (item.op->code == WMK_CTF_VARIANT || item.op->code == WMK_CTF_OPTIONAL)) {
		if (item.is_end || (item.op->code == WMK_CTF_OPTIONAL && !item.value.u))
			return 0;
		is_there = wmk_ctf_next(walk, &item);
	}
	if (!is_there)
		return walk->err;
	if (item.op->code >= WMK_CTF_STRUCT)
		return take_container(walk, &item, scratch, value);
	return take_scalar(&item, number, scratch, value);
}

/* ── all fields ──────────────────────────────────────────────────────────────────────────────────────────────── */

/* Write the members of one scope (for example the payload) as members of the JSON object. */
static int put_members(struct wmk_json_writer *w, struct wmk_read_stream *stream, unsigned scope)
{
	const struct wmk_ctf_program *program = wmk_read_scope_begin(stream, scope);
	struct wmk_ctf_walk *walk = &stream->record.walk;
	struct wmk_ctf_item item;

	if (!program->n_ops)
		return 0;
	w->in_variant = false;
	wmk_ctf_walk_enter(walk, program);
	while (wmk_ctf_next(walk, &item))
		if (item.op != program->ops && (item.is_end || w->in_variant || !wmk_read_is_interpreted(item.op)))
			wmk_json_put_item(w, &item, item.op->name);
	return walk->err;
}

int wmk_query_fields_value(struct wmk_read_stream *stream, bool context, struct wmk_print_text *scratch,
			   struct wmk_query_value *value)
{
	struct wmk_json_writer w;
	int err;

	*value = (struct wmk_query_value){ .kind = WMK_QUERY_NULL };
	scratch->len = 0;
	w = wmk_json_begin(scratch);
	wmk_json_put(&w, "{", 1);
	err = put_members(&w, stream, context ? WMK_READ_COMMON : WMK_READ_PAYLOAD);
	if (err >= 0 && context)
		err = put_members(&w, stream, WMK_READ_CONTEXT);
	wmk_json_put(&w, "}", 1);
	return end_text(&w, err, value);
}
