/* SPDX-License-Identifier: MIT */
/*
 * perfetto.c - export records as a Perfetto trace: protocol buffers with the message and field numbers of its published
 * definitions (protos/perfetto/trace).
 *
 *     Trace ── packet ── clock_snapshot        once: times are those of CLOCK_REALTIME, the viewer's default clock
 *                     ├─ system_info           once: the version of the kernel, for decoding states of threads
 *                     ├─ ftrace_events         a scheduler record of the kernel (perfetto_ftrace.h)
 *                     ├─ track_descriptor      of a process, a thread, a CPU, a counter: before its first event
 *                     └─ track_event           an instant, the begin or the end of a slice, or a counter's value, on
 *                                              its track; fields and contexts are debug annotations
 *
 * Context fields identify the thread of a record (thread_id.h); without such fields, the record is on the track of its
 * CPU. For a scheduler record, the exporter also writes a description of the track of the record's thread. If a record
 * of a fork or of a state dump names another thread, the exporter also describes the track of the other thread. So the
 * viewer can assign each thread to its process.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "ctf/wide_number.h"
#include "read/convert.h"
#include "read/json_writer.h"
#include "read/perfetto_ftrace.h"
#include "read/tracks.h"

/* Field numbers, by their message. */
enum { TRACE_PACKET = 1 };
enum {
	PACKET_FTRACE = 1,
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_FLAGS = 13,
	PACKET_SYSTEM = 45,
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
enum { SYSTEM_UTSNAME = 1, UTSNAME_SYSNAME = 1, UTSNAME_RELEASE = 3 };
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
static size_t begin_packet(struct wmk_proto *b)
{
	const size_t at = wmk_proto_begin(b, TRACE_PACKET);

	wmk_proto_number(b, PACKET_SEQUENCE, SEQUENCE);
	return at;
}

/* ── values ──────────────────────────────────────────────────────────────────────────────────────────── */

static void put_scalar(struct wmk_proto *b, const struct wmk_ctf_item *item)
{
	const struct wmk_ctf_op *op = item->op;
	char digits[WMK_CTF_WIDE_DIGITS];
	const char *label;

	switch (op->code) {
	case WMK_CTF_BOOL:
		wmk_proto_number(b, ANNOTATION_BOOL, item->value.u != 0);
		break;
	case WMK_CTF_FLOAT:
		wmk_proto_double(b, ANNOTATION_DOUBLE, item->value.f);
		break;
	case WMK_CTF_STRING:
	case WMK_CTF_TEXT:
		if (op->type->encoding != WMK_ENCODING_UTF8) {
			wmk_proto_wide_text(b, ANNOTATION_STRING, item);
			break;
		}
		wmk_proto_text(b, ANNOTATION_STRING, item->text, item->len);
		break;
	case WMK_CTF_BLOB:
		wmk_proto_hex(b, ANNOTATION_STRING, item->text, item->len);
		break;
	case WMK_CTF_ENUM:
		label = wmk_ctf_label(item);
		if (label) {
			wmk_proto_text(b, ANNOTATION_STRING, label, strlen(label));
			break;
		}
		__attribute__((fallthrough));
	default:
		if (item->is_wide)
			wmk_proto_text(b, ANNOTATION_STRING, digits, wmk_ctf_wide_digits(item, 10, digits));
		else
			wmk_proto_number(b, op->is_signed ? ANNOTATION_INT : ANNOTATION_UINT, item->value.u);
		break;
	}
}

/*
 * A structure, array, variant or optional field that is open in the walk. The exporter writes only the content of a
 * variant or optional field, without a message for the field itself.
 */
struct annotation_level {
	size_t at;                 /* position of the message's length */
	bool is_message;
	uint8_t code;
};

struct annotations {
	struct wmk_proto *b;
	struct annotation_level levels[WMK_CTF_TYPE_DEPTH + 2];
	unsigned depth;
	const char *inherited;     /* the name of the choice that was just opened */
};

static bool is_choice(unsigned code)
{
	return code == WMK_CTF_VARIANT || code == WMK_CTF_OPTIONAL;
}

/* Begin an annotation, with its name if the item has a name. */
static size_t begin_annotation(struct annotations *a, const char *name)
{
	const struct annotation_level *in = NULL;
	size_t at;

	for (unsigned i = a->depth; i && !in; i--)
		in = a->levels[i - 1].is_message ? &a->levels[i - 1] : NULL;
	at = wmk_proto_begin(a->b, !in				? EVENT_ANNOTATION
				   : in->code == WMK_CTF_ARRAY ? ANNOTATION_ELEMENT
							       : ANNOTATION_MEMBER);
	if (name && (!in || in->code != WMK_CTF_ARRAY))
		wmk_proto_text(a->b, ANNOTATION_NAME, *name ? name : "_", *name ? strlen(name) : 1);
	return at;
}

/*
 * `name` is the name of the item; NULL: the item has no name. The exporter writes no message for the root structure of
 * a scope without a name.
 */
static void put_item(struct annotations *a, const struct wmk_ctf_item *item, const char *name, bool is_root)
{
	const bool is_container = item->op->code >= WMK_CTF_STRUCT,
		   is_message = !is_choice(item->op->code) && !(is_root && !name);
	size_t at = 0;

	if (item->is_end) {
		a->inherited = NULL;           /* (an empty optional leaves the name unused) */
		a->depth--;
		if (a->levels[a->depth].is_message)
			wmk_proto_end(a->b, a->levels[a->depth].at);
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
		wmk_proto_end(a->b, at);
	}
}

/*
 * Write a scope. Each field of the payload becomes an annotation of the event in the output. Every other scope becomes
 * one annotation with members.
 */
static int put_part(struct wmk_proto *b, struct wmk_read_stream *read, unsigned part)
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
 * Make the identifiers of processes, threads and CPUs. All identifiers are different and not 0, and their highest bit
 * is clear.
 */
static uint64_t uuid_of(unsigned kind, int64_t pid, int64_t tid)
{
	return (uint64_t)(kind + 1) << 61 | (uint64_t)((uint32_t)pid & 0x3fffffff) << 31 | ((uint32_t)tid & 0x7fffffff);
}


static void describe(struct wmk_proto *b, unsigned kind, const struct wmk_read_thread_id *who, uint64_t uuid)
{
	const size_t packet = begin_packet(b), track = wmk_proto_begin(b, PACKET_TRACK_DESCRIPTOR);
	char name[40];
	size_t in;

	wmk_proto_number(b, TRACK_UUID, uuid);
	if (kind == OF_PROCESS) {
		in = wmk_proto_begin(b, TRACK_PROCESS);
		wmk_proto_number(b, PROCESS_PID, (uint64_t)who->pid);
		if (who->name[0] && who->pid == who->tid)
			wmk_proto_text(b, PROCESS_NAME, who->name, strlen(who->name));
		wmk_proto_end(b, in);
	} else if (kind == OF_THREAD) {
		wmk_proto_number(b, TRACK_PARENT, uuid_of(OF_PROCESS, who->pid, 0));
		in = wmk_proto_begin(b, TRACK_THREAD);
		wmk_proto_number(b, THREAD_PID, (uint64_t)who->pid);
		wmk_proto_number(b, THREAD_TID, (uint64_t)who->tid);
		if (who->name[0])
			wmk_proto_text(b, THREAD_NAME, who->name, strlen(who->name));
		wmk_proto_end(b, in);
	} else {
		wmk_proto_text(b, TRACK_NAME, name, wmk_read_cpu_track_name(who, name, sizeof(name)));
	}
	wmk_proto_end(b, track);
	wmk_proto_end(b, packet);
}

/*
 * Describe a track when it is new, and describe it again when its name becomes known, because some channels have no
 * context field for the name.
 */
static int met(struct wmk_read_table *tracks, struct wmk_proto *b, unsigned kind, const struct wmk_read_thread_id *who,
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
 * The track of a counter belongs to the process of the record, if the process is known. The low 61 bits of the track's
 * identifier are a hash (FNV-1a) of the counter's name and the process. The lowest bit of the identifier is set, so
 * that the hash is not 0. The identifiers of all other kinds of tracks have one of the upper 3 bits set.
 */
static int counter_track(struct wmk_read_track *line, struct wmk_proto *b, const struct wmk_read_drawing *drawing,
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
	const size_t packet = begin_packet(b), track = wmk_proto_begin(b, PACKET_TRACK_DESCRIPTOR);

	wmk_proto_number(b, TRACK_UUID, *uuid);
	if (process)
		wmk_proto_number(b, TRACK_PARENT, process);
	wmk_proto_text(b, TRACK_NAME, drawing->name, drawing->len);
	wmk_proto_end(b, wmk_proto_begin(b, TRACK_COUNTER));
	wmk_proto_end(b, track);
	wmk_proto_end(b, packet);
	return 0;
}

/* Find the record's track, and describe it if it is new. */
static int track_of(struct wmk_read_track *line, struct wmk_proto *b, uint64_t *uuid)
{
	const struct wmk_read_thread_id *who = &line->who;
	struct wmk_read_table *tracks = &line->whole->seen;
	/* (records of a state dump have the process -1) */
	const unsigned kind = who->has_pid && who->pid >= 0 && who->tid >= 0 ? OF_THREAD : OF_CPU;
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
	struct wmk_proto b;

	if (err < 0)
		return err;
	line->has_lost |= read->lost || read->lost_packets;
	line->runs = line->has_lost ? 0 : line->runs;
	line->packet.len = 0;
	b = wmk_proto_open(&line->packet);
	return wmk_proto_close(&b, put_part(&b, read, WMK_READ_OF_PACKET));
}

/* At the time of the first record, both clocks have the same value. */
static void put_clock(struct wmk_proto *b, uint64_t time)
{
	static const uint8_t ids[] = { CLOCK_REALTIME_ID, CLOCK_BOOTTIME_ID };
	const size_t packet = begin_packet(b);

	wmk_proto_number(b, PACKET_FLAGS, FLAG_CLEARED);
	const size_t snapshot = wmk_proto_begin(b, PACKET_CLOCK_SNAPSHOT);

	for (unsigned i = 0; i < sizeof(ids); i++) {
		const size_t clock = wmk_proto_begin(b, SNAPSHOT_CLOCK);

		wmk_proto_number(b, CLOCK_ID, ids[i]);
		wmk_proto_number(b, CLOCK_TIME, time);
		wmk_proto_end(b, clock);
	}
	wmk_proto_number(b, SNAPSHOT_PRIMARY, CLOCK_REALTIME_ID);
	wmk_proto_end(b, snapshot);
	wmk_proto_end(b, packet);
}

/* Return the version of the kernel, if the trace contains the version. */
static void put_system(struct wmk_proto *b, const struct wmk_read_tracks *whole)
{
	if (!whole->release[0])
		return;
	const size_t packet = begin_packet(b), system = wmk_proto_begin(b, PACKET_SYSTEM),
		     name = wmk_proto_begin(b, SYSTEM_UTSNAME);

	wmk_proto_text(b, UTSNAME_SYSNAME, whole->sysname, strlen(whole->sysname));
	wmk_proto_text(b, UTSNAME_RELEASE, whole->release, strlen(whole->release));
	wmk_proto_end(b, name);
	wmk_proto_end(b, system);
	wmk_proto_end(b, packet);
}

/*
 * Write the part of the event that precedes its annotations. `at` receives the positions of the packet's length and of
 * the event's length.
 */
static void begin_track_event(struct wmk_proto *b, const struct wmk_read_drawing *drawing, int64_t ns, uint64_t uuid,
			      size_t at[2])
{
	static const uint8_t types[] = { [WAYMARK_KIND_EVENT] = TYPE_INSTANT,
					 [WAYMARK_KIND_BEGIN] = TYPE_BEGIN,
					 [WAYMARK_KIND_END] = TYPE_END,
					 [WAYMARK_KIND_COUNTER] = TYPE_COUNTER };
	const size_t provider = wmk_read_provider_len(drawing->name);

	at[0] = begin_packet(b);
	wmk_proto_number(b, PACKET_TIMESTAMP, (uint64_t)ns);
	at[1] = wmk_proto_begin(b, PACKET_TRACK_EVENT);
	wmk_proto_number(b, EVENT_TYPE, types[drawing->kind]);
	wmk_proto_number(b, EVENT_TRACK, uuid);
	if (drawing->kind == WAYMARK_KIND_END)
		return;
	wmk_proto_text(b, EVENT_CATEGORY, provider ? drawing->name : "trace", provider ? provider : 5);
	if (drawing->kind != WAYMARK_KIND_COUNTER)
		wmk_proto_text(b, EVENT_NAME, drawing->message ? drawing->message : drawing->name,
			 drawing->message ? drawing->message_len : drawing->len);
}

static void put_value(struct wmk_proto *b, const struct wmk_ctf_item *value)
{
	const bool is_signed = value->op->is_signed || value->value.i >= 0;
	char digits[WMK_CTF_WIDE_DIGITS + 1];

	if (value->op->code == WMK_CTF_FLOAT) {
		wmk_proto_double(b, EVENT_DOUBLE_COUNT, value->value.f);
	} else if (value->is_wide) {
		digits[wmk_ctf_wide_digits(value, 10, digits)] = '\0';
		wmk_proto_double(b, EVENT_DOUBLE_COUNT, strtod(digits, NULL));
	} else if (is_signed) {
		wmk_proto_number(b, EVENT_COUNT, value->value.u);
	} else {
		wmk_proto_double(b, EVENT_DOUBLE_COUNT, (double)value->value.u);
	}
}

/* If the viewer shows the message of an event as its name, the exporter writes the original name as an annotation. */
static void put_event_name(struct wmk_proto *b, const struct wmk_read_drawing *drawing)
{
	const size_t at = wmk_proto_begin(b, EVENT_ANNOTATION);

	wmk_proto_text(b, ANNOTATION_NAME, "$event", 6);
	wmk_proto_text(b, ANNOTATION_STRING, drawing->name, drawing->len);
	wmk_proto_end(b, at);
}

/* Write the event. If inner spans have no ends of their own, write their ends before the event. */
static int put_event(struct wmk_read_track *line, struct wmk_read_stream *read, const struct wmk_read_drawing *drawing,
		     struct wmk_proto *b, int64_t ns, uint64_t uuid)
{
	static const uint8_t parts[] = { WMK_READ_PAYLOAD, WMK_READ_COMMON, WMK_READ_CONTEXT };
	size_t at[2];
	int err = 0;

	for (unsigned i = 1; i < drawing->closes; i++) {
		begin_track_event(b, drawing, ns, uuid, at);
		wmk_proto_end(b, at[1]);
		wmk_proto_end(b, at[0]);
	}
	begin_track_event(b, drawing, ns, uuid, at);
	if (drawing->kind == WAYMARK_KIND_COUNTER)
		put_value(b, &drawing->value);
	if (drawing->message)
		put_event_name(b, drawing);
	for (unsigned i = 0; i < sizeof(parts) && err >= 0; i++)
		err = put_part(b, read, parts[i]);
	if (wmk_proto_room(b, line->packet.len) && line->packet.len)
		b->p = mempcpy(b->p, line->packet.text, line->packet.len);
	wmk_proto_end(b, at[1]);
	wmk_proto_end(b, at[0]);
	return err;
}

/* Times must not be negative: if the first record is before 1970, all times are relative to its time. */
static int64_t time_of(struct wmk_read_track *line, const struct wmk_read_stream *read)
{
	struct wmk_read_tracks *whole = line->whole;
	int64_t ns = wmk_read_track_ns(line, read), first = whole->first < 0 ? whole->first : 0;

	if (__builtin_sub_overflow(ns, first, &ns))
		ns = INT64_MAX;
	whole->is_shifted |= first < 0;
	return ns < 0 ? 0 : ns;
}

/* Describe threads, so that the viewer can assign them to their processes. */
static int meet_threads(struct wmk_read_track *line, struct wmk_read_stream *read, bool is_ftrace, struct wmk_proto *b)
{
	struct wmk_read_thread_id other;
	uint64_t uuid;
	const bool is_known = is_ftrace && line->who.has_pid && line->who.tid > 0;
	int err = is_known ? track_of(line, b, &uuid) : 0,
	    is_other = err >= 0 ? wmk_ftrace_thread(read, &other) : 0;

	if (err < 0 || is_other <= 0)
		return err < 0 ? err : is_other;
	err = met(&line->whole->seen, b, OF_PROCESS, &other, uuid_of(OF_PROCESS, other.pid, 0),
		  other.name[0] && other.pid == other.tid);
	if (err >= 0)
		err = met(&line->whole->seen, b, OF_THREAD, &other, uuid_of(OF_THREAD, other.pid, other.tid),
			  other.name[0]);
	return err;
}

/* A bundle with one event. */
static int put_ftrace(struct wmk_read_track *line, struct wmk_read_stream *read, const struct wmk_ftrace_kind *kind,
		      struct wmk_proto *b, int64_t ns)
{
	const size_t packet = begin_packet(b), bundle = wmk_proto_begin(b, PACKET_FTRACE);
	int err = wmk_ftrace_put(b, kind, read, line, ns);

	wmk_proto_end(b, bundle);
	wmk_proto_end(b, packet);
	return err;
}

/* Write the clock snapshot and the system information before the first record. */
static void put_head(struct wmk_proto *b, const struct wmk_read_tracks *whole, int64_t ns)
{
	if (whole->has_first)
		return;
	put_clock(b, (uint64_t)ns);
	put_system(b, whole);
}

static int perfetto_record(void *state, struct wmk_read_stream *read, struct wmk_print_text *out)
{
	struct wmk_read_track *line = state;
	struct wmk_read_tracks *whole = line->whole;
	const struct wmk_ftrace_kind *ftrace = wmk_ftrace_kind_of(read, &line->who);
	struct wmk_read_drawing drawing = { .kind = WAYMARK_KIND_EVENT };
	int err = ftrace ? wmk_read_thread_id_of_record(&line->who, read) : wmk_read_track_record(line, read, &drawing);
	struct wmk_proto b = wmk_proto_open(out);
	uint64_t uuid = 0;
	int64_t ns;

	if (err < 0)
		return err;
	ns = time_of(line, read);
	put_head(&b, whole, ns);
	err = meet_threads(line, read, ftrace, &b);
	if (err >= 0 && !ftrace)
		err = drawing.kind == WAYMARK_KIND_COUNTER ? counter_track(line, &b, &drawing, &uuid)
							   : track_of(line, &b, &uuid);
	/*
	 * The output keeps the description of the track even if writing the record fails, because later records do not
	 * repeat the description.
	 */
	if (err >= 0)
		err = wmk_proto_close(&b, 0);
	if (err < 0)
		return err;
	whole->has_first = true;
	b = wmk_proto_open(out);
	err = ftrace ? put_ftrace(line, read, ftrace, &b, ns) : put_event(line, read, &drawing, &b, ns, uuid);
	err = wmk_proto_close(&b, err);
	if (err >= 0 && !ftrace)
		wmk_read_spans_drawn(&whole->spans, &line->who, &drawing);
	return err;
}

/* Use the kernel version of the first trace that contains a kernel version. */
static int perfetto_trace(void *state, const struct wmk_read_trace *trace)
{
	struct wmk_read_tracks *whole = state;

	if (!whole->release[0])
		wmk_ftrace_system(trace, whole);
	return 0;
}

const struct wmk_read_exporter wmk_read_perfetto = {
	.name = "perfetto",
	.is_binary = true,
	.create = wmk_read_tracks_create,
	.trace = perfetto_trace,
	.remark = wmk_read_tracks_remark,
	.free = wmk_read_tracks_free,
	.stream = wmk_read_track_open,
	.stream_free = wmk_read_track_close,
	.packet = perfetto_packet,
	.record = perfetto_record,
};
