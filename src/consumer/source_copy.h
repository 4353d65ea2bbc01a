/* SPDX-License-Identifier: MIT */
/* source_copy.h - a copy of what a ring in overwrite mode holds now, as a source of packets. */
#ifndef WMK_CONSUMER_SOURCE_COPY_H
#define WMK_CONSUMER_SOURCE_COPY_H

#include <stdint.h>

#include <waymark/ring.h>

struct wmk_packet;
struct wmk_source;

/*
 * Copy one range of records of the ring without a gap. The range ends at or after the writers' position at the start of
 * this call. max_bytes: as in waymark_ring_reader_observe(). The copy does not use the ring set after this call.
 * *missed: number of records that were overwritten or lost before the range. 0 or -errno with a cause chain.
 */
int wmk_source_copy_open(struct waymark_ring_set *set, uint32_t ring, uint64_t max_bytes, struct wmk_source **source,
			 uint64_t *missed);
/*
 * Copy the records of a kernel source. The copy consumes all records that the source has now. If the kernel overwrites
 * records during this call, the copy begins after the overwritten records. max_bytes: keep the newest packets with at
 * most this number of bytes; 0: no limit. last->records: number of records that were released from the source before.
 * *last: the last released packet, without its data. *missed: number of records that were overwritten or are not in the
 * copy. The function must be called in the thread of the source.
 */
int wmk_source_copy_take(struct wmk_source *from, uint64_t max_bytes, struct wmk_packet *last,
			 struct wmk_source **source, uint64_t *missed);

#endif
