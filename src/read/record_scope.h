/* SPDX-License-Identifier: MIT */
/*
 * record_scope.h - the parts of a record that are walked through: which program decodes each, and where it begins.
 * Internal to src/read.
 */
#ifndef WMK_READ_RECORD_SCOPE_H
#define WMK_READ_RECORD_SCOPE_H

#include "read/trace.h"

/* In the order in which they stand in the file. */
enum wmk_read_record_scope { WMK_READ_OF_PACKET, WMK_READ_COMMON, WMK_READ_CONTEXT, WMK_READ_PAYLOAD, WMK_READ_SCOPES };

/*
 * The packet's context, that of all events of the stream, the event's own, its fields. `event` is not looked at for the
 * first two.
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
 * A walk over it may begin: its program; `stream`'s record has the walk. The packet's part is there behind
 * WMK_READ_PACKET only, the others behind WMK_READ_RECORD.
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
