/* SPDX-License-Identifier: MIT */
/*
 * packet_head.c - keep a copy of a packet's head (see packet_head.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "read/packet_head.h"

int wmk_read_packet_head_keep(struct wmk_read_packet_head *head, const struct wmk_read_stream *stream)
{
	const size_t size = (stream->packet.records_at + 7) / 8;

	if (size > head->cap) {
		uint8_t *bytes = realloc(head->bytes, size);

		if (!bytes)
			return wmk_error(-ENOMEM, "no memory for the head of a packet of '%.240s'", stream->file);
		head->bytes = bytes;
		head->cap = size;
	}
	if (size)
		memcpy(head->bytes, stream->bytes.bytes, size);
	head->walk = stream->record.walk;
	head->walk.in = (struct wmk_ctf_bytes){ head->bytes, 0, stream->packet.records_at };
	return 0;
}

void wmk_read_packet_head_free(struct wmk_read_packet_head *head)
{
	free(head->bytes);
	*head = (struct wmk_read_packet_head){ .bytes = NULL };
}
