/* SPDX-License-Identifier: MIT */
/*
 * perfetto.c - export records as a Perfetto trace: protocol buffers with the message and field numbers of its published
 * definitions (protos/perfetto/trace).
 *
 *     Trace ── packet ── clock_snapshot        once: times are those of CLOCK_REALTIME, the viewer's default clock
 *                     ├─ track_descriptor      of a process, a thread, a CPU, a counter: before its first event
 *                     └─ track_event           an instant, the begin or the end of a slice, or a counter's value, on
 *                                              its track; fields and contexts are debug annotations
 *
 * Contexts identify the thread of a record (thread_id.h); without such contexts, the record is on the track of its CPU.
 * The length of a message precedes the message, but is known only at its end. So four bytes are reserved for the
 * length, which is encoded with padding.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "ctf/wide_number.h"
#include "read/convert.h"
#include "read/json_writer.h"
#include "read/tracks.h"

/* Field numbers, by their message. */
enum { TRACE_PACKET = 1 };
enum {
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_FLAGS = 13,
	PACKET_TRACK_DESCRIPTOR = 60
};
enum { SNAPSHOT_CLOCK = 1, SNAPSHOT_PRIMARY = 2, CLOCK_ID = 1, CLOCK_TIME = 2 };
enum {
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_TRACK = 11,
	EVENT_CATEGORY = 22,
	EVENT_NAME = 23,
	EVENT_COUNT = 30,
	EVENT_DOUBLE_COUNT = 44
};
enum {
	ANNOTATION_BOOL = 2,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_DOUBLE = 5,
	ANNOTATION_STRING = 6,
	ANNOTATION_NAME = 10,
	ANNOTATION_MEMBER = 11,
	ANNOTATION_ELEMENT = 12
};
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4, TRACK_PARENT = 5, TRACK_COUNTER = 8 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6, THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };

enum {
	TYPE_BEGIN = 1,
	TYPE_END = 2,
	TYPE_INSTANT = 3,
	TYPE_COUNTER = 4,
	CLOCK_REALTIME_ID = 1,
	CLOCK_BOOTTIME_ID = 6,
	FLAG_CLEARED = 1,
	SEQUENCE = 1
};
enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };

/* ── protocol buffers ────────────────────────────────────────────────────────────────────────────────── */

struct proto {
	struct wmk_print_text *out;
	char *p;                   /* NULL after an error */
};

static bool room(struct proto *b, size_t need)
{
	if (b->p)
		b->p = wmk_print_room(b->out, b->p, need);
	return b->p != NULL;
}

static void put_varint(struct proto *b, uint64_t value)
{
	if (!room(b, 10))
		return;
	for (; value >= 0x80; value >>= 7)
		*b->p++ = (char)(value | 0x80);
	*b->p++ = (char)value;
}

static void put_number(struct proto *b, unsigned field, uint64_t value)
{
	put_varint(b, field << 3 | VARINT);
	put_varint(b, value);
}

static void put_double(struct proto *b, unsigned field, double value)
{
	put_varint(b, field << 3 | FIXED64);
	if (room(b, 8))
		b->p = mempcpy(b->p, &value, 8);
}

/* Texts must be UTF-8: U+FFFD replaces other bytes. */
static void put_text(struct proto *b, unsigned field, const char *s, size_t len)
{
	size_t need = 0;

	for (size_t i = 0, n; i < len; i += n ? n : 1) {
		n = wmk_utf8_length(s + i, len - i);
		need += n ? n : 3;
	}
	put_varint(b, field << 3 | BYTES);
	put_varint(b, need);
	room(b, need);
	for (size_t i = 0, n; b->p && i < len; i += n ? n : 1) {
		n = wmk_utf8_length(s + i, len - i);
		b->p = mempcpy(b->p, n ? s + i : "\xef\xbf\xbd", n ? n : 3);
	}
}

/* Bytes as hexadecimal digits, as in JSON. */
static void put_hex(struct proto *b, unsigned field, const char *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	put_varint(b, field << 3 | BYTES);
	put_varint(b, 2 * len);
	room(b, 2 * len);
	for (size_t i = 0; b->p && i < len; i++) {
		*b->p++ = digits[(unsigned char)bytes[i] >> 4];
		*b->p++ = digits[bytes[i] & 15];
	}
}

/* Begin a message. Returns the position of its length, counted from the beginning of the text. */
static size_t begin(struct proto *b, unsigned field)
{
	put_varint(b, field << 3 | BYTES);
	if (!room(b, 4))
		return 0;
	b->p += 4;
	return (size_t)(b->p - b->out->text) - 4;
}

static void end(struct proto *b, size_t at)
{
	if (!b->p)
		return;
	const size_t len = (size_t)(b->p - b->out->text) - at - 4;

	for (unsigned i = 0; i < 4; i++)
		b->out->text[at + i] = (char)((len >> 7 * i & 0x7f) | (i < 3 ? 0x80 : 0));
}

static struct proto open_proto(struct wmk_print_text *out)
{
	return (struct proto){ out, wmk_print_begin(out, 64) };
}

static int close_proto(const struct proto *b, int err)
{
	if (err < 0)
		return err;
	if (!b->p)
		return wmk_print_error();
	b->out->len = (size_t)(b->p - b->out->text);
	return 0;
}

static size_t begin_packet(struct proto *b)
{
	const size_t at = begin(b, TRACE_PACKET);

	put_number(b, PACKET_SEQUENCE, SEQUENCE);
	return at;
}

/* A text in UTF-16 or UTF-32. */
static void put_wide_text(struct proto *b, unsigned field, const struct wmk_ctf_item *item)
{
	const char *at = item->text;
	size_t left = item->len, need = 0, n;
	uint32_t character;
	char bytes[4];

	for (; (n = wmk_print_character(at, left, item->op->type->encoding, &character)) != 0; at += n, left -= n)
		need += (size_t)(wmk_print_encode(bytes, character) - bytes);
	put_varint(b, field << 3 | BYTES);
	put_varint(b, need);
	room(b, need);
	for (at = item->text, left = item->len;
	     b->p && (n = wmk_print_character(at, left, item->op->type->encoding, &character)) != 0; at += n, left -= n)
		b->p = wmk_print_encode(b->p, character);
}

/* ── values ──────────────────────────────────────────────────────────────────────────────────────────── */

static void put_scalar(struct proto *b, const struct wmk_ctf_item *item)
{
	const struct wmk_ctf_op *op = item->op;
	char digits[WMK_CTF_WIDE_DIGITS];
	const char *label;

	switch (op->code) {
	case WMK_CTF_BOOL:
		put_number(b, ANNOTATION_BOOL, item->value.u != 0);
		break;
	case WMK_CTF_FLOAT:
		put_double(b, ANNOTATION_DOUBLE, item->value.f);
		break;
	case WMK_CTF_STRING:
	case WMK_CTF_TEXT:
		if (op->type->encoding != WMK_ENCODING_UTF8) {
			put_wide_text(b, ANNOTATION_STRING, item);
			break;
		}
		put_text(b, ANNOTATION_STRING, item->text, item->len);
		break;
	case WMK_CTF_BLOB:
		put_hex(b, ANNOTATION_STRING, item->text, item->len);
		break;
	case WMK_CTF_ENUM:
		label = wmk_ctf_label(item);
		if (label) {
			put_text(b, ANNOTATION_STRING, label, strlen(label));
			break;
		}
		__attribute__((fallthrough));
	default:
		if (item->is_wide)
			put_text(b, ANNOTATION_STRING, digits, wmk_ctf_wide_digits(item, 10, digits));
		else
			put_number(b, op->is_signed ? ANNOTATION_INT : ANNOTATION_UINT, item->value.u);
		break;
	}
}

/*
 * An open structure or array, or an open choice (variant, optional). A choice is replaced by its content and is no
 * message of its own.
 */
struct annotation_level {
	size_t at;                 /* position of the message's length */
	bool is_message;
	uint8_t code;
};

struct annotations {
	struct proto *b;
	struct annotation_level levels[WMK_CTF_TYPE_DEPTH + 2];
	unsigned depth;
	const char *inherited;     /* the name of the choice that was just opened */
};

static bool is_choice(unsigned code)
{
	return code == WMK_CTF_VARIANT || code == WMK_CTF_OPTIONAL;
}

/* Begin an annotation, with its name if it has one. */
static size_t begin_annotation(struct annotations *a, const char *name)
{
	const struct annotation_level *in = NULL;
	size_t at;

	for (unsigned i = a->depth; i && !in; i--)
		in = a->levels[i - 1].is_message ? &a->levels[i - 1] : NULL;
	at = begin(a->b, !in ? EVENT_ANNOTATION : in->code == WMK_CTF_ARRAY ? ANNOTATION_ELEMENT : ANNOTATION_MEMBER);
	if (name && (!in || in->code != WMK_CTF_ARRAY))
		put_text(a->b, ANNOTATION_NAME, *name ? name : "_", *name ? strlen(name) : 1);
	return at;
}

/* `name`: of the item; NULL: none. If a scope has no name, its root structure is no message. */
static void put_item(struct annotations *a, const struct wmk_ctf_item *item, const char *name, bool is_root)
{
	const bool is_container = item->op->code >= WMK_CTF_STRUCT,
		   is_message = !is_choice(item->op->code) && !(is_root && !name);
	size_t at = 0;

	if (item->is_end) {
		a->inherited = NULL;           /* (an empty optional leaves the name unused) */
		a->depth--;
		if (a->levels[a->depth].is_message)
			end(a->b, a->levels[a->depth].at);
		return;
	}
	if (a->inherited)
		name = a->inherited;
	a->inherited = is_choice(item->op->code) ? name : NULL;
	if (is_message)
		at = begin_annotation(a, name);
	if (is_container) {
		a->levels[a->depth++] = (struct annotation_level){ at, is_message, item->op->code };
	} else {
		put_scalar(a->b, item);
		end(a->b, at);
	}
}

/*
 * Write a scope. Each field of the payload becomes an annotation of the event. Any other scope becomes one annotation
 * with members.
 */
static int put_part(struct proto *b, struct wmk_read_stream *read, unsigned part)
{
	static const char *const names[WMK_READ_SCOPES] = { "$packet", "$context", "$event_context", NULL };
	const struct wmk_ctf_program *program = wmk_read_scope_begin(read, part);
	struct wmk_ctf_walk *walk = &read->record.walk;
	struct annotations a = { .b = b };
	struct wmk_ctf_item item;

	if (!program->n_ops)
		return 0;
	wmk_ctf_walk_enter(walk, program);
	while (wmk_ctf_next(walk, &item)) {
		const bool is_root = item.op == program->ops;

		if (item.is_end || !wmk_read_is_interpreted(item.op))
			put_item(&a, &item, is_root ? names[part] : item.op->name, is_root);
	}
	return walk->err;
}

/* ── tracks ──────────────────────────────────────────────────────────────────────────────────────────── */

#define NAMED (UINT64_C(1) << 63)
enum { OF_PROCESS, OF_THREAD, OF_CPU };

/*
 * Identifiers of processes, threads and CPUs. All identifiers are different, are not 0, and have the highest bit clear.
 */
static uint64_t uuid_of(unsigned kind, int64_t pid, int64_t tid)
{
	return (uint64_t)(kind + 1) << 61 | (uint64_t)((uint32_t)pid & 0x3fffffff) << 31 | ((uint32_t)tid & 0x7fffffff);
}


static void describe(struct proto *b, unsigned kind, const struct wmk_read_thread_id *who, uint64_t uuid)
{
	const size_t packet = begin_packet(b), track = begin(b, PACKET_TRACK_DESCRIPTOR);
	char name[40];
	size_t in;

	put_number(b, TRACK_UUID, uuid);
	if (kind == OF_PROCESS) {
		in = begin(b, TRACK_PROCESS);
		put_number(b, PROCESS_PID, (uint64_t)who->pid);
		if (who->name[0] && who->pid == who->tid)
			put_text(b, PROCESS_NAME, who->name, strlen(who->name));
		end(b, in);
	} else if (kind == OF_THREAD) {
		put_number(b, TRACK_PARENT, uuid_of(OF_PROCESS, who->pid, 0));
		in = begin(b, TRACK_THREAD);
		put_number(b, THREAD_PID, (uint64_t)who->pid);
		put_number(b, THREAD_TID, (uint64_t)who->tid);
		if (who->name[0])
			put_text(b, THREAD_NAME, who->name, strlen(who->name));
		end(b, in);
	} else {
		put_text(b, TRACK_NAME, name, wmk_read_cpu_track_name(who, name, sizeof(name)));
	}
	end(b, track);
	end(b, packet);
}

/*
 * Describe a track when it is new, and again when its name becomes known: some channels have no context for the name.
 */
static int met(struct wmk_read_table *tracks, struct proto *b, unsigned kind, const struct wmk_read_thread_id *who,
	       uint64_t uuid, bool is_named)
{
	int is_new = wmk_read_seen_add(tracks, uuid),
	    has_name = is_named && is_new >= 0 ? wmk_read_seen_add(tracks, uuid | NAMED) : 0;

	if (is_new < 0 || has_name < 0)
		return -ENOMEM;
	if (is_new || has_name)
		describe(b, kind, who, uuid);
	return 0;
}

/*
 * The track of a counter belongs to its process, if the process is known. The low 61 bits of the track's identifier are
 * a hash (FNV-1a) of name and process. The lowest bit is set, so that the hash is not 0. All other tracks have one of
 * the higher bits set.
 */
static int counter_track(struct wmk_read_track *line, struct proto *b, const struct wmk_read_drawing *drawing,
			 uint64_t *uuid)
{
	const struct wmk_read_thread_id *who = &line->who;
	const uint64_t process = who->has_pid ? uuid_of(OF_PROCESS, who->pid, 0) : 0;
	struct wmk_read_table *tracks = &line->whole->seen;
	const uint64_t hash = wmk_hash_bytes(WMK_HASH_BEGIN ^ process, drawing->name, drawing->len);
	int is_new = process ? met(tracks, b, OF_PROCESS, who, process, who->name[0] && who->pid == who->tid) : 0;

	*uuid = (hash >> 3) | 1;
	is_new = is_new < 0 ? is_new : wmk_read_seen_add(tracks, *uuid);
	if (is_new <= 0)
		return is_new;
	const size_t packet = begin_packet(b), track = begin(b, PACKET_TRACK_DESCRIPTOR);

	put_number(b, TRACK_UUID, *uuid);
	if (process)
		put_number(b, TRACK_PARENT, process);
	put_text(b, TRACK_NAME, drawing->name, drawing->len);
	end(b, begin(b, TRACK_COUNTER));
	end(b, track);
	end(b, packet);
	return 0;
}

/* Find the record's track, and describe it if it is new. */
static int track_of(struct wmk_read_track *line, struct proto *b, uint64_t *uuid)
{
	const struct wmk_read_thread_id *who = &line->who;
	struct wmk_read_table *tracks = &line->whole->seen;
	const unsigned kind = who->has_pid ? OF_THREAD : OF_CPU;
	int is_new = 0;

	*uuid = kind == OF_THREAD ? uuid_of(kind, who->pid, who->tid) : uuid_of(kind, 0, who->cpu);
	if (kind == OF_THREAD)
		is_new = met(tracks, b, OF_PROCESS, who, uuid_of(OF_PROCESS, who->pid, 0),
			     who->name[0] && who->pid == who->tid);
	return is_new < 0 ? is_new : met(tracks, b, kind, who, *uuid, who->name[0]);
}

/* ── the form ────────────────────────────────────────────────────────────────────────────────────────── */

static int perfetto_packet(void *state, struct wmk_read_stream *read)
{
	struct wmk_read_track *line = state;
	int err = wmk_read_thread_id_of_packet(&line->who, read);
	struct proto b;

	if (err < 0)
		return err;
	line->packet.len = 0;
	b = open_proto(&line->packet);
	return close_proto(&b, put_part(&b, read, WMK_READ_OF_PACKET));
}

/* At the first record's time, both clocks have the same value. */
static void put_clock(struct proto *b, uint64_t time)
{
	static const uint8_t ids[] = { CLOCK_REALTIME_ID, CLOCK_BOOTTIME_ID };
	const size_t packet = begin_packet(b);

	put_number(b, PACKET_FLAGS, FLAG_CLEARED);
	const size_t snapshot = begin(b, PACKET_CLOCK_SNAPSHOT);

	for (unsigned i = 0; i < sizeof(ids); i++) {
		const size_t clock = begin(b, SNAPSHOT_CLOCK);

		put_number(b, CLOCK_ID, ids[i]);
		put_number(b, CLOCK_TIME, time);
		end(b, clock);
	}
	put_number(b, SNAPSHOT_PRIMARY, CLOCK_REALTIME_ID);
	end(b, snapshot);
	end(b, packet);
}

/* Write the event up to its annotations. `at`: the positions of the packet's length and of the event's length. */
static void begin_track_event(struct proto *b, const struct wmk_read_drawing *drawing, int64_t ns, uint64_t uuid,
			      size_t at[2])
{
	static const uint8_t types[] = { [WAYMARK_KIND_EVENT] = TYPE_INSTANT,
					 [WAYMARK_KIND_BEGIN] = TYPE_BEGIN,
					 [WAYMARK_KIND_END] = TYPE_END,
					 [WAYMARK_KIND_COUNTER] = TYPE_COUNTER };
	const size_t provider = wmk_read_provider_len(drawing->name);

	at[0] = begin_packet(b);
	put_number(b, PACKET_TIMESTAMP, (uint64_t)ns);
	at[1] = begin(b, PACKET_TRACK_EVENT);
	put_number(b, EVENT_TYPE, types[drawing->kind]);
	put_number(b, EVENT_TRACK, uuid);
	if (drawing->kind == WAYMARK_KIND_END)
		return;
	put_text(b, EVENT_CATEGORY, provider ? drawing->name : "trace", provider ? provider : 5);
	if (drawing->kind != WAYMARK_KIND_COUNTER)
		put_text(b, EVENT_NAME, drawing->message ? drawing->message : drawing->name,
			 drawing->message ? drawing->message_len : drawing->len);
}

static void put_value(struct proto *b, const struct wmk_ctf_item *value)
{
	const bool is_signed = value->op->is_signed || value->value.i >= 0;
	char digits[WMK_CTF_WIDE_DIGITS + 1];

	if (value->op->code == WMK_CTF_FLOAT) {
		put_double(b, EVENT_DOUBLE_COUNT, value->value.f);
	} else if (value->is_wide) {
		digits[wmk_ctf_wide_digits(value, 10, digits)] = '\0';
		put_double(b, EVENT_DOUBLE_COUNT, strtod(digits, NULL));
	} else if (is_signed) {
		put_number(b, EVENT_COUNT, value->value.u);
	} else {
		put_double(b, EVENT_DOUBLE_COUNT, (double)value->value.u);
	}
}

/* An event that shows its message as its name keeps the original name as an annotation. */
static void put_event_name(struct proto *b, const struct wmk_read_drawing *drawing)
{
	const size_t at = begin(b, EVENT_ANNOTATION);

	put_text(b, ANNOTATION_NAME, "$event", 6);
	put_text(b, ANNOTATION_STRING, drawing->name, drawing->len);
	end(b, at);
}

/* Write the event. If inner spans lack their own ends, write these first. */
static int put_event(struct wmk_read_track *line, struct wmk_read_stream *read, const struct wmk_read_drawing *drawing,
		     struct proto *b, int64_t ns, uint64_t uuid)
{
	static const uint8_t parts[] = { WMK_READ_PAYLOAD, WMK_READ_COMMON, WMK_READ_CONTEXT };
	size_t at[2];
	int err = 0;

	for (unsigned i = 1; i < drawing->closes; i++) {
		begin_track_event(b, drawing, ns, uuid, at);
		end(b, at[1]);
		end(b, at[0]);
	}
	begin_track_event(b, drawing, ns, uuid, at);
	if (drawing->kind == WAYMARK_KIND_COUNTER)
		put_value(b, &drawing->value);
	if (drawing->message)
		put_event_name(b, drawing);
	for (unsigned i = 0; i < sizeof(parts) && err >= 0; i++)
		err = put_part(b, read, parts[i]);
	if (room(b, line->packet.len) && line->packet.len)
		b->p = mempcpy(b->p, line->packet.text, line->packet.len);
	end(b, at[1]);
	end(b, at[0]);
	return err;
}

/* Times must not be negative: if the first record is before 1970, all times count from it. */
static int64_t time_of(struct wmk_read_track *line, const struct wmk_read_stream *read)
{
	struct wmk_read_tracks *whole = line->whole;
	int64_t ns = wmk_read_track_ns(line, read), first = whole->first < 0 ? whole->first : 0;

	if (__builtin_sub_overflow(ns, first, &ns))
		ns = INT64_MAX;
	whole->is_shifted |= first < 0;
	return ns < 0 ? 0 : ns;
}

static int perfetto_record(void *state, struct wmk_read_stream *read, struct wmk_print_text *out)
{
	struct wmk_read_track *line = state;
	struct wmk_read_tracks *whole = line->whole;
	struct wmk_read_drawing drawing;
	int err = wmk_read_track_record(line, read, &drawing);
	struct proto b = open_proto(out);
	uint64_t uuid = 0;
	int64_t ns;

	if (err < 0)
		return err;
	ns = time_of(line, read);
	if (!whole->has_first)
		put_clock(&b, (uint64_t)ns);
	err = drawing.kind == WAYMARK_KIND_COUNTER ? counter_track(line, &b, &drawing, &uuid)
						   : track_of(line, &b, &uuid);
		/* The description of the track remains written even if the record fails, because it is not repeated. */
	if (err >= 0)
		err = close_proto(&b, 0);
	if (err < 0)
		return err;
	whole->has_first = true;
	b = open_proto(out);
	err = close_proto(&b, put_event(line, read, &drawing, &b, ns, uuid));
	if (err >= 0)
		wmk_read_spans_drawn(&whole->spans, &line->who, &drawing);
	return err;
}

const struct wmk_read_exporter wmk_read_perfetto = {
	.name = "perfetto",
	.is_binary = true,
	.create = wmk_read_tracks_create,
	.remark = wmk_read_tracks_remark,
	.free = wmk_read_tracks_free,
	.stream = wmk_read_track_open,
	.stream_free = wmk_read_track_close,
	.packet = perfetto_packet,
	.record = perfetto_record,
};
