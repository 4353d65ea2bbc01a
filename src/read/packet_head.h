/* SPDX-License-Identifier: MIT */
/*
 * packet_head.h - a copy of a packet's header and context for the records of the packet. When a record of the packet is
 * read, the stream's window may no longer contain the header and the context. Internal to src/read.
 */
#ifndef WMK_READ_PACKET_HEAD_H
#define WMK_READ_PACKET_HEAD_H

#include "read/print.h"
#include "read/trace.h"

/* If all members are zero, the structure contains no header. */
struct wmk_read_packet_head {
	/* a walk over these bytes, with the header's registers; ready for the context, at packet.context_at */
	struct wmk_ctf_walk walk;
	uint8_t *bytes;
	size_t cap;
};

/* Replace the header of the previous packet; the caller calls this function after WMK_READ_PACKET. -ENOMEM. */
int wmk_read_packet_head_keep(struct wmk_read_packet_head *head, const struct wmk_read_stream *stream);
/* Read the trailer of the current packet, if the packet has a trailer. Moves no window. */
void wmk_read_packet_trailer(struct wmk_read_stream *stream, struct wmk_print_trailer *trailer);
void wmk_read_packet_head_free(struct wmk_read_packet_head *head);

#endif
