/* SPDX-License-Identifier: MIT */
/* ingest.c - the messages of a sender: their order, and data (see ingest.h). */
#include "relay/ingest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/testpoint.h"
#include "relay/ingest_requests.h"

/* ── data ────────────────────────────────────────────────────────────────────────────────────────────── */

static int take_packet(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, uint8_t *body)
{
	struct wmk_ingest_trace *trace = ingest->trace;
	struct wmk_ingest_stream *stream;
	struct wmk_relay_packet is;
	int err = wmk_relay_packet_decode(body, frame->length, &is);

	if (err < 0)
		return err;
	stream = is.stream < ingest->n_streams ? ingest->streams[is.stream] : NULL;
	if (!stream)
		return wmk_error(-ENOENT, "a packet has the stream number %u, which is not open (STREAM opens it)",
				 is.stream);
	switch (wmk_ingest_compare(&stream->end, &is.packet, trace->byte_positions)) {
	case WMK_INGEST_WRITE:
		break;
	case WMK_INGEST_DROP:
		atomic_fetch_add_explicit(&trace->dropped, 1, memory_order_relaxed);
		return 0;
	case WMK_INGEST_PART:
		return wmk_error(-EEXIST, "a packet of stream \"%.200s\" begins at position %llu, but the relay has "
				 "the records up to %llu", stream->name, (unsigned long long)is.packet.ring_position,
				 (unsigned long long)stream->end.position);
	case WMK_INGEST_MISSING:
		return wmk_error(-ESTALE, "packet %llu of stream \"%.200s\" arrived, but the relay waits for packet "
				 "%llu", (unsigned long long)is.packet.sequence, stream->name,
				 (unsigned long long)stream->end.sequence);
	}
	const struct wmk_packet packet = {
		.begin_ts = is.packet.begin_ts, .end_ts = is.packet.end_ts, .position = is.packet.ring_position,
		.data = body + WMK_RELAY_PACKET_HEAD, .len = is.packet.content,
		/* The headers of the message have the size of the packet's header in the file, and make room for it. */
		.room = body + WMK_RELAY_PACKET_HEAD - WMK_CTF_PACKET_ROOM,
	};

	_Static_assert(WMK_RELAY_HEAD + WMK_RELAY_PACKET_HEAD >= WMK_CTF_PACKET_ROOM, "room for the header");
	if (is.packet.content)
		err = wmk_relay_host_room(ingest->relay->hosts, ingest->host, wmk_ctf_packet_size(&is.packet));
	if (err == 0)
		err = trace->out->ops->write(stream->out, &is.packet, &packet);
	if (err < 0)
		return err;
	WMK_TESTPOINT(relay_packet_written);
	wmk_ingest_advance(&stream->end, &is.packet, trace->byte_positions);
	stream->dirty = true;
	wmk_ingest_trace_count(trace);
	atomic_fetch_add_explicit(&trace->packets, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&trace->bytes, is.packet.content, memory_order_relaxed);
	return 0;
}

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
	char uuid[WMK_CLOCK_UUID];

	memset(uuid, 0, sizeof(uuid));
	strncpy(uuid, is->uuid, sizeof(uuid) - 1);
	ingest->trace->dirty = true;
	return ingest->trace->out->ops->clock_point(ingest->trace->out, uuid, &is->point);
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

/* METADATA that replaces the text has a later epoch than the trace. Its third member follows the offset. */
static bool is_replacement(const struct wmk_relay_frame *frame, const uint8_t *body)
{
	return frame->type == WMK_RELAY_METADATA && frame->length > 8 && body[8] == 1;
}

static int run_data(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, uint8_t *body)
{
	const bool raises = is_replacement(frame, body);
	uint32_t epoch;

	if (!ingest->trace)
		return wmk_error(-EPROTO, "data arrived without a trace (TRACE opens it)");
	epoch = ingest->trace->epoch;
	atomic_store_explicit(&ingest->trace->frame_ms, wmk_relay_now_ms(), memory_order_relaxed);
	if (!ingest->due_ms)
		ingest->due_ms = wmk_relay_now_ms() + WMK_INGEST_COMMIT_MS;
	if (frame->epoch < epoch || (raises && frame->epoch == epoch)) {
		atomic_fetch_add_explicit(&ingest->trace->dropped, 1, memory_order_relaxed);
		return 0;
	}
	if (frame->epoch > epoch && !raises)
		return wmk_error(-ESTALE, "data of epoch %u arrived, but the relay has epoch %u of this trace: a "
				 "rotation, a clear or a replacement of the metadata is missing", frame->epoch, epoch);
	return frame->type == WMK_RELAY_PACKET ? take_packet(ingest, frame, body) : take_object(ingest, frame, body);
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
	if (err == 0 && ingest->peer && strcmp(hello.host, ingest->peer) != 0)
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

static int dispatch(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, uint8_t *body)
{
	const struct wmk_request_type *type = wmk_relay_request_find(frame->type);

	if (frame->number != ingest->number + 1)
		return wmk_error(-EPROTO, "message %u arrived after message %u", frame->number, ingest->number);
	if (!ingest->greeted)
		return frame->type == WMK_RELAY_HELLO
			       ? take_hello(ingest, frame, body)
			       : wmk_error(-EPROTO, "the first message has the type 0x%x, not HELLO", frame->type);
	if (type)
		return wmk_ingest_request(ingest, frame, type, body);
	if (frame->type == WMK_RELAY_PACKET || wmk_relay_data_object(frame->type))
		return run_data(ingest, frame, body);
	return wmk_error(-EPROTO, "a sender cannot send a message of type 0x%x", frame->type);
}

int wmk_ingest_message(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, uint8_t *body)
{
	int err = dispatch(ingest, frame, body);

	if (err >= 0) {
		ingest->number = frame->number;
		return 0;
	}
	/* Acknowledge what was processed before, in front of the error. */
	struct wmk_error_chain *chain = wmk_error_take();

	if (wmk_ingest_commit(ingest) < 0)
		wmk_error_clear();
	wmk_error_give(chain);
	return wmk_ingest_refuse(ingest, frame->number, err);
}

void wmk_ingest_end(struct wmk_ingest *ingest)
{
	if (ingest->trace && wmk_ingest_commit(ingest) < 0)
		wmk_error_clear();
	if (ingest->trace)
		wmk_ingest_trace_leave(ingest->relay->traces, ingest->trace, NULL);
	if (ingest->host)
		wmk_relay_host_leave(ingest->relay->hosts, ingest->host);
	free(ingest->streams);
	ingest->streams = NULL;
	ingest->n_streams = 0;
	ingest->trace = NULL;
	ingest->host = NULL;
}
