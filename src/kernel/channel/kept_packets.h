/* SPDX-License-Identifier: MIT */
/*
 * kept_packets.h - the newest packets of one ring of system calls, kept in memory in overwrite mode. Private to
 * src/kernel.
 */
#ifndef WMK_KERNEL_KEPT_PACKETS_H
#define WMK_KERNEL_KEPT_PACKETS_H

#include <stddef.h>
#include <stdint.h>

#include "ctf/writer.h"

#define WMK_KEPT_PACKETS_ALIGN 4096u
/* room for a packet's header, so that header and records begin at an aligned address */
#define WMK_KEPT_PACKETS_ROOM (512u + WMK_CTF_PACKET_ROOM)

struct wmk_kept_packet {
	struct wmk_kept_packet *next;
	uint64_t begin_ts, end_ts;
	/* records: number of records in this packet; lost: known losses of the ring before the packet's end */
	uint64_t records, lost;
	uint8_t *memory, *data;          /* memory of the packet; its content of `len` bytes, with
					  * WMK_KEPT_PACKETS_ROOM writable bytes before it */
	size_t len;
};

struct wmk_kept_packets {
	uint64_t room;                   /* limit for the bytes of all packets; the newest packet is always kept */
	/*
	 * bytes: sum of all kept packets; overwritten: records that newer records replaced, or that did not fit in
	 * memory
	 */
	uint64_t bytes, overwritten;
	struct wmk_kept_packet *first, *last;
};

/*
 * Adds a packet with the counts and times of `header` and a copy of the content at `data`. Removes old packets above
 * the limit.
 */
void wmk_kept_packets_add(struct wmk_kept_packets *kept, const struct wmk_kept_packet *header, const uint8_t *data);
/* Removes and returns the oldest packet; the caller calls wmk_kept_packets_free(). NULL: none. */
struct wmk_kept_packet *wmk_kept_packets_take(struct wmk_kept_packets *kept);
void wmk_kept_packets_free(struct wmk_kept_packet *packet);
/* Removes all packets and resets the counts. */
void wmk_kept_packets_clear(struct wmk_kept_packets *kept);

#endif
