/* SPDX-License-Identifier: MIT */
/*
 * record_scope.h - the parts of a record that can be walked: for each, the program that decodes it and its position.
 * Internal to src/read.
 */
#ifndef WMK_READ_RECORD_SCOPE_H
#define WMK_READ_RECORD_SCOPE_H

#include "read/trace.h"

/* The order is that of the bytes in the file. */
enum wmk_read_record_scope { WMK_READ_OF_PACKET, WMK_READ_COMMON, WMK_READ_CONTEXT, WMK_READ_PAYLOAD, WMK_READ_SCOPES };

/*
 * The program of the packet's context, of the context of all events, of the event's own context, or of its fields.
 * `event` is used only for the event's own context and for its fields.
 */
static inline const struct wmk_ctf_program *wmk_read_scope_program(const struct wmk_ctf_stream_decoder *stream,
								  const struct wmk_ctf_event_decoder *event,
								  unsigned part)
{
	switch (part) {
	case WMK_READ_OF_PACKET: return &stream->packet_context;
	case WMK_READ_COMMON: return &stream->event_context;
	case WMK_READ_CONTEXT: return &event->context;
	default: return &event->payload;
	}
}

/*
 * Prepare the walk of `stream`'s record for a scope, and return the scope's program. The packet's scope is valid only
 * after WMK_READ_PACKET, the others only after WMK_READ_RECORD.
 */
static inline const struct wmk_ctf_program *wmk_read_scope_begin(struct wmk_read_stream *stream, unsigned part)
{
	struct wmk_ctf_record *record = &stream->record;
	const uint64_t starts[WMK_READ_SCOPES] = { stream->packet.context_at, record->common_at, record->context_at,
						  record->payload_at };

	record->walk.in = stream->bytes;
	record->walk.err = 0;
	record->walk.at = starts[part];
	return wmk_read_scope_program(stream->decoder, record->event, part);
}

#endif
