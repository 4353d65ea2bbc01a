/* SPDX-License-Identifier: MIT */
/*
 * chrome.c - records in the Trace Event Format ("JSON Object Format" of the document of that name): an instant event for each, with what it has as its
 * arguments, on the line of its thread; without contexts that tell the thread, on that of its CPU, in a process 0.
 *
 * Times are microseconds since the first record, with three decimals: readers of JSON keep 53 bits, which are not enough since 1970. When that
 * was stands in otherData.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "read/convert.h"
#include "read/json_inside.h"
#include "read/who.h"

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
	const struct wmk_read_lines *whole = data;
	char text[160];

	snprintf(text, sizeof(text), "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{\"first_record_ns\":\"%" PRId64 "\"}}\n", whole->first);
	return put(out, text);
}

static int chrome_packet(void *state, struct wmk_read_stream *read)
{
	struct wmk_read_line *line = state;
	int err = wmk_read_line_packet(line, read);

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

static void begin_event(struct wmk_json_writer *w, bool is_first)
{
	wmk_json_put_text(w, is_first ? "\n{" : ",\n{");
	w->is_first = true;
}

/* The line's name: `kind` is thread_name or process_name. */
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
	w->is_first = false;
}

/* Which line the record is on; that it has a name, when it is met for the first time. */
static int line_of(struct wmk_read_line *line, struct wmk_json_writer *w, int64_t *pid, int64_t *tid, bool *is_first)
{
	const struct wmk_read_who *who = &line->who;
	char name[80];
	int is_new;

	*pid = who->has_pid ? who->pid : 0;
	*tid = who->has_pid ? who->tid : who->has_cpu ? who->cpu : 0;
	/* (some channels have no context for the name: another may have) */
	if (who->has_pid && !who->name[0])
		return 0;
	is_new = wmk_read_seen_add(&line->whole->seen, (uint64_t)(uint32_t)*pid << 32 | (uint32_t)*tid);
	if (is_new <= 0)
		return is_new;
	if (who->has_pid)
		snprintf(name, sizeof(name), "%s", who->name);
	else
		snprintf(name, sizeof(name), "CPU %" PRId64, *tid);
	begin_event(w, *is_first);
	put_line_name(w, "thread_name", *pid, *tid, name);
	*is_first = false;
	return 0;
}

static int put_args(struct wmk_read_line *line, struct wmk_read_stream *read, struct wmk_json_writer *w)
{
	static const uint8_t parts[] = { WMK_READ_PAYLOAD, WMK_READ_COMMON, WMK_READ_CONTEXT };
	int err = 0;

	wmk_json_put_name(w, "args");
	wmk_json_put(w, "{", 1);
	w->is_first = true;
	for (unsigned i = 0; i < sizeof(parts) && err >= 0; i++)
		err = wmk_json_put_part(w, read, parts[i]);
	wmk_json_put(w, line->packet.text + w->is_first, line->packet.len ? line->packet.len - w->is_first : 0);
	wmk_json_put_text(w, "}}");
	return err;
}

static int chrome_record(void *state, struct wmk_read_stream *read, struct wmk_print_text *out)
{
	struct wmk_read_line *line = state;
	struct wmk_read_lines *whole = line->whole;
	const char *name = read->record.event->class->name && *read->record.event->class->name ? read->record.event->class->name : "event";
	const size_t provider = wmk_read_provider_len(name);
	int err = wmk_read_who_record(&line->who, read);
	struct wmk_json_writer w = wmk_json_begin(out);
	bool is_first = !whole->has_first;
	int64_t pid, tid, since;
	char time[48];

	if (err >= 0)
		err = line_of(line, &w, &pid, &tid, &is_first);
	if (err < 0)
		return err;
	if (!whole->has_first)
		whole->first = read->ns;
	since = read->ns - whole->first;
	begin_event(&w, is_first);
	put_member(&w, "name", name, strlen(name));
	put_member(&w, "cat", provider ? name : "trace", provider ? provider : 5);
	put_member(&w, "ph", "i", 1);
	put_member(&w, "s", "t", 1);
	wmk_json_put_name(&w, "ts");
	wmk_json_put(&w, time, (size_t)snprintf(time, sizeof(time), "%" PRId64 ".%03" PRId64, since / 1000, since % 1000));
	put_number(&w, "pid", pid);
	put_number(&w, "tid", tid);
	err = wmk_json_end(&w, put_args(line, read, &w));
	whole->has_first |= err >= 0;
	return err;
}

const struct wmk_read_form wmk_read_chrome = {
	.name = "chrome", .create = wmk_read_lines_create, .begin = chrome_begin, .end = chrome_end, .free = wmk_read_lines_free, .stream = wmk_read_line_open,
	.stream_free = wmk_read_line_close, .packet = chrome_packet, .record = chrome_record,
};
