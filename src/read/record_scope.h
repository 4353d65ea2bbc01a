/* SPDX-License-Identifier: MIT */
/*
 * record_scope.h - the parts of a record that can be walked: for each, the program that decodes it and its position.
 * Internal to src/read.
 */
#ifndef WMK_READ_RECORD_SCOPE_H
#define WMK_READ_RECORD_SCOPE_H

#include "read/trace.h"

/* The scopes have the same order as their bytes in the file. */
enum wmk_read_record_scope { WMK_READ_OF_PACKET, WMK_READ_COMMON, WMK_READ_CONTEXT, WMK_READ_PAYLOAD, WMK_READ_SCOPES };

/*
 * Return the program of the packet context, the common context, the specific context or the payload. Only the specific
 * context and the payload depend on `event`.
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
 * Prepare the walk of the current record of `stream` for a scope, and return the program of the scope. The scope of the
 * packet is valid only after WMK_READ_PACKET; the other scopes are valid only after WMK_READ_RECORD.
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
