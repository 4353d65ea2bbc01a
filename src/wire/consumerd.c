/* SPDX-License-Identifier: MIT */
/*
 * consumerd.c - the tables of objects between the session daemon and waymark-consumerd (see consumerd.h). If an object
 * does not fit into one frame, functions in this file join the parts of the object.
 */
#include "wire/consumerd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"

#define NAME_BYTES 255u
#define MESSAGE_BYTES 1024u
#define FILTER_WORDS 8192u             /* an encoded program is always shorter */
/* limit of a channel's events: all events and the other members fit into one message to a later consumer daemon */
#define EVENTS_BYTES (WMK_OBJECT_MAX / 4 * 3)

static const struct wmk_member hello_members[] = {
	WMK_MEMBER(TEXT, wmk_consumerd_hello, version, NAME_BYTES),
	WMK_MEMBER(U64, wmk_consumerd_hello, pid),
};
const struct wmk_object wmk_consumerd_hello_object = WMK_OBJECT_OF("hello", wmk_consumerd_hello, hello_members);

static const struct wmk_member counts_members[] = {
#define WMK_COUNT(name) WMK_MEMBER(U64, wmk_counts, name),
#define WMK_COUNT_INTERNAL(name) WMK_MEMBER(U64, wmk_counts, name),
#include "wire/counts.def"
};
static const struct wmk_object counts_object = WMK_OBJECT_OF("counts", wmk_counts, counts_members);

static const struct wmk_member stats_members[] = {
	WMK_MEMBER(OBJECT, wmk_consumerd_stats, counts, wmk_counts, counts_object),
	WMK_MEMBER(OBJECT, wmk_consumerd_stats, earlier, wmk_counts, counts_object),
	WMK_MEMBER(U32, wmk_consumerd_stats, output_error),
	WMK_MEMBER(BOOL, wmk_consumerd_stats, stuck),
	WMK_MEMBER(TEXT, wmk_consumerd_stats, words, MESSAGE_BYTES),
};
static const struct wmk_object stats_object = WMK_OBJECT_OF("stats", wmk_consumerd_stats, stats_members);

static const struct wmk_member channel_members[] = {
	WMK_MEMBER(TEXT, wmk_consumerd_channel, channel, NAME_BYTES),
	WMK_MEMBER(OBJECT, wmk_consumerd_channel, stats, wmk_consumerd_stats, stats_object),
};
static const struct wmk_object channel_object = WMK_OBJECT_OF("channel", wmk_consumerd_channel, channel_members);

static const struct wmk_member trace_members[] = {
	WMK_MEMBER(U64, wmk_consumerd_trace, trace),
	WMK_MEMBER(TEXT, wmk_consumerd_trace, path, WMK_OBJECT_TEXT_MAX),
	WMK_MEMBER(TEXT, wmk_consumerd_trace, sub, NAME_BYTES),
	WMK_MEMBER(U64, wmk_consumerd_trace, uid),
	WMK_MEMBER(U64, wmk_consumerd_trace, gid),
	WMK_MEMBER(UUID, wmk_consumerd_trace, uuid),
	WMK_MEMBER(U64, wmk_consumerd_trace, max_size),
	WMK_MEMBER(LIST, wmk_consumerd_trace, gone, channel_object, WMK_CONSUMERD_CHANNELS_MAX),
	WMK_MEMBER(U32, wmk_consumerd_trace, mode),
	WMK_MEMBER(BOOL, wmk_consumerd_trace, gated),
	WMK_MEMBER(BOOL, wmk_consumerd_trace, unwritten),
	WMK_MEMBER(U64, wmk_consumerd_trace, chunk),
	WMK_MEMBER(TEXT, wmk_consumerd_trace, closed, NAME_BYTES),
	WMK_MEMBER(TEXT, wmk_consumerd_trace, url, WMK_RELAY_URL_MAX),
};
const struct wmk_object wmk_consumerd_trace_object = WMK_OBJECT_OF("trace", wmk_consumerd_trace, trace_members);

static const struct wmk_member rotation_members[] = {
	WMK_MEMBER(U64, wmk_consumerd_rotation, trace),
	WMK_MEMBER(U64, wmk_consumerd_rotation, chunk),
	WMK_MEMBER(TEXT, wmk_consumerd_rotation, closed, NAME_BYTES),
};
const struct wmk_object wmk_consumerd_rotation_object =
	WMK_OBJECT_OF("rotation", wmk_consumerd_rotation, rotation_members);

static const struct wmk_member metadata_members[] = {
	WMK_MEMBER(U64, wmk_consumerd_metadata, trace),
	WMK_MEMBER(U64, wmk_consumerd_metadata, offset),
	WMK_MEMBER(BOOL, wmk_consumerd_metadata, replace),
	WMK_MEMBER(BOOL, wmk_consumerd_metadata, more),
	WMK_MEMBER(U64, wmk_consumerd_metadata, chunk),
	WMK_MEMBER(TEXT, wmk_consumerd_metadata, text, WMK_CONSUMERD_METADATA_MAX),
};
const struct wmk_object wmk_consumerd_metadata_object =
	WMK_OBJECT_OF("metadata", wmk_consumerd_metadata, metadata_members);

static const struct wmk_member event_members[] = {
	WMK_MEMBER(TEXT, wmk_consumerd_event, system, NAME_BYTES),
	WMK_MEMBER(TEXT, wmk_consumerd_event, name, NAME_BYTES),
	WMK_MEMBER(U32, wmk_consumerd_event, id),
	WMK_MEMBER(U32, wmk_consumerd_event, filter_len),
	WMK_MEMBER(NUMBERS, wmk_consumerd_event, filter, FILTER_WORDS),
	WMK_MEMBER(BOOL, wmk_consumerd_event, changing),
};
static const struct wmk_object event_object = WMK_OBJECT_OF("event", wmk_consumerd_event, event_members);

static const struct wmk_member rings_members[] = {
	WMK_MEMBER(U64, wmk_consumerd_rings, trace),
	WMK_MEMBER(U64, wmk_consumerd_rings, rings),
	WMK_MEMBER(TEXT, wmk_consumerd_rings, channel, NAME_BYTES),
	WMK_MEMBER(U32, wmk_consumerd_rings, stream_id),
	WMK_MEMBER(BOOL, wmk_consumerd_rings, at_stop_only),
	WMK_MEMBER(BOOL, wmk_consumerd_rings, resume),
	WMK_MEMBER(BOOL, wmk_consumerd_rings, clear),
	WMK_MEMBER(U64, wmk_consumerd_rings, tracefile_size),
	WMK_MEMBER(U64, wmk_consumerd_rings, tracefile_count),
	WMK_MEMBER(U64, wmk_consumerd_rings, flush_ns),
	WMK_MEMBER(U64, wmk_consumerd_rings, start_ts),
	WMK_MEMBER(UUID, wmk_consumerd_rings, uuid),
	WMK_MEMBER(BOOL, wmk_consumerd_rings, kernel),
	WMK_MEMBER(U64, wmk_consumerd_rings, only_pid),
	WMK_MEMBER(NUMBERS, wmk_consumerd_rings, contexts, 255),
	WMK_MEMBER(LIST, wmk_consumerd_rings, events, event_object, WMK_CONSUMERD_EVENTS_MAX),
	WMK_MEMBER(NUMBERS, wmk_consumerd_rings, calls, 64),
	WMK_MEMBER(U64, wmk_consumerd_rings, syscall_ring_bytes),
	WMK_MEMBER(BOOL, wmk_consumerd_rings, syscalls_narrowed),
	WMK_MEMBER(NUMBERS, wmk_consumerd_rings, syscall_pids, WMK_CONSUMERD_PIDS),
	WMK_MEMBER(U64, wmk_consumerd_rings, statedump),
	WMK_MEMBER(BOOL, wmk_consumerd_rings, copy),
	WMK_MEMBER(U64, wmk_consumerd_rings, copy_max),
	WMK_MEMBER(U64, wmk_consumerd_rings, reclaim_ns),
};
const struct wmk_object wmk_consumerd_rings_object = WMK_OBJECT_OF("rings", wmk_consumerd_rings, rings_members);

bool wmk_consumerd_event_filter(const struct wmk_consumerd_event *event, const void **program, size_t *len)
{
	*program = event->filter_len ? event->filter.items : NULL;
	*len = event->filter_len;
	return event->filter_len <= event->filter.n * sizeof(uint64_t);
}

static struct wmk_consumerd_event *find_event(const struct wmk_list *events, uint32_t n,
					      const struct wmk_consumerd_event *event)
{
	struct wmk_consumerd_event *items = events->items;

	for (uint32_t i = 0; i < n; i++)
		if (strcmp(items[i].name, event->name) == 0 && strcmp(items[i].system, event->system) == 0)
			return &items[i];
	return NULL;
}

/*
 * Replace the filter. An arena cannot free single allocations, so the new filter reuses the memory of the old filter.
 * If the old memory is too small, the function allocates memory for a number of elements that is rounded up to a power
 * of two.
 */
static int set_filter(struct wmk_consumerd_event *event, const struct wmk_consumerd_event *from,
		      struct wmk_arena *arena)
{
	uint32_t room = event->filter_room > event->filter.n ? event->filter_room : event->filter.n;

	if (from->filter.n > room) {
		for (room = 1; room < from->filter.n;)
			room *= 2;
		void *items = wmk_arena_alloc(arena, room * sizeof(uint64_t));

		if (!items)
			return -ENOMEM;
		event->filter.items = items;
	}
	event->filter_room = room;
	if (from->filter.n)
		memcpy(event->filter.items, from->filter.items, from->filter.n * sizeof(uint64_t));
	event->filter.n = from->filter.n;
	event->filter_len = from->filter_len;
	event->changing = from->changing;
	return 0;
}

static size_t event_bytes(const struct wmk_consumerd_event *event)
{
	return 5 * sizeof(uint32_t) + sizeof(bool) + strlen(event->system) + strlen(event->name) +
	       event->filter.n * sizeof(uint64_t);
}

/* 0 if all events still fit into one message after `more` is added; else -E2BIG. */
static int events_fit(const struct wmk_list *events, const struct wmk_list *more)
{
	const struct wmk_consumerd_event *has = events->items, *add = more->items, *same;
	size_t bytes = 0;

	for (uint32_t i = 0; i < events->n; i++)
		bytes += event_bytes(&has[i]);
	for (uint32_t i = 0; i < more->n; i++)
		bytes += event_bytes(&add[i]);
	/* search only if necessary, since the search is slow */
	for (uint32_t i = 0; bytes > EVENTS_BYTES && i < more->n; i++)
		if ((same = find_event(events, events->n, &add[i])))
			bytes -= event_bytes(same);
	return bytes <= EVENTS_BYTES ? 0
				     : wmk_errorx(-E2BIG,
						  "the filters of one kernel channel exceed %u bytes: use fewer or "
						  "shorter filters",
						  EVENTS_BYTES);
}

int wmk_consumerd_events_add(struct wmk_list *events, const struct wmk_list *more, struct wmk_arena *arena)
{
	const struct wmk_consumerd_event *add = more->items;
	const uint32_t before = events->n;

	if (events_fit(events, more) < 0)
		return -E2BIG;
	for (uint32_t i = 0; i < more->n; i++) {
		/* (`more` has each event once) */
		struct wmk_consumerd_event *made = find_event(events, before, &add[i]);

		if (made && set_filter(made, &add[i], arena) < 0)
			return -ENOMEM;
		if (made)
			continue;
		if (events->n >= WMK_CONSUMERD_EVENTS_MAX)
			return wmk_error(-E2BIG, "more than %u kernel events in one channel",
					 WMK_CONSUMERD_EVENTS_MAX);
		made = wmk_arena_append(arena, events, sizeof(*made));
		if (!made)
			return -ENOMEM;
		if (wmk_object_copy(&event_object, &add[i], made, arena) < 0) {
			events->n--;
			return -ENOMEM;
		}
	}
	return events->n > before;
}

/*
 * Replace the numbers of a list in place, because an arena cannot free single allocations. The lengths of both lists
 * can differ only in the first call.
 */
static int set_numbers(struct wmk_list *list, const struct wmk_list *from, struct wmk_arena *arena)
{
	if (list->n != from->n) {
		list->n = 0;
		for (uint32_t i = 0; i < from->n; i++)
			if (!wmk_arena_append(arena, list, sizeof(uint64_t)))
				return -ENOMEM;
	}
	if (from->n)
		memcpy(list->items, from->items, from->n * sizeof(uint64_t));
	return 0;
}

int wmk_consumerd_syscalls_set(struct wmk_consumerd_rings *is, const struct wmk_consumerd_rings *more,
			    struct wmk_arena *arena)
{
	if (!more->calls.n)
		return 0;
	is->syscall_ring_bytes = more->syscall_ring_bytes;
	is->syscalls_narrowed = more->syscalls_narrowed;
	int err = set_numbers(&is->calls, &more->calls, arena);

	return err < 0 ? err : set_numbers(&is->syscall_pids, &more->syscall_pids, arena);
}

static const struct wmk_member target_members[] = {
	WMK_MEMBER(U64, wmk_consumerd_target, trace),
	WMK_MEMBER(U64, wmk_consumerd_target, rings),
};
const struct wmk_object wmk_consumerd_target_object = WMK_OBJECT_OF("target", wmk_consumerd_target, target_members);

static const struct wmk_member reclaim_members[] = {
	WMK_MEMBER(U64, wmk_consumerd_reclaim, trace),
	WMK_MEMBER(U64, wmk_consumerd_reclaim, rings),
	WMK_MEMBER(U64, wmk_consumerd_reclaim, idle_ns),
};
const struct wmk_object wmk_consumerd_reclaim_object =
	WMK_OBJECT_OF("reclaim", wmk_consumerd_reclaim, reclaim_members);

static const struct wmk_member report_members[] = {
	WMK_MEMBER(LIST, wmk_consumerd_report, channels, channel_object, WMK_CONSUMERD_CHANNELS_MAX),
};
const struct wmk_object wmk_consumerd_report_object = WMK_OBJECT_OF("report", wmk_consumerd_report, report_members);

static const struct wmk_member list_item_members[] = {
	WMK_MEMBER(OBJECT, wmk_consumerd_list_item, trace, wmk_consumerd_trace, wmk_consumerd_trace_object),
	WMK_MEMBER(OBJECT, wmk_consumerd_list_item, rings, wmk_consumerd_rings, wmk_consumerd_rings_object),
};
const struct wmk_object wmk_consumerd_list_item_object =
	WMK_OBJECT_OF("held", wmk_consumerd_list_item, list_item_members);

static const struct wmk_member full_members[] = {
	WMK_MEMBER(TEXT, wmk_consumerd_full, path, WMK_OBJECT_TEXT_MAX),
};
const struct wmk_object wmk_consumerd_full_object = WMK_OBJECT_OF("full", wmk_consumerd_full, full_members);

static const struct wmk_member output_members[] = {
	WMK_MEMBER(TEXT, wmk_consumerd_output, path, WMK_OBJECT_TEXT_MAX),
	WMK_MEMBER(U64, wmk_consumerd_output, uid),
	WMK_MEMBER(U64, wmk_consumerd_output, gid),
	WMK_MEMBER(TEXT, wmk_consumerd_output, process, NAME_BYTES),
	WMK_MEMBER(TEXT, wmk_consumerd_output, chunk, NAME_BYTES),
	WMK_MEMBER(BOOL, wmk_consumerd_output, compress),
	WMK_MEMBER(U64, wmk_consumerd_output, retain_size),
	WMK_MEMBER(U64, wmk_consumerd_output, retain_us),
	WMK_MEMBER(U64, wmk_consumerd_output, retain_count),
};
const struct wmk_object wmk_consumerd_output_object = WMK_OBJECT_OF("output", wmk_consumerd_output, output_members);

static const struct wmk_member left_members[] = {
	WMK_MEMBER(TEXTS, wmk_consumerd_left, processes, WMK_CONSUMERD_LEFT_MAX),
	WMK_MEMBER(BOOL, wmk_consumerd_left, more),
};
const struct wmk_object wmk_consumerd_left_object = WMK_OBJECT_OF("left", wmk_consumerd_left, left_members);

static const struct wmk_member sender_members[] = {
	WMK_MEMBER(TEXT, wmk_consumerd_sender, path, WMK_OBJECT_TEXT_MAX),
	WMK_MEMBER(TEXT, wmk_consumerd_sender, url, WMK_RELAY_URL_MAX),
	WMK_MEMBER(U64, wmk_consumerd_sender, uid),
	WMK_MEMBER(BOOL, wmk_consumerd_sender, connected),
	WMK_MEMBER(U64, wmk_consumerd_sender, behind),
	WMK_MEMBER(U64, wmk_consumerd_sender, spooled),
	WMK_MEMBER(TEXT, wmk_consumerd_sender, error, MESSAGE_BYTES),
};
static const struct wmk_object sender_object = WMK_OBJECT_OF("sender", wmk_consumerd_sender, sender_members);

static const struct wmk_member senders_members[] = {
	WMK_MEMBER(LIST, wmk_consumerd_senders, senders, sender_object, WMK_CONSUMERD_SENDERS_MAX),
};
const struct wmk_object wmk_consumerd_senders_object = WMK_OBJECT_OF("senders", wmk_consumerd_senders, senders_members);

static const struct wmk_request_type requests[] = {
#define WMK_CONSUMERD_REQUEST(identifier, number, name, request, reply) { number, name, &request, &reply },
#include "wire/consumerd_requests.def"
};

const struct wmk_request_type *wmk_consumerd_request_find(uint16_t type)
{
	return wmk_request_type_find(requests, WMK_ARRAY_LEN(requests), type);
}

int wmk_consumerd_send(struct wmk_out *out, uint16_t type, uint32_t request, const struct wmk_object *is,
		       const void *object, int fd)
{
	uint8_t *bytes, *at;
	long len;
	int err = 0;

	if (fd < 0)
		return wmk_object_send(out, type, request, is, object);
	len = wmk_object_encode(is, object, &bytes);
	if (len < 0)
		return (int)len;
	for (at = bytes; len > (long)WMK_FRAME_MAX && err == 0; at += WMK_FRAME_MAX, len -= WMK_FRAME_MAX)
		err = wmk_out_frame(out, (enum wmk_msg)WMK_OBJECT_PART, request, at, WMK_FRAME_MAX, -1);
	if (err == 0)
		err = wmk_out_frame(out, (enum wmk_msg)type, request, at, (size_t)len, fd);
	free(bytes);
	return err;
}

/* Append the body of a frame to the parts of an object that have arrived. */
static int join(struct wmk_consumerd_in *in, const void *body, size_t len)
{
	uint8_t *grown;

	if (len > WMK_OBJECT_MAX - in->len)
		return wmk_error(-EMSGSIZE, "an object of more than %u bytes", WMK_OBJECT_MAX);
	if (in->len + len > in->cap) {
		grown = realloc(in->joined, 2 * (in->len + len));
		if (!grown)
			return wmk_error(-ENOMEM, "no memory for a message");
		in->joined = grown;
		in->cap = 2 * (in->len + len);
	}
	if (len)
		memcpy(in->joined + in->len, body, len);
	in->len += len;
	return 0;
}

int wmk_consumerd_in_next(struct wmk_consumerd_in *in, struct wmk_frame *frame, const void **body, size_t *len, int *fd)
{
	int got;

	if (in->given_out) {
		free(in->joined);
		in->joined = NULL;
		in->len = in->cap = 0;
		in->given_out = false;
	}
	while ((got = wmk_in_frame(&in->frames, frame, body, fd)) == 1) {
		*len = frame->length;
		if (frame->type != WMK_OBJECT_PART && !in->len)
			return 1;
		got = join(in, *body, frame->length);
		if (got < 0 || frame->type == WMK_OBJECT_PART) {
			if (*fd >= 0)
				close(*fd);
			if (got < 0)
				return got;
			continue;
		}
		*body = in->joined;
		*len = in->len;
		in->given_out = true;
		return 1;
	}
	return got;
}

void wmk_consumerd_in_free(struct wmk_consumerd_in *in)
{
	wmk_in_free(&in->frames);
	free(in->joined);
	memset(in, 0, sizeof(*in));
}

void wmk_consumerd_stats_add(struct wmk_consumerd_stats *sum, const struct wmk_consumerd_stats *more)
{
	wmk_counts_add(&sum->counts, &more->counts);
	wmk_counts_add(&sum->earlier, &more->earlier);
	if (more->output_error)
		sum->output_error = more->output_error;
}
