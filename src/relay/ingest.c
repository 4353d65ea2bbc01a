/* SPDX-License-Identifier: MIT */
/* ingest.c - the messages of a sender: their order, and data (see ingest.h). */
#include "relay/ingest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "relay/ingest_packet.h"
#include "relay/ingest_requests.h"
#include "relay/ingest_view.h"

/* ── data ────────────────────────────────────────────────────────────────────────────────────────────── */

static int take_metadata(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame,
			 const struct wmk_relay_metadata *is)
{
	struct wmk_ingest_trace *trace = ingest->trace;
	const size_t len = strlen(is->text);
	int err;

	trace->dirty = true;
	if (!is->replace) {
		err = trace->out->ops->metadata(trace->out, is->offset, is->text, len);
	} else {
		err = wmk_ingest_trace_sync(trace);
		if (err == 0)
			err = trace->out->ops->metadata_replace(trace->out, is->text, len);
		trace->dirty = true;
		if (err == 0)
			err = wmk_ingest_trace_sync(trace);
		if (err == 0)
			err = wmk_ingest_trace_raise(trace, frame->epoch);
	}
	wmk_ingest_trace_count(trace);
	return err;
}

static int take_amend(struct wmk_ingest *ingest, const struct wmk_relay_amend *is)
{
	struct wmk_ingest_stream *stream = is->stream < ingest->n_streams ? ingest->streams[is->stream] : NULL;
	int err;

	if (!stream)
		return wmk_error(-ENOENT, "the stream number %u is not open", is->stream);
	err = ingest->trace->out->ops->amend(stream->out, is->lost);
	if (err < 0)
		return err;
	stream->end.last.lost = is->lost;
	stream->dirty = true;
	return 0;
}

static int take_clock(struct wmk_ingest *ingest, const struct wmk_relay_clock *is)
{
	struct wmk_clock_head head = { .kind = 0 };

	/* The relay's machine was restarted after the measurement, so ignore the clock point. */
	if (is->relay[0] && strcmp(is->relay, ingest->relay->clock_uuid) != 0)
		return 0;
	snprintf(head.uuid, sizeof(head.uuid), "%s", is->uuid);
	if (is->relay[0]) {
		snprintf(head.relay, sizeof(head.relay), "%s", is->relay);
		snprintf(head.host, sizeof(head.host), "%.63s", ingest->host->is.name);
	}
	ingest->trace->dirty = true;
	return ingest->trace->out->ops->clock_point(ingest->trace->out, &head, &is->point);
}

static int take_object(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, const uint8_t *body)
{
	const struct wmk_object *is = wmk_relay_data_object(frame->type);
	struct wmk_arena arena = { 0 };
	void *object = calloc(1, is->size);
	int err = object ? wmk_object_decode(is, body, frame->length, object, &arena)
			 : wmk_error(-ENOMEM, "no memory for a message");

	if (err == 0) {
		switch (frame->type) {
		case WMK_RELAY_METADATA:
			err = take_metadata(ingest, frame, object);
			break;
		case WMK_RELAY_AMEND:
			err = take_amend(ingest, object);
			break;
		case WMK_RELAY_CLOCK_POINT:
			err = take_clock(ingest, object);
			break;
		default:
			ingest->trace->out->ops->low_water(ingest->trace->out,
							   ((const struct wmk_relay_low_water *)object)->ts);
		}
	}
	free(object);
	wmk_arena_free(&arena);
	return err;
}

/*
 * A METADATA message that replaces the text increases the epoch of the trace. The flag for a replacement is the third
 * member of the message, after the offset.
 */
static bool is_replacement(const struct wmk_relay_frame *frame, const uint8_t *body)
{
	return frame->type == WMK_RELAY_METADATA && frame->length > 8 && body[8] == 1;
}

static void commit_later(struct wmk_ingest *ingest)
{
	if (!ingest->due_ms)
		ingest->due_ms = wmk_relay_now_ms() + WMK_INGEST_COMMIT_MS;
}

/* 1: process this message; 0: the message has an earlier epoch, and is dropped; -errno. */
static int data_is_current(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, bool raises)
{
	uint32_t epoch;

	if (!ingest->trace)
		return wmk_error(-EPROTO, "data arrived before a trace was opened (TRACE opens a trace)");
	epoch = ingest->trace->epoch;
	atomic_store_explicit(&ingest->trace->frame_ms, wmk_relay_now_ms(), memory_order_relaxed);
	commit_later(ingest);
	if (frame->epoch < epoch || (raises && frame->epoch == epoch)) {
		atomic_fetch_add_explicit(&ingest->trace->dropped, 1, memory_order_relaxed);
		return 0;
	}
	if (frame->epoch > epoch && !raises)
		return wmk_error(-ESTALE, "data of epoch %u arrived, but the relay has epoch %u of this trace: a "
				 "rotation, a clear or a replacement of the metadata is missing", frame->epoch, epoch);
	return 1;
}

static int run_data(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, uint8_t *body)
{
	int current = data_is_current(ingest, frame, is_replacement(frame, body));

	if (current <= 0)
		return current;
	return frame->type == WMK_RELAY_PACKET ? wmk_ingest_packet(ingest, frame, body)
					       : take_object(ingest, frame, body);
}

/* ── the connection ──────────────────────────────────────────────────────────────────────────────────── */

static int take_hello(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, const uint8_t *body)
{
	struct wmk_relay_hello hello;
	struct wmk_arena arena = { 0 };
	int err = wmk_object_decode(&wmk_relay_hello_object, body, frame->length, &hello, &arena);

	if (err == 0 && strcmp(hello.greeting, WMK_RELAY_SENDER) != 0)
		err = wmk_error(-EPROTO, "the peer's greeting is \"%.64s\", not \"%s\": other programs cannot send to "
				"this relay", hello.greeting, WMK_RELAY_SENDER);
	if (err == 0 && ingest->peer && hello.host[0] && strcmp(ingest->role, "viewer") == 0)
		err = wmk_error(-EACCES, "the certificate of \"%.64s\" is that of a viewer, which cannot send",
				ingest->peer);
	/* A viewer sends no host name, and neither does a client that queries the status. */
	if (err == 0 && ingest->peer && hello.host[0] && strcmp(hello.host, ingest->peer) != 0)
		err = wmk_error(-EACCES, "the certificate is of host \"%.64s\", but the sender's name is \"%.64s\"",
				ingest->peer, hello.host);
	if (err == 0 && hello.host[0])
		err = wmk_relay_host_enter(ingest->relay->hosts, hello.host, &ingest->host);
	if (err < 0)
		ingest->host = NULL;
	ingest->greeted = err == 0;
	wmk_arena_free(&arena);
	return err;
}

static int check_order(const struct wmk_ingest *ingest, const struct wmk_relay_frame *frame)
{
	if (frame->number != ingest->number + 1)
		return wmk_error(-EPROTO, "message %u arrived after message %u", frame->number, ingest->number);
	if (!ingest->greeted && frame->type != WMK_RELAY_HELLO)
		return wmk_error(-EPROTO, "the first message has the type 0x%x, not HELLO", frame->type);
	return 0;
}

static int dispatch(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, uint8_t *body)
{
	const struct wmk_request_type *type = wmk_relay_request_find(frame->type);
	int err = check_order(ingest, frame);

	if (err < 0)
		return err;
	if (!ingest->greeted)
		return take_hello(ingest, frame, body);
	if (type)
		return wmk_ingest_request(ingest, frame, type, body);
	if (frame->type == WMK_RELAY_PACKET || wmk_relay_data_object(frame->type))
		return run_data(ingest, frame, body);
	return wmk_error(-EPROTO, "a sender cannot send a message of type 0x%x", frame->type);
}

/* End the connection. Data that was processed before the error is acknowledged before the connection ends. */
static int fail(struct wmk_ingest *ingest, uint32_t number, int err)
{
	struct wmk_error_chain *chain = wmk_error_take();

	wmk_ingest_packet_cancel(ingest);
	if (wmk_ingest_commit(ingest) < 0)
		wmk_error_clear();
	wmk_error_give(chain);
	return wmk_ingest_refuse(ingest, number, err);
}

/*
 * If a packet does not fit into the buffer, each part of the packet is written when it arrives. 1: the header was
 * processed. 0: the packet is held in memory until it is complete, or its header has not arrived. -errno.
 */
static int begin_large_packet(struct wmk_ingest *ingest, struct wmk_relay_in *in)
{
	struct wmk_relay_frame frame;
	uint8_t *body;
	int got = wmk_relay_in_head(in, &frame, &body, WMK_RELAY_PACKET_HEAD);

	if (got <= 0 || frame.type != WMK_RELAY_PACKET || frame.length <= WMK_RELAY_BUFFER)
		return 0;
	/*
	 * If the packet is collected in memory instead, the relay decodes the header again with each part that arrives.
	 */
	if (ingest->held == frame.number)
		return 0;
	got = check_order(ingest, &frame);
	if (got == 0)
		got = data_is_current(ingest, &frame, false);
	if (got >= 0)
		got = wmk_ingest_packet_begin(ingest, &frame, body, got == 0);
	if (got < 0)
		return fail(ingest, frame.number, got);
	if (got == 0)
		ingest->held = frame.number;
	else
		in->next += WMK_RELAY_HEAD + WMK_RELAY_PACKET_HEAD;
	return got;
}

static int take_part(struct wmk_ingest *ingest, struct wmk_relay_in *in)
{
	const size_t have = in->len - in->next;
	const size_t n = have < ingest->arriving.left ? have : (size_t)ingest->arriving.left;
	const uint32_t number = ingest->number + 1;
	int err = wmk_ingest_packet_part(ingest, in->buf + in->next, n);

	in->next += n;
	if (err < 0)
		return fail(ingest, number, err);
	if (ingest->arriving.left)
		return 0;
	ingest->number = number;
	/*
	 * A commit that ran before the last part of the packet arrived did not acknowledge the packet, so schedule
	 * another commit.
	 */
	commit_later(ingest);
	return 0;
}

static int take_message(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, uint8_t *body)
{
	int err = dispatch(ingest, frame, body);

	if (err < 0)
		return fail(ingest, frame->number, err);
	ingest->number = frame->number;
	return 0;
}

int wmk_ingest_take(struct wmk_ingest *ingest, struct wmk_relay_in *in)
{
	struct wmk_relay_frame frame;
	uint8_t *body;
	int got = 1, err;

	while (got > 0) {
		if (ingest->arriving.left) {
			err = take_part(ingest, in);
			got = ingest->arriving.left == 0;
		} else {
			got = wmk_relay_in_message(in, &frame, &body);
			if (got < 0)
				return fail(ingest, ingest->number + 1, got);
			err = got == 1 ? take_message(ingest, &frame, body) : 0;
			if (got == 0)
				err = got = begin_large_packet(ingest, in);
		}
		if (err >= 0 && ingest->due_ms && wmk_relay_now_ms() >= ingest->due_ms)
			err = wmk_ingest_commit(ingest);
		if (err < 0)
			return err;
	}
	return 0;
}

void wmk_ingest_end(struct wmk_ingest *ingest)
{
	wmk_ingest_packet_cancel(ingest);
	if (ingest->trace && wmk_ingest_commit(ingest) < 0)
		wmk_error_clear();
	if (ingest->trace)
		wmk_ingest_trace_leave(ingest->relay->traces, ingest->trace, NULL);
	if (ingest->host)
		wmk_relay_host_leave(ingest->relay->hosts, ingest->host);
	wmk_ingest_view_end(ingest);
	free(ingest->streams);
	ingest->streams = NULL;
	ingest->n_streams = 0;
	ingest->trace = NULL;
	ingest->host = NULL;
}
