/* SPDX-License-Identifier: MIT */
/*
 * codec.c - event classes as bytes, between an application and the session daemon.
 *
 *     class  = u8 version, u8 kind, u8 level, u8 0, u32 line, text provider, name, file, function, format,
 *              u16 fields, field...
 *     field  = text name, text unit, type
 *     type   = u8 kind, width, flags (1 signed, 2 text), order, base,
 *              then by kind: [u32 count] [type elem] [labels] [fields] [text media]
 *     label  = text name, s64 from, s64 to
 *     text   = u16 length (0xffff: no text), bytes without a NUL
 *
 * Little-endian, no padding. Each event class has exactly one encoding.
 */
#include "base/error.h"
#include "schema/scratch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CODEC_VERSION 1
#define NO_TEXT 0xffffu

enum { FLAG_SIGNED = 1, FLAG_TEXT = 2 };

/* ── encode: count all bytes, write those that fit ───────────────────────────────────────────────────── */

struct encoder {
	unsigned char *buf;
	size_t size, len;
};

static void put(struct encoder *out, const void *data, size_t len)
{
	if (len && out->len <= out->size && len <= out->size - out->len)
		memcpy(out->buf + out->len, data, len);
	out->len += len;
}

static void put_u8(struct encoder *out, uint8_t v) { put(out, &v, sizeof(v)); }
static void put_u16(struct encoder *out, uint16_t v) { put(out, &v, sizeof(v)); }
static void put_u32(struct encoder *out, uint32_t v) { put(out, &v, sizeof(v)); }
static void put_s64(struct encoder *out, int64_t v) { put(out, &v, sizeof(v)); }

static void put_text(struct encoder *out, const char *s)
{
	size_t len = s ? strnlen(s, NO_TEXT - 1) : NO_TEXT;

	put_u16(out, (uint16_t)len);
	if (s)
		put(out, s, len);
}

static void put_fields(struct encoder *out, const struct wmk_field *fields, size_t n);

static void put_type(struct encoder *out, const struct wmk_type *type)
{
	put_u8(out, type->kind);
	put_u8(out, type->width);
	put_u8(out, (uint8_t)((type->is_signed ? FLAG_SIGNED : 0) | (type->is_text ? FLAG_TEXT : 0)));
	put_u8(out, type->order);
	put_u8(out, type->base);
	switch (type->kind) {
	case WMK_TYPE_ENUM:
	case WMK_TYPE_FLAGS:
		put_u32(out, type->count);
		for (uint32_t i = 0; i < type->count; i++) {
			put_text(out, type->labels[i].name);
			put_s64(out, type->labels[i].from);
			put_s64(out, type->labels[i].to);
		}
		break;
	case WMK_TYPE_ARRAY:
		put_u32(out, type->count);
		put_type(out, type->elem);
		break;
	case WMK_TYPE_SEQUENCE:
	case WMK_TYPE_OPTIONAL:
		put_type(out, type->elem);
		break;
	case WMK_TYPE_STRUCT:
		put_u32(out, type->count);
		put_fields(out, type->members, type->count);
		break;
	case WMK_TYPE_BLOB:
		put_text(out, type->media);
		break;
	default:
		break;
	}
}

static void put_fields(struct encoder *out, const struct wmk_field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		put_text(out, fields[i].name);
		put_text(out, fields[i].unit);
		put_type(out, &fields[i].type);
	}
}

long wmk_event_encode(const struct wmk_event_class *event, void *buf, size_t size, size_t *need)
{
	struct encoder out = { buf, size, 0 };
	char name[WMK_FULL_NAME];

	put_u8(&out, CODEC_VERSION);
	put_u8(&out, event->kind);
	put_u8(&out, event->level);
	put_u8(&out, 0);
	put_u32(&out, event->line);
	put_text(&out, event->provider);
	put_text(&out, event->name);
	put_text(&out, event->file);
	put_text(&out, event->function);
	put_text(&out, event->format);
	put_u16(&out, event->n_fields);
	put_fields(&out, event->fields, event->n_fields);
	if (need)
		*need = out.len;
	if (out.len > WMK_EVENT_MAX)
		return wmk_error(-E2BIG, "the description of event %s has %zu bytes: at most %u are allowed",
				 wmk_event_full_name(event, name), out.len, WMK_EVENT_MAX);
	return out.len <= size ? (long)out.len : -ENOSPC;
}

/* ── decode ──────────────────────────────────────────────────────────────────────────────────────────── */

struct decoder {
	const unsigned char *at, *end;
	struct wmk_scratch *scratch;
	int err;                 /* first error; after an error, every value reads as 0 */
};

static void fail(struct decoder *in, int err, const char *what)
{
	if (!in->err)
		in->err = err == -ENOMEM ? err : wmk_error(err, "%s", what);
}

static void take(struct decoder *in, void *to, size_t len)
{
	if ((size_t)(in->end - in->at) < len)
		fail(in, -EPROTO, "the description of an event is truncated");
	if (in->err) {
		memset(to, 0, len);
		return;
	}
	memcpy(to, in->at, len);
	in->at += len;
}

static uint8_t take_u8(struct decoder *in) { uint8_t v; take(in, &v, sizeof(v)); return v; }
static uint16_t take_u16(struct decoder *in) { uint16_t v; take(in, &v, sizeof(v)); return v; }
static uint32_t take_u32(struct decoder *in) { uint32_t v; take(in, &v, sizeof(v)); return v; }
static int64_t take_s64(struct decoder *in) { int64_t v; take(in, &v, sizeof(v)); return v; }

static const char *take_text(struct decoder *in)
{
	size_t len = take_u16(in);

	if (in->err || len == NO_TEXT)
		return NULL;
	if ((size_t)(in->end - in->at) < len || memchr(in->at, '\0', len)) {
		fail(in, -EPROTO, "the description of an event has a text that is truncated or contains a NUL");
		return NULL;
	}
	char *text = wmk_scratch_text(in->scratch, (const char *)in->at, len);
	if (!text)
		fail(in, -ENOMEM, NULL);
	in->at += len;
	return text;
}

/*
 * Allocate `n` objects of `size` bytes. Each object takes at least `least` bytes of the encoded input. If the rest of
 * the input is too short for `n` objects, the function fails without an allocation.
 */
static void *take_room(struct decoder *in, size_t n, size_t size, size_t least)
{
	void *room = NULL;

	if (!in->err && n > (size_t)(in->end - in->at) / least)
		fail(in, -EPROTO, "the description of an event has a count larger than its content");
#ifdef WMK_PLANTED_BUG
	size -= n == 5;          /* a planted bug that the fuzzer must find */
#endif
	if (!in->err && !(room = wmk_scratch_alloc(in->scratch, n * size)))
		fail(in, -ENOMEM, NULL);
	return room;
}

static struct wmk_field *take_fields(struct decoder *in, size_t n, unsigned depth);
static void take_type(struct decoder *in, struct wmk_type *type, unsigned depth);

static void take_labels(struct decoder *in, struct wmk_type *type)
{
	type->count = take_u32(in);
	struct wmk_label *labels = take_room(in, type->count, sizeof(*labels), 18);

	for (uint32_t i = 0; labels && i < type->count && !in->err; i++) {
		labels[i].name = take_text(in);
		labels[i].from = take_s64(in);
		labels[i].to = take_s64(in);
	}
	type->labels = labels;
}

static void take_elem(struct decoder *in, struct wmk_type *type, unsigned depth)
{
	struct wmk_type *elem = take_room(in, 1, sizeof(*elem), 5);

	if (elem)
		take_type(in, elem, depth + 1);
	type->elem = elem;
}

static void take_type(struct decoder *in, struct wmk_type *type, unsigned depth)
{
	if (depth > WMK_DEPTH_MAX)
		fail(in, -EPROTO, "types are nested too deep");
	type->kind = take_u8(in);
	type->width = take_u8(in);
	uint8_t flags = take_u8(in);
	type->is_signed = flags & FLAG_SIGNED;
	type->is_text = (flags & FLAG_TEXT) != 0;
	type->order = take_u8(in);
	type->base = take_u8(in);
	if (flags & ~(FLAG_SIGNED | FLAG_TEXT))
		fail(in, -EPROTO, "a type has unknown flags");
	if (in->err)
		return;
	switch (type->kind) {
	case WMK_TYPE_ENUM:
	case WMK_TYPE_FLAGS:
		take_labels(in, type);
		break;
	case WMK_TYPE_ARRAY:
		type->count = take_u32(in);
		take_elem(in, type, depth);
		break;
	case WMK_TYPE_SEQUENCE:
	case WMK_TYPE_OPTIONAL:
		take_elem(in, type, depth);
		break;
	case WMK_TYPE_STRUCT:
		type->count = take_u32(in);
		type->members = take_fields(in, type->count, depth + 1);
		break;
	case WMK_TYPE_BLOB:
		type->media = take_text(in);
		break;
	default:
		break;           /* no more bytes; wmk_class_check() rejects an unknown kind */
	}
}

static struct wmk_field *take_fields(struct decoder *in, size_t n, unsigned depth)
{
	struct wmk_field *fields = take_room(in, n, sizeof(*fields), 9);

	for (size_t i = 0; fields && i < n && !in->err; i++) {
		fields[i].name = take_text(in);
		fields[i].unit = take_text(in);
		take_type(in, &fields[i].type, depth);
	}
	return fields;
}

static void take_class(struct decoder *in, struct wmk_event_class *event)
{
	if (take_u8(in) != CODEC_VERSION)
		fail(in, -EPROTO, "the description of an event has an unknown version");
	event->kind = take_u8(in);
	event->level = take_u8(in);
	if (take_u8(in) != 0)
		fail(in, -EPROTO, "the description of an event has unknown flags");
	event->line = take_u32(in);
	event->provider = take_text(in);
	event->name = take_text(in);
	event->file = take_text(in);
	event->function = take_text(in);
	event->format = take_text(in);
	event->n_fields = take_u16(in);
	event->fields = take_fields(in, event->n_fields, 0);
	if (in->at != in->end)
		fail(in, -EPROTO, "the description of an event has extra bytes at its end");
}

int wmk_event_decode(const void *buf, size_t size, struct wmk_event_class **event)
{
	struct wmk_scratch scratch = { NULL };
	struct decoder in = { buf, (const unsigned char *)buf + size, &scratch, 0 };
	struct wmk_event_class draft = { 0 };

	if (size > WMK_EVENT_MAX)
		return wmk_error(-EPROTO, "the description of an event has %zu bytes: at most %u are allowed", size,
				 WMK_EVENT_MAX);
	take_class(&in, &draft);
	if (!in.err)
		in.err = wmk_class_check(&draft);
	if (!in.err)
		in.err = wmk_class_clone(&draft, event);
	wmk_scratch_free(&scratch);
	return in.err;
}
