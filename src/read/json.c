/* SPDX-License-Identifier: MIT */
/*
 * json.c - export records as JSON (see json.h): one walk over the packet's context, and one over each record.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_text.h"
#include "ctf/wide_number.h"
#include "read/json.h"
#include "read/json_writer.h"
#include "read/message.h"

struct wmk_json {
	/* the beginning of each record, up to the packet's context; empty before the first packet */
	struct wmk_print_text head;
	struct wmk_print_text packet, message;
};

/* ── text ────────────────────────────────────────────────────────────────────────────────────────────── */

static void room(struct wmk_json_writer *w, size_t need)
{
	if (w->p)
		w->p = wmk_print_room(w->out, w->p, need);
}

void wmk_json_put(struct wmk_json_writer *w, const char *s, size_t len)
{
	room(w, len);
	if (w->p)
		w->p = mempcpy(w->p, s, len);
}

void wmk_json_put_text(struct wmk_json_writer *w, const char *s)
{
	wmk_json_put(w, s, strlen(s));
}

/* Write a text with quotes. */
void wmk_json_put_string(struct wmk_json_writer *w, const char *s, size_t len)
{
	struct wmk_json_piece piece;

	wmk_json_put(w, "\"", 1);
	for (size_t i = 0; i < len && w->p;) {
		i += wmk_json_piece(s + i, len - i, &piece);
		wmk_json_put(w, piece.bytes, piece.n);
	}
	wmk_json_put(w, "\"", 1);
}

/* Write a text that is in UTF-16 or UTF-32 in the record. */
static void put_wide(struct wmk_json_writer *w, const char *s, size_t len, unsigned encoding)
{
	uint32_t character;
	size_t n;

	wmk_json_put(w, "\"", 1);
	while ((n = wmk_print_character(s, len, encoding, &character))) {
		struct wmk_json_piece piece;

		if (wmk_json_is_escaped(character)) {
			wmk_json_escape(&piece, character);
		} else {
			piece.bytes = piece.escape;
			piece.n = (size_t)(wmk_print_encode(piece.escape, character) - piece.escape);
		}
		wmk_json_put(w, piece.bytes, piece.n);
		s += n;
		len -= n;
	}
	wmk_json_put(w, "\"", 1);
}

/* Write a comma, and the name of the member if the member has a name. */
void wmk_json_put_name(struct wmk_json_writer *w, const char *name)
{
	if (!w->is_first)
		wmk_json_put(w, ",", 1);
	w->is_first = false;
	if (!name)
		return;
	wmk_json_put_string(w, name, strlen(name));
	wmk_json_put(w, ":", 1);
}

/* ── values ──────────────────────────────────────────────────────────────────────────────────────────── */

/* Write all digits, even if some JSON readers do not support numbers of this size. */
void wmk_json_put_integer(struct wmk_json_writer *w, const struct wmk_ctf_item *item)
{
	char digits[WMK_CTF_WIDE_DIGITS];

	if (item->is_wide)
		wmk_json_put(w, digits, wmk_ctf_wide_digits(item, 10, digits));
	else
		wmk_json_put(w, digits,
			     (size_t)((item->op->is_signed ? wmk_print_s64(digits, item->value.i)
							   : wmk_print_u64(digits, item->value.u)) -
				      digits));
}

static void put_real(struct wmk_json_writer *w, double value)
{
	char text[40];

	if (isnan(value))
		wmk_json_put_text(w, "\"NaN\"");
	else if (isinf(value))
		wmk_json_put_text(w, value < 0 ? "\"-Infinity\"" : "\"Infinity\"");
	else
		wmk_json_put(w, text, (size_t)snprintf(text, sizeof(text), "%.17g", value));
}

static void put_enum(struct wmk_json_writer *w, const struct wmk_ctf_item *item)
{
	const char *label = wmk_ctf_label(item);

	wmk_json_put_text(w, "{\"label\":");
	if (label)
		wmk_json_put_string(w, label, strlen(label));
	else
		wmk_json_put_text(w, "null");
	wmk_json_put_text(w, ",\"value\":");
	wmk_json_put_integer(w, item);
	wmk_json_put(w, "}", 1);
}

static void put_blob(struct wmk_json_writer *w, const char *bytes, size_t len)
{
	wmk_json_put(w, "\"", 1);
	for (size_t i = 0; i < len && w->p; i++) {
		static const char digits[] = "0123456789abcdef";
		const unsigned char byte = (unsigned char)bytes[i];

		wmk_json_put(w, (char[]){ digits[byte >> 4], digits[byte & 15] }, 2);
	}
	wmk_json_put(w, "\"", 1);
}

/*
 * Begin a structure or array. The output contains the content of a variant or an optional field in place of the variant
 * or optional field.
 */
static void put_begin(struct wmk_json_writer *w, const struct wmk_ctf_item *item)
{
	if (item->op->code == WMK_CTF_STRUCT)
		wmk_json_put(w, "{", 1);
	else if (item->op->code == WMK_CTF_ARRAY)
		wmk_json_put(w, "[", 1);
	else if (item->op->code == WMK_CTF_OPTIONAL && !item->value.u)
		wmk_json_put_text(w, "null");
	w->is_first = true;
}

static void put_end(struct wmk_json_writer *w, const struct wmk_ctf_item *item)
{
	if (item->op->code == WMK_CTF_STRUCT)
		wmk_json_put(w, "}", 1);
	else if (item->op->code == WMK_CTF_ARRAY)
		wmk_json_put(w, "]", 1);
	w->is_first = false;
}

static void put_value(struct wmk_json_writer *w, const struct wmk_ctf_item *item)
{
	const struct wmk_ctf_op *op = item->op;

	switch (op->code) {
	case WMK_CTF_INT:
	case WMK_CTF_FLAGS:
		wmk_json_put_integer(w, item);
		break;
	case WMK_CTF_BOOL:
		wmk_json_put_text(w, item->value.u ? "true" : "false");
		break;
	case WMK_CTF_FLOAT:
		put_real(w, item->value.f);
		break;
	case WMK_CTF_ENUM:
		put_enum(w, item);
		break;
	case WMK_CTF_STRING:
	case WMK_CTF_TEXT:
		if (op->type->encoding == WMK_ENCODING_UTF8)
			wmk_json_put_string(w, item->text, item->len);
		else
			put_wide(w, item->text, item->len, op->type->encoding);
		break;
	case WMK_CTF_BLOB:
		put_blob(w, item->text, item->len);
		break;
	default:
		put_begin(w, item);
	}
}

void wmk_json_put_item(struct wmk_json_writer *w, const struct wmk_ctf_item *item, const char *name)
{
	if (item->is_end) {
		put_end(w, item);
		return;
	}
	/*
	 * The writer has already written the name of the variant or optional field, so the content gets no name.
	 */
	if (!w->in_variant)
		wmk_json_put_name(w, name);
	w->in_variant = item->op->code == WMK_CTF_VARIANT || (item->op->code == WMK_CTF_OPTIONAL && item->value.u);
	put_value(w, item);
	if (item->op->code < WMK_CTF_STRUCT)
		w->is_first = false;
}

int wmk_json_put_part(struct wmk_json_writer *w, struct wmk_read_stream *stream, unsigned part)
{
	static const char *const names[WMK_READ_SCOPES] = { "packet", "context", "event_context", "fields" };
	const struct wmk_ctf_program *program = wmk_read_scope_begin(stream, part);
	struct wmk_ctf_walk *walk = &stream->record.walk;
	struct wmk_ctf_item item;

	if (!program->n_ops)
		return 0;
	w->in_variant = false;
	wmk_ctf_walk_enter(walk, program);
	while (wmk_ctf_next(walk, &item)) {
		/*
		 * Omit fields that have a role other than the CPU, such as sizes, times and counts. The option of a
		 * variant is never omitted, because the writer has already written the variant's name.
		 */
		if (item.is_end || w->in_variant || !wmk_read_is_interpreted(item.op))
			wmk_json_put_item(w, &item, item.op == program->ops ? names[part] : item.op->name);
	}
	return walk->err;
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_json_end(const struct wmk_json_writer *w, int err)
{
	if (err < 0)
		return err;
	if (!w->p)
		return wmk_print_error();
	w->out->len = (size_t)(w->p - w->out->text);
	return 0;
}

struct wmk_json_writer wmk_json_begin(struct wmk_print_text *out)
{
	return (struct wmk_json_writer){ .out = out, .p = wmk_print_begin(out, 64), .is_first = true };
}

static void json_stream_free(void *state)
{
	struct wmk_json *json = state;

	if (!json)
		return;
	wmk_print_text_free(&json->head);
	wmk_print_text_free(&json->packet);
	wmk_print_text_free(&json->message);
	free(json);
}

static int json_stream(void *whole, const struct wmk_read_stream *stream, void **state)
{
	struct wmk_json *made = calloc(1, sizeof(*made));
	struct wmk_json_writer w;
	int err;

	(void)whole;
	if (!made)
		return wmk_error(-ENOMEM, "no memory for records as JSON");
	w = wmk_json_begin(&made->head);
	if (stream->trace->has_hosts && stream->trace->host) {
		wmk_json_put_name(&w, "host");
		wmk_json_put_string(&w, stream->trace->host, strlen(stream->trace->host));
	}
	wmk_json_put_name(&w, "trace");
	wmk_json_put_string(&w, stream->trace->name, strlen(stream->trace->name));
	wmk_json_put_name(&w, "stream");
	wmk_json_put_string(&w, stream->name, strlen(stream->name));
	err = wmk_json_end(&w, 0);
	if (err < 0) {
		json_stream_free(made);
		return err;
	}
	*state = made;
	return 0;
}

int wmk_json_packet(struct wmk_print_text *text, struct wmk_read_stream *stream)
{
	struct wmk_json_writer w;

	text->len = 0;
	w = wmk_json_begin(text);
	w.is_first = false;
	return wmk_json_end(&w, wmk_json_put_part(&w, stream, WMK_READ_OF_PACKET));
}

static int json_packet(void *state, struct wmk_read_stream *stream)
{
	return wmk_json_packet(&((struct wmk_json *)state)->packet, stream);
}

/* Write the time as a string with seconds and nanoseconds. */
static void put_time(struct wmk_json_writer *w, int64_t ns)
{
	const uint64_t magnitude = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

	wmk_json_put_name(w, "time");
	room(w, 2 * WMK_PRINT_NUMBER);
	if (!w->p)
		return;
	*w->p++ = '"';
	if (ns < 0)
		*w->p++ = '-';
	w->p = wmk_print_u64(w->p, magnitude / 1000000000);
	*w->p++ = '.';
	w->p = wmk_print_wide_u64(w->p, magnitude % 1000000000, 9);
	*w->p++ = '"';
}

static void put_uncertainty(struct wmk_json_writer *w, const struct wmk_read_record_uncertainty *is)
{
	char text[48];

	if (!is->is_set)
		return;
	if (is->has_number)
		wmk_json_put_name(w, "uncertainty");
	if (is->has_number && is->ns == WMK_READ_CLOCK_UNKNOWN) {
		wmk_json_put_text(w, "null");
	} else if (is->has_number) {
		snprintf(text, sizeof(text), "\"%" PRIu64 ".%09" PRIu64 "\"", is->ns / 1000000000, is->ns % 1000000000);
		wmk_json_put_text(w, text);
	}
	wmk_json_put_name(w, "order_unknown");
	wmk_json_put_text(w, is->is_order_unknown ? "true" : "false");
}

static int json_record(void *state, struct wmk_read_stream *stream, struct wmk_print_text *out)
{
	struct wmk_json *json = state;
	const struct wmk_ctf_event_decoder *event = stream->record.event;
	struct wmk_json_writer w = wmk_json_begin(out);
	char level[WMK_PRINT_NUMBER];
	int err = wmk_read_message(&stream->bytes, &stream->record, &json->message);

	wmk_json_put(&w, "{", 1);
	if (wmk_read_has_time(stream)) {
		put_time(&w, wmk_read_real_ns(stream));
		put_uncertainty(&w, &stream->uncertainty);
	} else if (stream->decoder->class->clock) {
		wmk_json_put_name(&w, "time");
		wmk_json_put_text(&w, "null");
	}
	wmk_json_put_name(&w, NULL);
	wmk_json_put(&w, json->head.text, json->head.len);
	if (event->class->name) {
		wmk_json_put_name(&w, "event");
		wmk_json_put_string(&w, event->class->name, strlen(event->class->name));
	}
	if (event->class->level >= 0) {
		wmk_json_put_name(&w, "level");
		wmk_json_put(&w, level, (size_t)(wmk_print_s64(level, event->class->level) - level));
	}
	if (err > 0) {
		wmk_json_put_name(&w, "message");
		wmk_json_put_string(&w, wmk_or_empty(json->message.text), json->message.len);
	}
	wmk_json_put(&w, wmk_or_empty(json->packet.text), json->packet.len);
	for (unsigned part = WMK_READ_COMMON; part < WMK_READ_SCOPES && err >= 0; part++)
		err = wmk_json_put_part(&w, stream, part);
	if (stream->symbols && stream->symbols->len)
		wmk_json_put(&w, stream->symbols->text, stream->symbols->len);
	wmk_json_put(&w, "}\n", 2);
	return wmk_json_end(&w, err);
}

const struct wmk_read_exporter wmk_read_json = {
	.name = "json",
	.stream = json_stream,
	.packet = json_packet,
	.record = json_record,
	.stream_free = json_stream_free,
};
