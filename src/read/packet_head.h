/* SPDX-License-Identifier: MIT */
/*
 * packet_head.h - the head of a stream's packet, its header and context, kept for its records: when they come, the
 * window has left it. Internal to src/read.
 */
#ifndef WMK_READ_PACKET_HEAD_H
#define WMK_READ_PACKET_HEAD_H

#include "read/trace.h"

/* All 0: none was kept yet. */
struct wmk_read_packet_head {
	/* over these bytes, with the header's registers: a walk over the context may begin, at packet.context_at */
	struct wmk_ctf_walk walk;
	uint8_t *bytes;
	size_t cap;
};

/* Behind WMK_READ_PACKET; the packet before is forgotten. -ENOMEM. */
int wmk_read_packet_head_keep(struct wmk_read_packet_head *head, const struct wmk_read_stream *stream);
void wmk_read_packet_head_free(struct wmk_read_packet_head *head);

#endif
