/* SPDX-License-Identifier: MIT */
/* ingest_requests.c - the requests of a sender (see ingest_requests.h). */
#include "relay/ingest_requests.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "relay/ingest_answer.h"
#include "relay/ingest_view.h"
#include "relay/relay_status.h"
#include "store/archive.h"

/* ── requests about a session ────────────────────────────────────────────────────────────────────────── */

static int names_check(const struct wmk_relay_output *is, uint16_t type)
{
	int err = 0;

	if (type == WMK_RELAY_REMOVE_PROCESS || type == WMK_RELAY_ARCHIVE_PROCESS)
		err = wmk_relay_name_check("the name of a process's trace", is->name, WMK_RELAY_NAME_MAX);
	if (err == 0 && (type == WMK_RELAY_ARCHIVE_PROCESS || type == WMK_RELAY_ARCHIVE_END))
		err = wmk_relay_name_check("the name of a chunk", is->chunk, WMK_RELAY_NAME_MAX);
	return err;
}

struct process_names {
	struct wmk_arena *arena;
	struct wmk_list list;
};

static int add_name(void *data, const char *name)
{
	struct process_names *names = data;
	const char *copy = wmk_arena_text(names->arena, name);
	const char **at = names->list.n < WMK_RELAY_PROCESSES_MAX
				  ? wmk_arena_append(names->arena, &names->list, sizeof(*at))
				  : NULL;

	if (!copy || !at)
		return -ENOMEM;
	*at = copy;
	return 0;
}

static int output_request(struct wmk_output *output, uint16_t type, const struct wmk_relay_output *is,
			  struct process_names *names)
{
	switch (type) {
	case WMK_RELAY_CHECK:
		return output->ops->check(output);
	case WMK_RELAY_PROCESSES:
		return output->ops->each_process(output, add_name, names);
	case WMK_RELAY_REMOVE_PROCESS:
		return output->ops->remove_process(output, is->name);
	case WMK_RELAY_ARCHIVE_PROCESS:
		return output->ops->archive_process(output, is->name, is->chunk);
	default:
		return output->ops->archive_end(output, is->chunk);
	}
}

/* CHECK, PROCESSES, REMOVE_PROCESS, ARCHIVE_PROCESS, ARCHIVE_END. */
static int about_session(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, const void *request,
			 struct wmk_arena *arena)
{
	const struct wmk_relay_output *is = request;
	struct wmk_output_directory_options options = { .uid = geteuid(), .gid = getegid(), .budget_fd = -1 };
	struct process_names names = { .arena = arena };
	struct wmk_output *output;
	const struct wmk_empty none = { 0 };
	bool exists;
	char *path;
	int err = names_check(is, frame->type);

	if (err == 0)
		err = wmk_relay_host_path(ingest->relay->hosts, ingest->host, is->session, "", &path, &exists);
	if (err < 0)
		return err;
	options.path = path;
	err = wmk_output_directory_open(&options, &output);
	free(path);
	if (err < 0)
		return err;
	err = output_request(output, frame->type, is, &names);
	output->ops->close(output);
	if (err < 0)
		return err;
	if (frame->type == WMK_RELAY_REMOVE_PROCESS)
		wmk_relay_host_measure(ingest->relay->hosts, ingest->host);
	if (frame->type != WMK_RELAY_PROCESSES)
		return wmk_ingest_answer(ingest, WMK_RELAY_REPLY, frame->number, &wmk_empty_object, &none);
	const struct wmk_relay_names reply = { .names = names.list };

	return wmk_ingest_answer(ingest, WMK_RELAY_REPLY, frame->number, &wmk_relay_names_object, &reply);
}

/* ── requests about a trace ──────────────────────────────────────────────────────────────────────────── */

static void cut_ingest(void *owner)
{
	struct wmk_ingest *ingest = owner;

	ingest->cut(ingest->data);
}

static int request_trace(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, const void *request,
			 struct wmk_arena *arena)
{
	struct wmk_relay_trace_reply reply;
	int err;

	(void)arena;
	if (ingest->trace)
		return wmk_error(-EISCONN, "this connection already has an open trace (send CLOSE first)");
	err = wmk_relay_sub_check(((const struct wmk_relay_trace *)request)->sub);
	if (err == 0)
		err = wmk_relay_host_room(ingest->relay->hosts, ingest->host, 0);
	if (err == 0)
		err = wmk_ingest_trace_open(ingest->relay->traces, ingest->host, request, ingest, cut_ingest,
					    &ingest->trace);
	if (err < 0)
		return err;
	reply = (struct wmk_relay_trace_reply){
		.epoch = ingest->trace->epoch, .chunk = ingest->trace->out->ops->chunk(ingest->trace->out),
		.metadata = wmk_store_metadata_bytes(wmk_output_directory_store(ingest->trace->out)),
	};
	return wmk_ingest_answer(ingest, WMK_RELAY_REPLY, frame->number, &wmk_relay_trace_reply_object, &reply);
}

/* Map the stream's number to the stream. */
static int number_stream(struct wmk_ingest *ingest, uint32_t number, struct wmk_ingest_stream *stream)
{
	struct wmk_ingest_stream **grown;

	if (number >= WMK_RELAY_STREAMS_MAX)
		return wmk_error(-EINVAL, "the number %u of a stream is above the limit of %u", number,
				 WMK_RELAY_STREAMS_MAX - 1);
	if (number >= ingest->n_streams) {
		grown = realloc(ingest->streams, (number + 1) * sizeof(struct wmk_ingest_stream *));
		if (!grown)
			return wmk_error(-ENOMEM, "no memory for another stream");
		memset(grown + ingest->n_streams, 0, (number + 1 - ingest->n_streams) * sizeof(*grown));
		ingest->streams = grown;
		ingest->n_streams = number + 1;
	}
	ingest->streams[number] = stream;
	return 0;
}

static void forget_stream(struct wmk_ingest *ingest, const struct wmk_ingest_stream *stream)
{
	for (uint32_t i = 0; i < ingest->n_streams; i++)
		if (ingest->streams[i] == stream || !stream)
			ingest->streams[i] = NULL;
}

/* The sender no longer has the packets that precede the packet `next`. */
static void add_gap(struct wmk_ingest *ingest, struct wmk_ingest_stream *stream, uint64_t next)
{
	char text[WMK_RELAY_MESSAGE_MAX + 1];

	snprintf(text, sizeof(text), "packets before packet %llu of stream \"%.200s\" of session %.200s are lost: the "
		 "relay lost files, or the sender's machine was reset", (unsigned long long)next, stream->name,
		 ingest->trace->session);
	wmk_relay_host_set_error(ingest->relay->hosts, ingest->host, text);
	atomic_fetch_add_explicit(&ingest->trace->gaps, 1, memory_order_relaxed);
	stream->end.sequence = next;
}

static int request_stream(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, const void *request,
			  struct wmk_arena *arena)
{
	const struct wmk_relay_stream *is = request;
	struct wmk_relay_stream_reply reply = { 0 };
	struct wmk_ingest_stream *stream, *before;
	int err = wmk_relay_name_check("the name of a stream", is->name, WMK_RELAY_NAME_MAX);

	(void)arena;
	if (err < 0)
		return err;
	before = wmk_ingest_stream_find(ingest->trace, is->name);
	err = wmk_ingest_stream_open(ingest->trace, is, &stream);
	if (before && (err < 0 || before != stream))
		forget_stream(ingest, before);
	if (err == 0 && is->continue_at && stream->end.sequence <= is->continue_at)
		add_gap(ingest, stream, is->continue_at);
	if (err == 0)
		err = number_stream(ingest, is->stream, stream);
	if (err < 0)
		return err;
	reply.found = stream->end.any;
	reply.last = stream->end.last;
	return wmk_ingest_answer(ingest, WMK_RELAY_REPLY, frame->number, &wmk_relay_stream_reply_object, &reply);
}

static int remove_stream(struct wmk_ingest *ingest, const struct wmk_relay_stream *is, uint32_t epoch)
{
	const struct wmk_store_limits limits = { .size = is->tracefile_size, .count = is->tracefile_count };
	struct wmk_ingest_stream *stream;
	int err = wmk_relay_name_check("the name of a stream", is->name, WMK_RELAY_NAME_MAX);

	if (err == 0)
		err = wmk_ingest_trace_sync(ingest->trace);
	if (err < 0)
		return err;
	stream = wmk_ingest_stream_find(ingest->trace, is->name);
	if (stream) {
		forget_stream(ingest, stream);
		wmk_ingest_stream_close(ingest->trace, stream);
	}
	err = ingest->trace->out->ops->stream_remove(ingest->trace->out, is->name, &limits);
	wmk_ingest_trace_count(ingest->trace);
	return err < 0 ? err : wmk_ingest_trace_raise(ingest->trace, epoch);
}

static int request_remove(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, const void *request,
			  struct wmk_arena *arena)
{
	const struct wmk_empty none = { 0 };
	int err = 0;

	(void)arena;
	if (frame->epoch > ingest->trace->epoch)
		err = remove_stream(ingest, request, frame->epoch);
	return err < 0 ? err : wmk_ingest_answer(ingest, WMK_RELAY_REPLY, frame->number, &wmk_empty_object, &none);
}

static int rotate(struct wmk_ingest *ingest, const struct wmk_relay_rotation *is, uint32_t epoch)
{
	struct wmk_ingest_trace *trace = ingest->trace;
	int err = wmk_relay_name_check("the name of a chunk", is->name, WMK_RELAY_NAME_MAX);

	if (err == 0)
		err = wmk_ingest_trace_sync(trace);
	if (err < 0)
		return err;
	wmk_ingest_trace_count(trace);
	forget_stream(ingest, NULL);
	wmk_ingest_streams_close(trace);
	if (trace->out->ops->chunk(trace->out) < is->chunk) {
		err = trace->out->ops->rotate(trace->out, is->name, is->chunk);
		/* The closed chunk remains in the byte count of the host. */
		trace->counted = trace->out->ops->bytes(trace->out);
	}
	if (err < 0)
		return err;
	trace->dirty = true;
	atomic_store_explicit(&trace->chunk, is->chunk, memory_order_relaxed);
	return wmk_ingest_trace_raise(ingest->trace, epoch);
}

static int request_rotate(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, const void *request,
			  struct wmk_arena *arena)
{
	const struct wmk_empty none = { 0 };
	int err = 0;

	(void)arena;
	if (frame->epoch > ingest->trace->epoch)
		err = rotate(ingest, request, frame->epoch);
	return err < 0 ? err : wmk_ingest_answer(ingest, WMK_RELAY_REPLY, frame->number, &wmk_empty_object, &none);
}

static int request_chunk_last(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, const void *request,
			      struct wmk_arena *arena)
{
	const struct wmk_relay_stream *is = request;
	const struct wmk_store_limits limits = { .size = is->tracefile_size, .count = is->tracefile_count };
	struct wmk_relay_stream_reply reply = { 0 };
	int found = wmk_relay_name_check("the name of a stream", is->name, WMK_RELAY_NAME_MAX);

	(void)arena;
	if (found == 0)
		found = wmk_relay_name_check("the name of a chunk", is->chunk, WMK_RELAY_NAME_MAX);
	if (found == 0)
		found = ingest->trace->out->ops->chunk_last(ingest->trace->out, is->chunk, is->name, &limits,
							    &reply.last);
	if (found < 0)
		return found;
	reply.found = found == 1;
	return wmk_ingest_answer(ingest, WMK_RELAY_REPLY, frame->number, &wmk_relay_stream_reply_object, &reply);
}

static int request_journal(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, const void *request,
			   struct wmk_arena *arena)
{
	const struct wmk_relay_text *is = request;
	const struct wmk_empty none = { 0 };
	int err = ingest->trace->out->ops->journal(ingest->trace->out, is->text, strlen(is->text));

	(void)arena;
	return err < 0 ? err : wmk_ingest_answer(ingest, WMK_RELAY_REPLY, frame->number, &wmk_empty_object, &none);
}

static int request_journal_read(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, const void *request,
				struct wmk_arena *arena)
{
	char *text;
	int err = ingest->trace->out->ops->journal_read(ingest->trace->out, &text);
	struct wmk_relay_text reply;

	(void)arena;
	(void)request;
	if (err < 0)
		return err;
	reply.text = text;
	err = wmk_ingest_answer(ingest, WMK_RELAY_REPLY, frame->number, &wmk_relay_text_object, &reply);
	free(text);
	return err;
}

static int request_close(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, const void *request,
			 struct wmk_arena *arena)
{
	const struct wmk_empty none = { 0 };
	int err = wmk_ingest_trace_sync(ingest->trace);

	(void)arena;
	(void)request;
	if (err < 0)
		return err;
	forget_stream(ingest, NULL);
	wmk_ingest_trace_close(ingest->relay->traces, ingest->trace);
	ingest->trace = NULL;
	return wmk_ingest_answer(ingest, WMK_RELAY_REPLY, frame->number, &wmk_empty_object, &none);
}

static int request_status(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, const void *request,
			  struct wmk_arena *arena)
{
	struct wmk_relay_status status = { 0 };
	int err = wmk_relay_status_collect(ingest, arena, &status);

	(void)request;
	return err < 0 ? err
		       : wmk_ingest_answer(ingest, WMK_RELAY_REPLY, frame->number, &wmk_relay_status_object, &status);
}

/*
 * The relay reads the offset of the time namespace after taking the time `received_ns` and before taking the time
 * `sent_ns`. The time for reading the namespace offset therefore does not increase the uncertainty of the measurement.
 */
static int request_clock(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, const void *request,
			 struct wmk_arena *arena)
{
	const uint64_t received = wmk_clock_monotonic(), ahead = (uint64_t)wmk_clock_offsets().monotonic;
	struct wmk_relay_times times = { .uuid = ingest->relay->clock_uuid, .received_ns = received - ahead };
	struct timespec real;

	(void)request;
	(void)arena;
	clock_gettime(CLOCK_REALTIME, &real);
	times.sent_ns = wmk_clock_monotonic() - ahead;
	times.real_ns = (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec;
	return wmk_ingest_answer(ingest, WMK_RELAY_REPLY, frame->number, &wmk_relay_times_object, &times);
}

/* What a request needs: nothing, a host, or a trace. */
enum needs { NEEDS_NOTHING, NEEDS_HOST, NEEDS_TRACE };

static const struct {
	uint16_t type;
	enum needs needs;
	int (*run)(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, const void *request,
		   struct wmk_arena *arena);
} requests[] = {
	{ WMK_RELAY_CHECK, NEEDS_HOST, about_session },
	{ WMK_RELAY_PROCESSES, NEEDS_HOST, about_session },
	{ WMK_RELAY_REMOVE_PROCESS, NEEDS_HOST, about_session },
	{ WMK_RELAY_ARCHIVE_PROCESS, NEEDS_HOST, about_session },
	{ WMK_RELAY_ARCHIVE_END, NEEDS_HOST, about_session },
	{ WMK_RELAY_TRACE, NEEDS_HOST, request_trace },
	{ WMK_RELAY_STREAM, NEEDS_TRACE, request_stream },
	{ WMK_RELAY_STREAM_REMOVE, NEEDS_TRACE, request_remove },
	{ WMK_RELAY_ROTATE, NEEDS_TRACE, request_rotate },
	{ WMK_RELAY_CHUNK_LAST, NEEDS_TRACE, request_chunk_last },
	{ WMK_RELAY_JOURNAL, NEEDS_TRACE, request_journal },
	{ WMK_RELAY_JOURNAL_READ, NEEDS_TRACE, request_journal_read },
	{ WMK_RELAY_CLOSE, NEEDS_TRACE, request_close },
	{ WMK_RELAY_STATUS, NEEDS_NOTHING, request_status },
	{ WMK_RELAY_CLOCK, NEEDS_NOTHING, request_clock },
	{ WMK_RELAY_VIEW_LIST, NEEDS_NOTHING, wmk_ingest_view_list },
	{ WMK_RELAY_VIEW_READ, NEEDS_NOTHING, wmk_ingest_view_read },
};

int wmk_ingest_request(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame,
		       const struct wmk_request_type *type, const uint8_t *body)
{
	struct wmk_arena arena = { 0 };
	void *object = calloc(1, type->request->size);
	size_t i = 0;
	int err = object ? wmk_object_decode(type->request, body, frame->length, object, &arena)
			 : wmk_error(-ENOMEM, "no memory for a request");

	if (err < 0) {
		free(object);
		wmk_arena_free(&arena);
		return err;
	}
	while (requests[i].type != frame->type)
		i++;
	if (requests[i].needs >= NEEDS_HOST && !ingest->host)
		err = wmk_error(-EPROTO, "the request %s needs the name of a host in HELLO", type->name);
	else if (requests[i].needs == NEEDS_TRACE && !ingest->trace)
		err = wmk_error(-EPROTO, "the request %s needs a trace (TRACE opens it)", type->name);
	else
		err = requests[i].run(ingest, frame, object, &arena);
	if (err < 0)
		wmk_ingest_send_error(ingest, frame->number, err);
	free(object);
	wmk_arena_free(&arena);
	return 0;
}
