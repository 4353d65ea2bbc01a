/* SPDX-License-Identifier: MIT */
/*
 * packet_head.c - keep a copy of a packet's head (see packet_head.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ctf/writer.h"
#include "read/packet_head.h"
#include "read/window.h"

int wmk_read_packet_head_keep(struct wmk_read_packet_head *head, const struct wmk_read_stream *stream)
{
	const size_t size = (stream->packet.records_at + 7) / 8;

	if (size > head->cap) {
		uint8_t *bytes = realloc(head->bytes, size);

		if (!bytes)
			return wmk_error(-ENOMEM, "no memory for a packet header of '%.240s'", stream->file);
		head->bytes = bytes;
		head->cap = size;
	}
	if (size)
		memcpy(head->bytes, stream->bytes.bytes, size);
	head->walk = stream->record.walk;
	head->walk.in = (struct wmk_ctf_bytes){ head->bytes, 0, stream->packet.records_at };
	return 0;
}

void wmk_read_packet_trailer(struct wmk_read_stream *stream, struct wmk_print_trailer *trailer)
{
	const struct wmk_read_packet *packet = &stream->packet;
	const uint64_t content = (packet->content + 7) / 8;
	struct wmk_ctf_packet values;
	uint8_t bytes[WMK_CTF_TRAILER];

	trailer->is_there = false;
	if (packet->is_cut || packet->size < content + sizeof(bytes) ||
	    wmk_read_window_get(stream, bytes, sizeof(bytes), packet->at + packet->size - sizeof(bytes)) !=
		    (ssize_t)sizeof(bytes) ||
	    !wmk_ctf_trailer_decode(bytes, &values)) {
		wmk_error_clear();
		return;
	}
	*trailer = (struct wmk_print_trailer){ true, values.ring_position, values.cut };
}

void wmk_read_packet_head_free(struct wmk_read_packet_head *head)
{
	free(head->bytes);
	*head = (struct wmk_read_packet_head){ .bytes = NULL };
}
