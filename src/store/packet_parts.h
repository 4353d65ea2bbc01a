/* SPDX-License-Identifier: MIT */
/*
 * packet_parts.h - write a packet in parts, as its records arrive from another machine. A reader can find the packet
 * only when the packet is complete, with its trailer and its index entry. A crash leaves an incomplete packet, which
 * the next wmk_store_stream_open() removes.
 *
 *     begin ──► write, write, ... ──► end
 *                   └── cancel: the stream has no part of the packet
 *
 * Between begin and end, wmk_store_stream_sync() is the only other function of the stream that may be called. Errors
 * are -errno with a cause chain; after an error, only the cancel function may be called.
 */
#ifndef WMK_STORE_PACKET_PARTS_H
#define WMK_STORE_PACKET_PARTS_H

#include "store/store.h"

struct wmk_store_parts {
	struct wmk_store_stream *stream;     /* NULL: no packet has begun */
	struct wmk_ctf_packet packet;        /* with its padding */
	uint64_t at;                         /* where the next part belongs in the file */
};

/*
 * Begin a packet; the stream must not have a budget. 0; 1: the packet needs another file of the stream, and has to be
 * written as a whole; -ENOSPC, -errno.
 */
int wmk_store_parts_begin(struct wmk_store_parts *parts, struct wmk_store_stream *stream, const uint8_t uuid[16],
			  const struct wmk_ctf_packet *packet);
int wmk_store_parts_write(struct wmk_store_parts *parts, const void *bytes, size_t len);
/* Call this after all packet.content bytes were written. */
int wmk_store_parts_end(struct wmk_store_parts *parts);
/* The function has no effect if no packet was begun. */
void wmk_store_parts_cancel(struct wmk_store_parts *parts);

#endif
