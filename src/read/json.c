/* SPDX-License-Identifier: MIT */
/*
 * json.c - records as JSON (see json.h): one walk over the packet's context, and one over each record.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "read/json.h"
#include "read/print_inside.h"

struct wmk_json {
	struct wmk_print_text head;    /* of each record, up to its packet's context; that is empty before the first packet */
	struct wmk_print_text packet;
};

/* ── text ────────────────────────────────────────────────────────────────────────────────────────────── */

/* Output, and where in it; NULL when an error has been given. */
struct writer {
	struct wmk_print_text *out;
	char *p;
	bool is_first;             /* of an object or array: no comma before what comes */
};

static void room(struct writer *w, size_t need)
{
	if (w->p)
		w->p = wmk_print_room(w->out, w->p, need);
}

static void put(struct writer *w, const char *s, size_t len)
{
	room(w, len);
	if (w->p)
		w->p = mempcpy(w->p, s, len);
}

static void put_text(struct writer *w, const char *s)
{
	put(w, s, strlen(s));
}

/* Bytes of the character in UTF-8 at `s`; 0: there is none. Overlong forms and surrogates are none (RFC 3629). */
static unsigned utf8(const unsigned char *s, size_t len)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;
	uint32_t c = n < 2 ? s[0] : s[0] & (0x7fu >> n);

	if (!n || n > len)
		return 0;
	for (unsigned i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	return c < least[n] || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff ? 0 : n;
}

/* In quotes. */
static void put_string(struct writer *w, const char *s, size_t len)
{
	put(w, "\"", 1);
	for (size_t i = 0; i < len && w->p;) {
		const unsigned char c = (unsigned char)s[i];
		const unsigned n = utf8((const unsigned char *)s + i, len - i);
		char escape[8];

		room(w, 8);
		if (!n)
			put_text(w, "\xef\xbf\xbd");
		else if (c == '"' || c == '\\')
			put(w, (char[]){ '\\', (char)c }, 2);
		else if (c < 0x20 || c == 0x7f)
			put(w, escape, (size_t)snprintf(escape, sizeof(escape), "\\u%04x", c));
		else
			put(w, s + i, n);
		i += n ? n : 1;
	}
	put(w, "\"", 1);
}

/* A text in UTF-16 or UTF-32. */
static void put_wide(struct writer *w, const char *s, size_t len, unsigned encoding)
{
	uint32_t character;
	size_t n;

	put(w, "\"", 1);
	while ((n = wmk_print_character(s, len, encoding, &character))) {
		char bytes[16];
		char *end = wmk_print_utf8(bytes, character);

		if (character == '"' || character == '\\' || character < 0x20 || character == 0x7f)
			put(w, bytes, (size_t)snprintf(bytes, sizeof(bytes), "\\u%04x", character));
		else
			put(w, bytes, (size_t)(end - bytes));
		s += n;
		len -= n;
	}
	put(w, "\"", 1);
}

/* The comma, and the member's name, if it has one. */
static void put_name(struct writer *w, const char *name)
{
	if (!w->is_first)
		put(w, ",", 1);
	w->is_first = false;
	if (!name)
		return;
	put_string(w, name, strlen(name));
	put(w, ":", 1);
}

/* ── values ──────────────────────────────────────────────────────────────────────────────────────────── */

static void put_integer(struct writer *w, const struct wmk_ctf_op *op, uint64_t value)
{
	room(w, WMK_PRINT_NUMBER);
	if (w->p)
		w->p = op->is_signed ? wmk_print_s64(w->p, (int64_t)value) : wmk_print_u64(w->p, value);
}

static void put_real(struct writer *w, double value)
{
	char text[40];

	if (isnan(value))
		put_text(w, "\"NaN\"");
	else if (isinf(value))
		put_text(w, value < 0 ? "\"-Infinity\"" : "\"Infinity\"");
	else
		put(w, text, (size_t)snprintf(text, sizeof(text), "%.17g", value));
}

static void put_enum(struct writer *w, const struct wmk_ctf_op *op, uint64_t value)
{
	const char *label = wmk_ctf_label(op->type, value);

	put_text(w, "{\"label\":");
	if (label)
		put_string(w, label, strlen(label));
	else
		put_text(w, "null");
	put_text(w, ",\"value\":");
	put_integer(w, op, value);
	put(w, "}", 1);
}

static void put_blob(struct writer *w, const char *bytes, size_t len)
{
	put(w, "\"", 1);
	for (size_t i = 0; i < len && w->p; i++) {
		static const char digits[] = "0123456789abcdef";
		const unsigned char byte = (unsigned char)bytes[i];

		put(w, (char[]){ digits[byte >> 4], digits[byte & 15] }, 2);
	}
	put(w, "\"", 1);
}

/* Begins of what has something in it. A variant is what it holds, and so is an optional. */
static void put_begin(struct writer *w, const struct wmk_ctf_item *item)
{
	if (item->op->code == WMK_CTF_STRUCT)
		put(w, "{", 1);
	else if (item->op->code == WMK_CTF_ARRAY)
		put(w, "[", 1);
	else if (item->op->code == WMK_CTF_OPTIONAL && !item->value.u)
		put_text(w, "null");
	w->is_first = true;
}

static void put_end(struct writer *w, const struct wmk_ctf_item *item)
{
	if (item->op->code == WMK_CTF_STRUCT)
		put(w, "}", 1);
	else if (item->op->code == WMK_CTF_ARRAY)
		put(w, "]", 1);
	w->is_first = false;
}

static void put_value(struct writer *w, const struct wmk_ctf_item *item)
{
	const struct wmk_ctf_op *op = item->op;

	switch (op->code) {
	case WMK_CTF_INT:
	case WMK_CTF_FLAGS:
		put_integer(w, op, item->value.u);
		break;
	case WMK_CTF_BOOL:
		put_text(w, item->value.u ? "true" : "false");
		break;
	case WMK_CTF_FLOAT:
		put_real(w, item->value.f);
		break;
	case WMK_CTF_ENUM:
		put_enum(w, op, item->value.u);
		break;
	case WMK_CTF_STRING:
	case WMK_CTF_TEXT:
		if (op->type->encoding == WMK_ENCODING_UTF8)
			put_string(w, item->text, item->len);
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

/* `,"name":{...}` for a structure that there is. */
static int put_program(struct writer *w, struct wmk_ctf_walk *walk, const struct wmk_ctf_program *program, const char *name)
{
	struct wmk_ctf_item item;
	bool in_variant = false;    /* of the item before */

	if (!program->n_ops)
		return 0;
	wmk_ctf_walk_enter(walk, program);
	while (wmk_ctf_next(walk, &item)) {
		if (item.is_end) {
			put_end(w, &item);
			continue;
		}
		/* What has told its meaning to the reader: sizes, times, counts. */
		if (item.op->role && item.op->role != WMK_ROLE_CPU && item.op->code <= WMK_CTF_ENUM)
			continue;
		/* The option of a variant has the variant's name, which stands there. */
		if (item.op == program->ops)
			put_name(w, name);
		else if (!in_variant)
			put_name(w, item.op->name);
		in_variant = item.op->code == WMK_CTF_VARIANT || (item.op->code == WMK_CTF_OPTIONAL && item.value.u);
		put_value(w, &item);
		if (item.op->code < WMK_CTF_STRUCT)
			w->is_first = false;
	}
	return walk->err;
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

static int end_writer(const struct writer *w, int err)
{
	if (err < 0)
		return err;
	if (!w->p)
		return wmk_print_error();
	w->out->len = (size_t)(w->p - w->out->text);
	return 0;
}

static struct writer begin_writer(struct wmk_print_text *out)
{
	return (struct writer){ .out = out, .p = wmk_print_begin(out, 64), .is_first = true };
}

int wmk_json_create(const struct wmk_read_stream *stream, struct wmk_json **json)
{
	struct wmk_json *made = calloc(1, sizeof(*made));
	struct writer w;
	int err;

	if (!made)
		return wmk_error(-ENOMEM, "no memory for records as JSON");
	w = begin_writer(&made->head);
	put_name(&w, "trace");
	put_string(&w, stream->trace->name, strlen(stream->trace->name));
	put_name(&w, "stream");
	put_string(&w, stream->file, strlen(stream->file));
	err = end_writer(&w, 0);
	if (err < 0) {
		wmk_json_free(made);
		return err;
	}
	*json = made;
	return 0;
}

void wmk_json_free(struct wmk_json *json)
{
	if (!json)
		return;
	wmk_print_text_free(&json->head);
	wmk_print_text_free(&json->packet);
	free(json);
}

int wmk_json_packet(struct wmk_json *json, struct wmk_read_stream *stream)
{
	struct wmk_ctf_walk *walk = &stream->record.walk;
	struct writer w;

	json->packet.len = 0;
	walk->at = stream->packet.context_at;
	w = begin_writer(&json->packet);
	w.is_first = false;
	return end_writer(&w, put_program(&w, walk, &stream->decoder->packet_context, "packet"));
}

/* Seconds and nanoseconds, as a string. */
static void put_time(struct writer *w, int64_t ns)
{
	const uint64_t magnitude = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	char text[48];

	put_name(w, "time");
	put(w, text, (size_t)snprintf(text, sizeof(text), "\"%s%" PRIu64 ".%09" PRIu64 "\"", ns < 0 ? "-" : "", magnitude / 1000000000, magnitude % 1000000000));
}

int wmk_json_record(const struct wmk_json *json, struct wmk_read_stream *stream, struct wmk_print_text *out)
{
	const struct wmk_ctf_event_decoder *event = stream->record.event;
	struct wmk_ctf_walk *walk = &stream->record.walk;
	struct writer w = begin_writer(out);
	int err;

	walk->in = stream->bytes;
	put(&w, "{", 1);
	if (stream->decoder->class->clock)
		put_time(&w, stream->ns);
	put_name(&w, NULL);
	put(&w, json->head.text, json->head.len);
	if (event->class->name) {
		put_name(&w, "event");
		put_string(&w, event->class->name, strlen(event->class->name));
	}
	if (event->class->level >= 0) {
		put_name(&w, "level");
		put_integer(&w, &(struct wmk_ctf_op){ .is_signed = 1 }, (uint64_t)event->class->level);
	}
	put(&w, json->packet.text ? json->packet.text : "", json->packet.len);
	walk->at = stream->record.common_at;
	err = put_program(&w, walk, &stream->decoder->event_context, "context");
	walk->at = stream->record.context_at;
	if (err >= 0)
		err = put_program(&w, walk, &event->context, "event_context");
	walk->at = stream->record.payload_at;
	if (err >= 0)
		err = put_program(&w, walk, &event->payload, "fields");
	put(&w, "}\n", 2);
	return end_writer(&w, err);
}
