/* SPDX-License-Identifier: MIT */
/*
 * print.c - format records as text (see print.h): the prepared texts of a class, with the values of a record between
 * them.
 *
 * `p` is the position in the text where the next byte is written. out->len changes only when the line is complete, so a
 * failed line leaves nothing in `out`.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "ctf/wide_number.h"
#include "read/message.h"
#include "read/print_state.h"

#define PART 4096u                 /* bytes of a string that are formatted in one step */

/* ── values ──────────────────────────────────────────────────────────────────────────────────────────── */

static inline char *put_number(char *p, const struct wmk_print_op *op, unsigned form, uint64_t value)
{
	switch (form) {
	case WMK_PRINT_UNSIGNED:
		return wmk_print_u64(p, value);
	case WMK_PRINT_SIGNED:
		return wmk_print_s64(p, (int64_t)value);
	case WMK_PRINT_HEX:
		return wmk_print_hex(p, value & op->mask);
	case WMK_PRINT_OCTAL:
		return wmk_print_octal(p, value & op->mask);
	default:
		return wmk_print_binary(p, value, op->width);
	}
}

/*
 * Print a number that may need more than 64 bits. Binary digits, and the digits of a negative number, show all bits of
 * the type; a small value may therefore need more than 64 bits.
 */
static char *put_wide(struct wmk_print_text *out, char *p, const struct wmk_print_op *op,
		      const struct wmk_ctf_item *item)
{
	static const unsigned bases[] = { [WMK_PRINT_HEX] = 16, [WMK_PRINT_OCTAL] = 8, [WMK_PRINT_BINARY] = 2 };

	if (!item->is_wide && (op->number < WMK_PRINT_HEX || !item->op->width))
		return put_number(p, op, op->number, item->value.u);
	p = wmk_print_room(out, p, WMK_CTF_WIDE_DIGITS + WMK_PRINT_NUMBER);
	return p ? p + wmk_ctf_wide_digits(item, op->number < WMK_PRINT_HEX ? 10 : bases[op->number], p) : NULL;
}

static char *put_enum(struct wmk_print_text *out, char *p, const struct wmk_print_op *op,
		      const struct wmk_ctf_item *item)
{
	static const char unknown[] = "<unknown>", container[] = " : container = ";

	if (item->is_wide)
		p = mempcpy(p, unknown, sizeof(unknown) - 1);
	else
		p = wmk_print_labels_put(op->labels, out, p, item->value.u);
	if (p)
		p = wmk_print_room(out, p, sizeof(container) + WMK_PRINT_NUMBER + 4);
	if (!p)
		return NULL;
	memcpy(p, container, sizeof(container) - 1);
	p += sizeof(container) - 1;
	if (op->number >= WMK_PRINT_HEX) {
		*p++ = '0';
		if (op->number != WMK_PRINT_OCTAL)
			*p++ = op->number == WMK_PRINT_HEX ? 'x' : 'b';
	}
	p = wmk_ctf_may_be_wide(item->op) ? put_wide(out, p, op, item) : put_number(p, op, op->number, item->value.u);
	if (!p)
		return NULL;
	memcpy(p, " )", 2);
	return p + 2;
}

/* Print in parts, because the function then reserves memory for only one part at a time. */
static char *put_string(struct wmk_print_text *out, char *p, const char *s, size_t len)
{
	do {
		const size_t part = len < PART ? len : PART;

		p = wmk_print_room(out, p, part * WMK_PRINT_ESCAPE + 8);
		if (!p)
			return NULL;
		p = wmk_print_escaped(p, s, part);
		s += part;
		len -= part;
	} while (len);
	*p = '"';
	return p + 1;
}

/* Print a text in UTF-16 or UTF-32. */
static char *put_characters(struct wmk_print_text *out, char *p, const struct wmk_print_op *op, const char *s,
			    size_t len)
{
	uint32_t character;
	size_t taken;

	while ((taken = wmk_print_character(s, len, op->width, &character)) != 0) {
		p = wmk_print_room(out, p, 8);
		if (!p)
			return NULL;
		p = wmk_print_utf8(p, character);
		s += taken;
		len -= taken;
	}
	p = wmk_print_room(out, p, 1);
	if (p)
		*p++ = '"';
	return p;
}

static char *put_blob(struct wmk_print_text *out, char *p, const char *s, size_t len)
{
	for (size_t i = 0; i < len && p; i++) {
		const unsigned char byte = (unsigned char)s[i];

		p = wmk_print_room(out, p, 3);
		if (!p)
			return NULL;
		*p++ = ' ';
		*p++ = "0123456789abcdef"[byte >> 4];
		*p++ = "0123456789abcdef"[byte & 15];
	}
	p = wmk_print_room(out, p, 2);
	if (p)
		memcpy(p, " }", 2);
	return p ? p + 2 : NULL;
}

/* ── structures ──────────────────────────────────────────────────────────────────────────────────────── */

/* The arrays that are open in the walk, each with the index of its next element. */
struct arrays {
	uint64_t next[WMK_CTF_TYPE_DEPTH + 1];
	unsigned depth;
};

static inline char *put_index(char *p, uint64_t index, const struct wmk_print_scope *scope)
{
	if (index)
		*p++ = ',';
	if (index || !scope->is_compact)
		*p++ = ' ';
	if (!scope->names)
		return p;
	*p++ = '[';
	p = wmk_print_u64(p, index);
	memcpy(p, "] = ", 4);
	return p + 4;
}

/* The text for an optional field without a value: the walk has no item between the begin and end items of the field. */
static const char none[] = "<none>";

static inline char *put_end(struct wmk_print_text *out, char *p, const struct wmk_print_op *op, struct arrays *arrays,
			    size_t *none_at)
{
	if (op->form == WMK_PRINT_ARRAY) {
		arrays->depth--;
		memcpy(p, " ]", 2);
		return p + 2;
	}
	if (op->form == WMK_PRINT_OPTIONAL && *none_at == (size_t)(p - out->text)) {
		*none_at = SIZE_MAX;
		return p;
	}
	if (op->form < WMK_PRINT_LABEL) {
		memcpy(p, " }", 2);
		return p + 2;
	}
	if (op->form == WMK_PRINT_LIST) {
		arrays->depth--;
		*p++ = ']';
	} else if (op->form == WMK_PRINT_GROUP) {
		*p++ = '}';
	}
	return p;
}

/* Print a value, or the text at the start of a structure, array, variant or optional field. NULL with a cause chain. */
static inline char *put_value(struct wmk_print_text *out, char *p, const struct wmk_print_op *op,
			      const struct wmk_ctf_item *item, struct arrays *arrays, size_t *none_at)
{
	switch (op->form) {
	case WMK_PRINT_UNSIGNED:
	case WMK_PRINT_SIGNED:
	case WMK_PRINT_HEX:
	case WMK_PRINT_OCTAL:
	case WMK_PRINT_BINARY:
		return put_number(p, op, op->form, item->value.u);
	case WMK_PRINT_STRING:
		return put_string(out, p, item->text, item->len);
	case WMK_PRINT_ENUM:
		return put_enum(out, p, op, item);
	case WMK_PRINT_WIDE:
		return put_wide(out, p, op, item);
	case WMK_PRINT_REAL:
		return wmk_print_real(p, item->value.f);
	case WMK_PRINT_BOOL:
		memcpy(p, item->value.u ? "true\0" : "false", 5);
		return p + (item->value.u ? 4 : 5);
	case WMK_PRINT_CHARACTERS:
		return put_characters(out, p, op, item->text, item->len);
	case WMK_PRINT_BLOB:
		return put_blob(out, p, item->text, item->len);
	case WMK_PRINT_ARRAY:
	case WMK_PRINT_LIST:
		arrays->next[arrays->depth++] = 0;
		return p;
	case WMK_PRINT_LABEL:
		return item->is_wide ? put_wide(out, p, op, item)
				     : wmk_print_labels_put(op->labels, out, p, item->value.u);
	case WMK_PRINT_MAYBE:
		return item->value.u ? p : mempcpy(p, none, sizeof(none) - 1);
	case WMK_PRINT_OPTIONAL:
		if (!item->value.u) {
			memcpy(p, none, sizeof(none) - 1);
			p += sizeof(none) - 1;
			*none_at = (size_t)(p - out->text);
			return p;
		}
		memcpy(p, "{ ", 2);
		return p + 2;
	default:                   /* STRUCT, VARIANT: the brace is part of the text */
		return p;
	}
}

/*
 * Print a whole context or payload, which begins at walk->at. On failure, the result is NULL with a cause chain; for an
 * error of ctf/decode.h, walk->err has the error instead.
 */
static char *put_scope(struct wmk_print_text *out, char *p, const struct wmk_print_scope *scope,
		       struct wmk_ctf_walk *walk)
{
	const struct wmk_ctf_op *const ops = scope->program->ops;
	struct wmk_ctf_pace pace = wmk_ctf_pace_begin(walk, scope->program);
	struct wmk_ctf_item item;
	struct arrays arrays;
	size_t none_at = SIZE_MAX;

	arrays.depth = 0;
	while (wmk_ctf_pace_next(&pace, walk, &item)) {
		const struct wmk_print_op *op = &scope->ops[item.op - ops];

		if (op->form <= WMK_PRINT_TAKEN) {
			if (op->form == WMK_PRINT_TAKEN)
				wmk_print_take(scope->thread, op->number, &item);
			continue;
		}
		/* Make room for the text before the operation, an index, and a value of bounded size. */
		p = wmk_print_room(out, p, op->len + WMK_PRINT_PIECE + 2 * WMK_PRINT_NUMBER);
		if (!p)
			return NULL;
		if (item.is_end) {
			p = put_end(out, p, op, &arrays, &none_at);
			continue;
		}
		if (op->is_element)
			p = put_index(p, arrays.next[arrays.depth - 1]++, scope);
		memcpy(p, op->text, WMK_PRINT_PIECE);
		if (__builtin_expect(op->len > WMK_PRINT_PIECE, 0))
			memcpy(p + WMK_PRINT_PIECE, op->text + WMK_PRINT_PIECE, op->len - WMK_PRINT_PIECE);
		p = put_value(out, p + op->len, op, &item, &arrays, &none_at);
		if (!p)
			return NULL;
	}
	return walk->err < 0 ? NULL : p;
}

static inline bool is_columns(const struct wmk_print_stream *stream)
{
	return stream->trace->print->options.style == WMK_PRINT_COLUMNS;
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

/* Add the trailer to the text of the packet context, before the closing brace if the text has a closing brace. */
static char *put_trailer(struct wmk_print_text *text, char *p, const struct wmk_print_trailer *trailer)
{
	static const char position[] = ", ring_position=", cut[] = ", fields_cut=";

	p = wmk_print_room(text, p, sizeof(position) + sizeof(cut) + 2 * WMK_PRINT_NUMBER);
	if (!p || p == text->text)
		return p;
	p = mempcpy(p - 1, position, sizeof(position) - 1);
	p = wmk_print_u64(p, trailer->ring_position);
	p = mempcpy(p, cut, sizeof(cut) - 1);
	p = wmk_print_u64(p, trailer->fields_cut);
	*p++ = '}';
	return p;
}

int wmk_print_packet(struct wmk_print_stream *stream, struct wmk_ctf_walk *walk,
		     const struct wmk_print_trailer *trailer)
{
	const struct wmk_print_scope *scope = &stream->class->packet_context;
	struct wmk_print_text *text = &stream->packet;
	const uint64_t at = walk->at;
	char *p;

	text->len = 0;
	if (is_columns(stream)) {
		const int err = wmk_print_cpu(stream, walk);

		if (err < 0)
			return wmk_error_add(err, "cannot print a packet's context");
		walk->at = at;
	}
	if (!scope->program) {
		int err = wmk_ctf_skip(walk, &stream->class->decoder->packet_context);

		return err < 0 ? wmk_error_add(err, "cannot print a packet's context") : 0;
	}
	walk->err = 0;
	p = wmk_print_begin(text, 0);
	if (p)
		p = put_scope(text, p, scope, walk);
	if (p && trailer && trailer->is_there)
		p = put_trailer(text, p, trailer);
	if (!p)
		return wmk_error_add(walk->err < 0 ? walk->err : wmk_print_error(), "cannot print a packet's context");
	text->len = (size_t)(p - text->text);
	return 0;
}

/* Get the prepared event class of a record, or NULL with a cause chain. */
static const struct wmk_print_event *event_of(struct wmk_print_stream *stream,
					      const struct wmk_ctf_event_decoder *decoder)
{
	struct wmk_print_class *class = stream->class;
	const size_t i = (size_t)(decoder - class->decoder->events);

	if (__builtin_expect(!class->events[i], 0) &&
	    wmk_print_event_make(stream->trace, class, decoder, &class->events[i]) < 0)
		return NULL;
	return class->events[i];
}

/* Print the context fields and the payload of a record. */
static char *put_scopes(struct wmk_print_text *out, char *p, const struct wmk_print_class *class,
			const struct wmk_print_event *event, struct wmk_ctf_record *record)
{
	struct wmk_ctf_walk *walk = &record->walk;

	if (class->event_context.program) {
		walk->at = record->common_at;
		p = put_scope(out, p, &class->event_context, walk);
	}
	if (p && event->context.program) {
		walk->at = record->context_at;
		p = put_scope(out, p, &event->context, walk);
	}
	if (p && event->payload.program) {
		walk->at = record->payload_at;
		p = put_scope(out, p, &event->payload, walk);
	}
	return p ? wmk_print_room(out, p, 1) : NULL;
}

/* Print the message of a text or a marker, if the event has a message, before the braces of all scopes. */
static char *put_message(struct wmk_print_stream *stream, const struct wmk_ctf_bytes *in, struct wmk_ctf_record *record,
			 struct wmk_print_text *out, char *p)
{
	const struct wmk_print_text *message = &stream->message;
	int got = wmk_read_message(in, record, &stream->message);

	if (got <= 0)
		return got < 0 ? NULL : p;
	p = wmk_print_room(out, p, 1);
	if (!p)
		return NULL;
	*p++ = '"';
	p = put_string(out, p, wmk_or_empty(message->text), message->len);
	p = p ? wmk_print_room(out, p, 2 + stream->packet.len) : NULL;
	return p ? mempcpy(p, ", ", 2) : NULL;
}

/* Append the suffix of the lines, and make room for the newline. */
static char *put_suffix(struct wmk_print_text *out, char *p, const struct wmk_print *print)
{
	const struct wmk_print_text *suffix = print->suffix;

	if (!p || !suffix || !suffix->len)
		return p;
	p = wmk_print_room(out, p, suffix->len + 1);
	return p ? mempcpy(p, suffix->text, suffix->len) : NULL;
}

/*
 * Write a record as a row, in the style with columns. On failure, the result is NULL with a cause chain, or with
 * walk->err set.
 */
static char *put_fields(struct wmk_print_stream *stream, const struct wmk_print_event *event,
			const struct wmk_ctf_bytes *in, struct wmk_ctf_record *record, char *p)
{
	struct wmk_print *print = stream->trace->print;
	struct wmk_print_text *text = &print->columns.text;
	const struct wmk_print_text *message = &stream->message;
	const struct wmk_print_event *shown = event;
	struct wmk_print_event contexts;
	int got = record->event->class->emf_uri ? wmk_read_message(in, record, &stream->message) : 0;

	if (got < 0)
		return NULL;
	if (got > 0) {
		p = wmk_print_room(text, p, 2);
		if (!p)
			return NULL;
		memcpy(p, " \"", 2);
		p = put_string(text, p + 2, wmk_or_empty(message->text), message->len);
		/* The message contains the values of the payload. */
		contexts = *event;
		contexts.payload.program = NULL;
		shown = print->options.all ? event : &contexts;
	}
	p = p ? put_scopes(text, p, stream->class, shown, record) : NULL;
	p = p ? wmk_print_room(text, p, stream->packet.len) : NULL;
	if (p && stream->packet.len)
		p = mempcpy(p, stream->packet.text, stream->packet.len);
	return put_suffix(text, p, print);
}

static int print_row(struct wmk_print_stream *stream, const struct wmk_ctf_bytes *in, struct wmk_ctf_record *record,
		     struct wmk_print_text *out)
{
	const struct wmk_print_event *event = event_of(stream, record->event);
	char *p;

	record->walk.in = *in;
	record->walk.err = 0;
	if (event && event->is_hidden) {
		struct wmk_print *print = stream->trace->print;
		int64_t ns;

		/* (relative times count from the first record, even if it is not shown) */
		if (!print->columns.has_origin && wmk_print_scale_steady(&stream->class->scale, record->time, &ns))
			wmk_print_origin(print, ns);
		print->columns.n_hidden++;
		return 0;
	}
	p = event ? wmk_print_row_begin(stream, record->time) : NULL;
	if (p)
		p = put_fields(stream, event, in, record, p);
	if (__builtin_expect(p != NULL, 1))
		return wmk_print_row_end(stream, event, p, out);
	return wmk_error_add(record->walk.err < 0 ? record->walk.err : wmk_print_error(),
			     "cannot print a record of '%.80s'",
			     record->event->class->name ? record->event->class->name : "<unknown>");
}

int wmk_print_record(struct wmk_print_stream *stream, const struct wmk_ctf_bytes *in, struct wmk_ctf_record *record,
		     struct wmk_print_text *out)
{
	if (is_columns(stream))
		return print_row(stream, in, record, out);

	const struct wmk_print_event *event = event_of(stream, record->event);
	const struct wmk_print_text *packet = &stream->packet;
	struct wmk_print *print = stream->trace->print;
	const struct wmk_print_last last = print->last;
	char *p = NULL;

	record->walk.in = *in;
	record->walk.err = 0;
	if (event)
		p = wmk_print_begin(out, WMK_PRINT_STAMP + event->head.len + packet->len);
	if (p) {
		if (stream->class->scale.is_there)
			p = wmk_print_timestamp(print, p, &stream->class->scale, record->time);
		memcpy(p, event->head.text, event->head.len);
		p += event->head.len;
		if (record->event->class->emf_uri)
			p = put_message(stream, in, record, out, p);
	}
	if (p) {
		if (packet->len)
			memcpy(p, packet->text, packet->len);
		p = put_scopes(out, p + packet->len, stream->class, event, record);
		p = put_suffix(out, p, print);
	}
	if (__builtin_expect(!p, 0)) {
		print->last = last;
		return wmk_error_add(record->walk.err < 0 ? record->walk.err : wmk_print_error(),
				     "cannot print a record of '%.80s'",
				     record->event->class->name ? record->event->class->name : "<unknown>");
	}
	*p++ = '\n';
	out->len = (size_t)(p - out->text);
	return 0;
}

/* ── prints, traces, streams ─────────────────────────────────────────────────────────────────────────── */

int wmk_print_create(const struct wmk_print_options *options, struct wmk_print **made)
{
	static const struct wmk_print_options usual = WMK_PRINT_OPTIONS;
	struct wmk_print *print = calloc(1, sizeof(*print));

	if (!print)
		return wmk_error(-ENOMEM, "no memory to print records");
	print->options = options ? *options : usual;
	wmk_print_timestamp_prepare(print);
	*made = print;
	return 0;
}

void wmk_print_set_suffix(struct wmk_print *print, const struct wmk_print_text *suffix)
{
	print->suffix = suffix;
}

void wmk_print_free(struct wmk_print *print)
{
	if (print)
		wmk_print_columns_free(&print->columns);
	free(print);
}

int wmk_print_trace_add(struct wmk_print *print, const struct wmk_ctf_decoder *decoder, const char *name,
			const char *host, struct wmk_print_trace **made)
{
	struct wmk_print_trace *trace = calloc(1, sizeof(*trace));
	int err;

	if (trace) {
		trace->print = print;
		trace->decoder = decoder;
		trace->name = name ? strdup(name) : NULL;
		trace->classes = calloc(decoder->n_streams ? decoder->n_streams : 1, sizeof(*trace->classes));
	}
	if (!trace || !trace->classes || (name && !trace->name)) {
		wmk_print_trace_free(trace);
		return wmk_error(-ENOMEM, "no memory to print a trace");
	}
	err = wmk_print_trace_columns(trace, host);
	if (err < 0) {
		wmk_print_trace_free(trace);
		return err;
	}
	*made = trace;
	return 0;
}

void wmk_print_trace_points(struct wmk_print_trace *trace, const struct wmk_read_clock_points *points)
{
	trace->points = points;
}

void wmk_print_trace_free(struct wmk_print_trace *trace)
{
	if (!trace)
		return;
	for (uint32_t i = 0; trace->classes && i < trace->decoder->n_streams; i++)
		wmk_print_class_free(&trace->classes[i]);
	free(trace->classes);
	wmk_print_labels_free(&trace->labels);
	wmk_print_text_free(&trace->host);
	wmk_print_text_free(&trace->process);
	free(trace->name);
	free(trace);
}

int wmk_print_stream_add(struct wmk_print_trace *trace, const struct wmk_ctf_stream_decoder *decoder,
			 struct wmk_print_stream **made)
{
	struct wmk_print_class *class = &trace->classes[decoder - trace->decoder->streams];
	struct wmk_print_stream *stream = calloc(1, sizeof(*stream));
	int err = stream ? 0 : wmk_error(-ENOMEM, "no memory to print a stream");

	if (err >= 0 && !class->decoder)
		err = wmk_print_class_make(trace, decoder, class);
	if (err < 0) {
		free(stream);
		return err;
	}
	stream->trace = trace;
	stream->class = class;
	*made = stream;
	return 0;
}

void wmk_print_stream_free(struct wmk_print_stream *stream)
{
	if (!stream)
		return;
	wmk_print_text_free(&stream->packet);
	wmk_print_text_free(&stream->cpu);
	wmk_print_text_free(&stream->message);
	free(stream);
}
