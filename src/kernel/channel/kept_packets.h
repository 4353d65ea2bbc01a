/* SPDX-License-Identifier: MIT */
/*
 * kept_packets.h - the packets of one ring of system calls that are kept in memory in overwrite mode, the newest ones.
 * Private to src/kernel.
 */
#ifndef WMK_KERNEL_KEPT_PACKETS_H
#define WMK_KERNEL_KEPT_PACKETS_H

#include <stddef.h>
#include <stdint.h>

#include "ctf/writer.h"

#define WMK_KEPT_PACKETS_ALIGN 4096u
/* for a packet's header: header and records can be written from an aligned place */
#define WMK_KEPT_PACKETS_ROOM (512u + WMK_CTF_PACKET_ROOM)

struct wmk_kept_packet {
	struct wmk_kept_packet *next;
	uint64_t begin_ts, end_ts;
	uint64_t records, lost;          /* records of this packet; known to be lost in the ring before its end */
	uint8_t *memory, *data;          /* `len` bytes; WMK_KEPT_PACKETS_ROOM writable bytes before them */
	size_t len;
};

struct wmk_kept_packets {
	uint64_t room;                   /* bytes of all packets; one packet is kept in any case */
	uint64_t bytes, overwritten;     /* kept; records that were replaced by newer ones, or found no memory */
	struct wmk_kept_packet *first, *last;
};

/* `is` has all but the content, `data`: copied. Where there is no room, older packets are removed. */
void wmk_kept_packets_add(struct wmk_kept_packets *kept, const struct wmk_kept_packet *is, const uint8_t *data);
/* The oldest, the caller's to wmk_kept_packets_free(); NULL: none. */
struct wmk_kept_packet *wmk_kept_packets_take(struct wmk_kept_packets *kept);
void wmk_kept_packets_free(struct wmk_kept_packet *packet);
/* Without any of them; counts begin at 0. */
void wmk_kept_packets_clear(struct wmk_kept_packets *kept);

#endif
