/* SPDX-License-Identifier: MIT */
/*
 * chrome.c - export records in the Trace Event Format ("JSON Object Format" of the document with that name). Each
 * record becomes an instant event, or the start or the end of a duration. The event is on the track of its thread; the
 * record's fields are the arguments of the event. A record without context fields for the thread is on the track of its
 * CPU, in process 0. A counter belongs to the process of its record.
 *
 * Times are microseconds since the first record, with three decimals, because JSON readers keep only 53 bits of a
 * number. otherData has the time of the first record.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "read/convert.h"
#include "read/json_writer.h"
#include "read/tracks.h"

static int put(struct wmk_print_text *out, const char *text)
{
	struct wmk_json_writer w = wmk_json_begin(out);

	wmk_json_put_text(&w, text);
	return wmk_json_end(&w, 0);
}

static int chrome_begin(void *whole, struct wmk_print_text *out)
{
	(void)whole;
	return put(out, "{\"traceEvents\":[");
}

static int chrome_end(void *data, struct wmk_print_text *out)
{
	const struct wmk_read_tracks *whole = data;
	char text[160];

	snprintf(text, sizeof(text),
		 "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{\"first_record_ns\":\"%" PRId64 "\"}}\n", whole->first);
	return put(out, text);
}

static int chrome_packet(void *state, struct wmk_read_stream *read)
{
	struct wmk_read_track *line = state;
	int err = wmk_read_thread_id_of_packet(&line->who, read);

	return err < 0 ? err : wmk_json_packet(&line->packet, read);
}

static void put_number(struct wmk_json_writer *w, const char *name, int64_t number)
{
	char text[32];

	wmk_json_put_name(w, name);
	wmk_json_put(w, text, (size_t)snprintf(text, sizeof(text), "%" PRId64, number));
}

static void put_member(struct wmk_json_writer *w, const char *name, const char *text, size_t len)
{
	wmk_json_put_name(w, name);
	wmk_json_put_string(w, text, len);
}

static void begin_event(struct wmk_read_tracks *whole, struct wmk_json_writer *w)
{
	wmk_json_put_text(w, whole->has_first ? ",\n{" : "\n{");
	whole->has_first = true;
	w->is_first = true;
}

/* Name a track: `kind` is thread_name or process_name. */
static void put_line_name(struct wmk_json_writer *w, const char *kind, int64_t pid, int64_t tid, const char *name)
{
	put_member(w, "name", kind, strlen(kind));
	put_member(w, "ph", "M", 1);
	put_number(w, "pid", pid);
	put_number(w, "tid", tid);
	wmk_json_put_name(w, "args");
	wmk_json_put(w, "{", 1);
	w->is_first = true;
	put_member(w, "name", name, strlen(name));
	wmk_json_put_text(w, "}}");
}

/*
 * Find the record's track, and name the track if it is new. The name of the track stays in the output even if writing
 * the record fails.
 */
static int line_of(struct wmk_read_track *line, struct wmk_print_text *out, int64_t *pid, int64_t *tid)
{
	const struct wmk_read_thread_id *who = &line->who;
	struct wmk_json_writer w;
	char name[80];
	int is_new;

	*pid = who->has_pid ? who->pid : 0;
	*tid = who->has_pid ? who->tid : who->cpu;
	/* (if this channel has no context for the name, another channel may have one) */
	if (who->has_pid && !who->name[0])
		return 0;
	is_new = wmk_read_seen_add(&line->whole->seen, (uint64_t)(uint32_t)*pid << 32 | (uint32_t)*tid);
	if (is_new <= 0)
		return is_new;
	if (who->has_pid)
		snprintf(name, sizeof(name), "%s", who->name);
	else
		wmk_read_cpu_track_name(who, name, sizeof(name));
	w = wmk_json_begin(out);
	begin_event(line->whole, &w);
	put_line_name(&w, "thread_name", *pid, *tid, name);
	return wmk_json_end(&w, 0);
}

static int put_args(struct wmk_read_track *line, struct wmk_read_stream *read, const struct wmk_read_drawing *drawing,
		    struct wmk_json_writer *w)
{
	static const uint8_t parts[] = { WMK_READ_PAYLOAD, WMK_READ_COMMON, WMK_READ_CONTEXT };
	int err = 0;

	wmk_json_put_name(w, "args");
	wmk_json_put(w, "{", 1);
	w->is_first = true;
	if (drawing->message)
		put_member(w, "$event", drawing->name, drawing->len);
	for (unsigned i = 0; i < sizeof(parts) && err >= 0; i++)
		err = wmk_json_put_part(w, read, parts[i]);
	wmk_json_put(w, line->packet.text + w->is_first, line->packet.len ? line->packet.len - w->is_first : 0);
	wmk_json_put_text(w, "}}");
	return err;
}

/* A viewer draws all arguments of a counter event, so the only argument is the value of the counter. */
static void put_value(struct wmk_json_writer *w, const struct wmk_ctf_item *value)
{
	struct wmk_ctf_op plain = *value->op;
	struct wmk_ctf_item item = *value;

	plain.code = plain.code == WMK_CTF_FLOAT ? WMK_CTF_FLOAT : WMK_CTF_INT;
	item.op = &plain;
	wmk_json_put_name(w, "args");
	wmk_json_put(w, "{", 1);
	w->is_first = true;
	wmk_json_put_item(w, &item, "value");
	wmk_json_put_text(w, "}}");
}

/* Write the part of an event that precedes its arguments. */
static void put_head(struct wmk_json_writer *w, struct wmk_read_track *line, const struct wmk_read_drawing *drawing,
		     int64_t since, const int64_t ids[2])
{
	static const char phases[] = { [WAYMARK_KIND_EVENT] = 'i',
				       [WAYMARK_KIND_BEGIN] = 'B',
				       [WAYMARK_KIND_END] = 'E',
				       [WAYMARK_KIND_COUNTER] = 'C' };
	const size_t provider = wmk_read_provider_len(drawing->name);
	const uint64_t magnitude = since < 0 ? 0 - (uint64_t)since : (uint64_t)since;
	char time[48];

	begin_event(line->whole, w);
	if (drawing->message)
		put_member(w, "name", drawing->message, drawing->message_len);
	else
		put_member(w, "name", drawing->name, drawing->len);
	put_member(w, "cat", provider ? drawing->name : "trace", provider ? provider : 5);
	put_member(w, "ph", &phases[drawing->kind], 1);
	if (drawing->kind == WAYMARK_KIND_EVENT)
		put_member(w, "s", "t", 1);
	wmk_json_put_name(w, "ts");
	wmk_json_put(w, time,
		     (size_t)snprintf(time, sizeof(time), "%s%" PRIu64 ".%03" PRIu64, since < 0 ? "-" : "",
				      magnitude / 1000, magnitude % 1000));
	put_number(w, "pid", ids[0]);
	put_number(w, "tid", ids[1]);
}

/* If a span has no end of its own, it ends together with the enclosing span. */
static void put_ends(struct wmk_json_writer *w, struct wmk_read_track *line, const struct wmk_read_drawing *drawing,
		     int64_t since, const int64_t ids[2])
{
	struct wmk_read_drawing inner = *drawing;

	for (unsigned i = 1; i < drawing->closes; i++) {
		inner.name = wmk_read_spans_name(&line->whole->spans, &line->who, i - 1, &inner.len);
		put_head(w, line, &inner, since, ids);
		wmk_json_put(w, "}", 1);
	}
}

static int chrome_record(void *state, struct wmk_read_stream *read, struct wmk_print_text *out)
{
	struct wmk_read_track *line = state;
	struct wmk_read_tracks *whole = line->whole;
	struct wmk_read_drawing drawing;
	int64_t ids[2], since;
	int err = wmk_read_track_record(line, read, &drawing);

	if (err >= 0)
		err = line_of(line, out, &ids[0], &ids[1]);
	if (err < 0)
		return err;
	const bool had_first = whole->has_first;
	struct wmk_json_writer w = wmk_json_begin(out);

	const int64_t ns = wmk_read_track_ns(line, read);

	/* (a difference of centuries does not fit into 64 bits) */
	if (__builtin_sub_overflow(ns, whole->first, &since))
		since = ns < whole->first ? INT64_MIN : INT64_MAX;
	put_ends(&w, line, &drawing, since, ids);
	put_head(&w, line, &drawing, since, ids);
	if (drawing.kind == WAYMARK_KIND_COUNTER)
		put_value(&w, &drawing.value);
	else
		err = put_args(line, read, &drawing, &w);
	err = wmk_json_end(&w, err);
	if (err < 0)
		whole->has_first = had_first;
	else
		wmk_read_spans_drawn(&whole->spans, &line->who, &drawing);
	return err;
}

const struct wmk_read_exporter wmk_read_chrome = {
	.name = "chrome",
	.create = wmk_read_tracks_create,
	.begin = chrome_begin,
	.end = chrome_end,
	.remark = wmk_read_tracks_remark,
	.free = wmk_read_tracks_free,
	.stream = wmk_read_track_open,
	.stream_free = wmk_read_track_close,
	.packet = chrome_packet,
	.record = chrome_record,
};
