/* SPDX-License-Identifier: MIT */
/*
 * packet_source.h - the table of functions of a source of packets. A source is one stream of packets: a ring of an
 * application (consumer/source_ring.c), a CPU of a kernel channel, a ring of the BPF program, a state dump. Only the
 * drain loop of the consumer calls a source.
 *
 *     next() ──► packet ──► written ──► release()
 *
 * The functions of a source are called from one thread. Errors are -errno with a cause chain.
 */
#ifndef WMK_RING_PACKET_SOURCE_H
#define WMK_RING_PACKET_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <waymark/ring.h>

struct wmk_ctf_packet;             /* ctf/writer.h */
struct wmk_ring_cut;               /* ring/set.h */

/* `lost` and `records` are totals from the beginning of the stream to the end of the packet. */
struct wmk_packet {
	uint64_t begin_ts, end_ts;
	uint64_t position;         /* in the source, for resume(); for a ring: the packet's first byte */
	uint64_t end;              /* in the source: the earliest position at which the next packet begins */
	uint64_t records, lost, cut;
	const void *data;          /* len bytes of records, valid until release */
	size_t len;
	uint32_t pressure;         /* percentage of the source that waits to be drained, including this packet */
	uint8_t *room;             /* WMK_CTF_PACKET_ROOM writable bytes that end at `data`, or NULL */
};

struct wmk_source;
struct wmk_source_ops {
	/*
	 * 1: *packet is filled; 0: no packet now; -errno: the source is corrupt or failed, and returns no more packets.
	 * flush: also packets of partial sub-buffers.
	 */
	int (*next)(struct wmk_source *source, int flush, struct wmk_packet *packet);
	int (*release)(struct wmk_source *source, const struct wmk_packet *packet);
	/*
	 * Return the position up to which the source has records now. The position never decreases. A flush drains the
	 * source up to this position.
	 */
	uint64_t (*head)(struct wmk_source *source);
	/*
	 * Continue after `last`, the last packet that an earlier consumer wrote to the trace (all zeros: the trace has
	 * no packet). *records: number of records before the end of `last`; *end: end of `last`. 0; 1: an unknown
	 * number of records after `last` is lost; -ESTALE: the source released records after `last` already; -errno.
	 * NULL: the source cannot continue.
	 */
	int (*resume)(struct wmk_source *source, const struct wmk_ctf_packet *last, uint64_t *records, uint64_t *end);
	/*
	 * If records_at is not 0, the bits of a position from bit records_at - 1 upwards contain the number of records
	 * in the trace. The consumer daemon subtracts the records that the consumer daemon did not write from the
	 * positions of later packets. An empty packet has the position of the last released packet. 0: positions
	 * contain no number of records. If records_at is 0, the position of an empty packet is the end of the last
	 * packet.
	 */
	unsigned records_at;
	/*
	 * Return the number of records lost so far. If `by_cause` is not NULL, the function also stores the number for
	 * each cause.
	 */
	uint64_t (*lost)(struct wmk_source *source, uint64_t by_cause[WAYMARK_LOST_CAUSES]);
	/*
	 * Discard all records of the source, and restart all counts. *position, *ts: the new start. If `clear` is NULL,
	 * the source cannot be cleared.
	 */
	int (*clear)(struct wmk_source *source, uint64_t *position, uint64_t *ts);
	/*
	 * Return true if the source has records that next() returns only with `flush`. NULL: the source cannot detect
	 * records that next() returns only with `flush`, or the consumer daemon flushes the source only on request. The
	 * consumer flushes a source with arm() when the source may have records that next() returns only with `flush`.
	 */
	bool (*has_part)(struct wmk_source *source);
	/*
	 * Return a floor for live readers: a record that is committed 1 ms from now or later has no earlier time than
	 * the floor. 0: unknown. NULL: always unknown.
	 */
	uint64_t (*raise_floor)(struct wmk_source *source);
	/* Fields cut so far. NULL: the counts in the packets already include all cut fields. */
	uint64_t (*cut)(struct wmk_source *source);
	/*
	 * The functions for the chunks of a trace (ring/set.h, chunk.c). A source that can take part in a rotation sets
	 * all of the chunk functions; any other source sets none of them.
	 *     chunk_cut      0: *cut is the end of the chunk, and next() returns nothing beyond it; 1: no cut
	 *     chunk_cut_at   the same at a stored position; NULL removes the cut. 1: the next chunk has begun at it
	 *     chunk_ready    everything before the cut was released
	 *     chunk_end      the lost count and the number of cut fields of the chunk
	 *     chunk_begin    begin the next chunk: counts begin at 0
	 * `lost` of chunk_begin() is the number of losses in the previous chunk. Each source defines the meaning of the
	 * members of its cuts. A source with records_at does not store where a chunk begins, so chunk_begin() sets
	 * *begin. `ts` is the end time of the last packet. `pos` is the end position of the last packet; the positions
	 * in packets contain only the low records_at - 1 bits of `pos`. `records` is the sum of `lost` over all calls
	 * of chunk_begin(). A later consumer daemon passes `records` to chunk_begin(). If the open chunk has no packet
	 * of the stream, the consumer daemon also passes `pos` and `ts` to resume().
	 */
	int (*chunk_cut)(struct wmk_source *source, struct wmk_ring_cut *cut);
	int (*chunk_cut_at)(struct wmk_source *source, const struct wmk_ring_cut *cut);
	bool (*chunk_ready)(struct wmk_source *source);
	void (*chunk_end)(struct wmk_source *source, uint64_t *lost, uint64_t *fields_cut);
	void (*chunk_begin)(struct wmk_source *source, uint64_t lost, struct wmk_ring_cut *begin);
	/*
	 * Give the memory of an idle source back to the system, and return the number of bytes, 0 if the source needs
	 * its memory, or -errno. NULL: the memory of the source cannot be given back.
	 */
	int64_t (*reclaim)(struct wmk_source *source);
	/*
	 * Return a descriptor for poll(), which is readable when the source should be drained. NULL: the source is a
	 * ring, and the ring set wakes the consumer.
	 */
	int (*fd)(struct wmk_source *source);
	/*
	 * With `first`, fd() becomes readable as soon as the source has a record; without `first`, fd() becomes
	 * readable only when the source should be drained. A change by arm() applies to all sources that share an event
	 * buffer. 1: the source has a record that fd() does not report; 0: it has none; -errno: the kernel refuses the
	 * change. NULL: fd() cannot be changed.
	 */
	int (*arm)(struct wmk_source *source, bool first);
	/*
	 * Do the work that is necessary even if no packets are drained: the consumer calls follow() in each drain pass,
	 * and when follow_fd() is readable (-1: no such descriptor). A source sets both follow() and follow_fd(), or
	 * neither of them. 1: work was done; 0: none; -errno: as next().
	 */
	int (*follow)(struct wmk_source *source);
	int (*follow_fd)(struct wmk_source *source);
	void (*close)(struct wmk_source *source);
};
struct wmk_source {
	const struct wmk_source_ops *ops;
	uint64_t size;             /* maximum bytes that the source holds, to check head() against; 0: no check */
	uint32_t pieces;           /* maximum number of packets of full size in the source */
};

#endif
