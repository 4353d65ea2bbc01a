/* SPDX-License-Identifier: MIT */
/*
 * ingest_packet.h - packets of a sender: compared with the end that the relay has, then written. If a packet does not
 * fit into the buffer of the connection, each part of the packet is written when it arrives. Readers can see a large
 * packet only when all its parts are written.
 */
#ifndef WMK_RELAY_INGEST_PACKET_H
#define WMK_RELAY_INGEST_PACKET_H

#include "relay/ingest.h"

/*
 * Write a complete packet, or drop it. `body` has space for a packet header before the packet's records. 0 or -errno.
 */
int wmk_ingest_packet(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, uint8_t *body);
/*
 * Begin a large packet; `body` contains the packet's header. `drop` is true if the packet belongs to an earlier epoch.
 * 1: parts follow. 0: the packet must be held in memory. -errno.
 */
int wmk_ingest_packet_begin(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, const uint8_t *body,
			    bool drop);
/* Write the next part of the large packet's records; arriving.left is 0 after the last part. 0 or -errno. */
int wmk_ingest_packet_part(struct wmk_ingest *ingest, const uint8_t *bytes, size_t len);
/* Remove the written parts of an incomplete packet. */
void wmk_ingest_packet_cancel(struct wmk_ingest *ingest);

#endif
