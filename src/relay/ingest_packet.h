/* SPDX-License-Identifier: MIT */
/*
 * ingest_packet.h - packets of a sender: compared with the end that the relay has, then written. A packet that does not
 * fit into the buffer of the connection is written as it arrives. Readers see this packet when it is complete.
 */
#ifndef WMK_RELAY_INGEST_PACKET_H
#define WMK_RELAY_INGEST_PACKET_H

#include "relay/ingest.h"

/* Write or drop a complete packet. `body` has room for a packet header in front of its records. 0 or -errno. */
int wmk_ingest_packet(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, uint8_t *body);
/*
 * Begin a large packet: `body` has its header. `drop`: the packet has an earlier epoch. 1: parts follow. 0: the packet
 * must be held in memory. -errno.
 */
int wmk_ingest_packet_begin(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, const uint8_t *body,
			    bool drop);
/* Write the next part of the large packet's records; after the last part, arriving.left is 0. 0 or -errno. */
int wmk_ingest_packet_part(struct wmk_ingest *ingest, const uint8_t *bytes, size_t len);
/* Remove the parts of an incomplete packet. */
void wmk_ingest_packet_cancel(struct wmk_ingest *ingest);

#endif
