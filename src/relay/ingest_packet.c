/* SPDX-License-Identifier: MIT */
/* ingest_packet.c - packets of a sender (see ingest_packet.h). */
#include "relay/ingest_packet.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/testpoint.h"

/*
 * Compare the packet with the end of its stream, and check the quota of the host. 1: write it, to *stream; 0: drop it;
 * -errno.
 */
static int place(struct wmk_ingest *ingest, const struct wmk_relay_packet *is, struct wmk_ingest_stream **result)
{
	struct wmk_ingest_trace *trace = ingest->trace;
	struct wmk_ingest_stream *stream = is->stream < ingest->n_streams ? ingest->streams[is->stream] : NULL;
	int err = 0;

	if (!stream)
		return wmk_error(-ENOENT, "a packet has the stream number %u, which is not open (STREAM opens it)",
				 is->stream);
	*result = stream;
	switch (wmk_ingest_compare(&stream->end, &is->packet, trace->byte_positions)) {
	case WMK_INGEST_WRITE:
		break;
	case WMK_INGEST_DROP:
		atomic_fetch_add_explicit(&trace->dropped, 1, memory_order_relaxed);
		return 0;
	case WMK_INGEST_PART:
		return wmk_error(-EEXIST, "a packet of stream \"%.200s\" begins at position %llu, but the relay has "
				 "the records up to %llu", stream->name, (unsigned long long)is->packet.ring_position,
				 (unsigned long long)stream->end.position);
	case WMK_INGEST_MISSING:
		return wmk_error(-ESTALE, "packet %llu of stream \"%.200s\" arrived, but the relay waits for packet "
				 "%llu", (unsigned long long)is->packet.sequence, stream->name,
				 (unsigned long long)stream->end.sequence);
	}
	if (is->packet.content)
		err = wmk_relay_host_room(ingest->relay->hosts, ingest->host, wmk_ctf_packet_size(&is->packet));
	return err < 0 ? err : 1;
}

/* The packet has been written, so count the packet and advance the end of the stream. */
static void written(struct wmk_ingest *ingest, struct wmk_ingest_stream *stream, const struct wmk_ctf_packet *packet)
{
	struct wmk_ingest_trace *trace = ingest->trace;

	WMK_TESTPOINT(relay_packet_written);
	wmk_ingest_advance(&stream->end, packet, trace->byte_positions);
	stream->dirty = true;
	wmk_ingest_trace_count(trace);
	atomic_fetch_add_explicit(&trace->packets, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&trace->bytes, packet->content, memory_order_relaxed);
}

int wmk_ingest_packet(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, uint8_t *body)
{
	struct wmk_ingest_stream *stream;
	struct wmk_relay_packet is;
	int err = wmk_relay_packet_decode(body, frame->length, &is);

	if (err == 0)
		err = place(ingest, &is, &stream);
	if (err <= 0)
		return err;
	const struct wmk_packet packet = {
		.begin_ts = is.packet.begin_ts, .end_ts = is.packet.end_ts, .position = is.packet.ring_position,
		.data = body + WMK_RELAY_PACKET_HEAD, .len = is.packet.content,
		/*
		 * The packet header of the file overwrites the headers of the message. The headers of the message are
		 * at least as long as the packet header.
		 */
		.room = body + WMK_RELAY_PACKET_HEAD - WMK_CTF_PACKET_ROOM,
	};

	_Static_assert(WMK_RELAY_HEAD + WMK_RELAY_PACKET_HEAD >= WMK_CTF_PACKET_ROOM, "room for the header");
	err = ingest->trace->out->ops->write(stream->out, &is.packet, &packet);
	if (err < 0)
		return err;
	written(ingest, stream, &is.packet);
	return 0;
}

int wmk_ingest_packet_begin(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, const uint8_t *body,
			    bool drop)
{
	struct wmk_ingest_trace *trace = ingest->trace;
	struct wmk_ingest_stream *stream = NULL;
	struct wmk_relay_packet is;
	uint8_t uuid[16];
	int err = wmk_relay_packet_decode(body, frame->length, &is), held = 0;

	if (err == 0)
		err = drop ? 0 : place(ingest, &is, &stream);
	if (err < 0)
		return err;
	if (err == 1) {
		wmk_ctf_chunk_uuid(uuid, trace->uuid, trace->out->ops->chunk(trace->out));
		held = wmk_store_parts_begin(&ingest->arriving.parts, wmk_output_directory_stream(stream->out), uuid,
					     &is.packet);
	}
	if (held != 0)
		return held < 0 ? held : 0;
	ingest->arriving.stream = err == 1 ? stream : NULL;
	ingest->arriving.packet = is.packet;
	ingest->arriving.left = is.packet.content;
	return 1;
}

int wmk_ingest_packet_part(struct wmk_ingest *ingest, const uint8_t *bytes, size_t len)
{
	int err = 0;

	if (ingest->arriving.stream)
		err = wmk_store_parts_write(&ingest->arriving.parts, bytes, len);
	if (err < 0)
		return err;
	ingest->arriving.left -= len;
	if (ingest->arriving.left || !ingest->arriving.stream)
		return 0;
	err = wmk_store_parts_end(&ingest->arriving.parts);
	if (err < 0)
		return err;
	written(ingest, ingest->arriving.stream, &ingest->arriving.packet);
	return 0;
}

void wmk_ingest_packet_cancel(struct wmk_ingest *ingest)
{
	wmk_store_parts_cancel(&ingest->arriving.parts);
	ingest->arriving.left = 0;
}
