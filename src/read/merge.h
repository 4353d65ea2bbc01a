/* SPDX-License-Identifier: MIT */
/*
 * merge.h - merge the records of many streams, of one or more traces, by time.
 *
 * The algorithm is a loser tree (Knuth, The Art of Computer Programming, 5.4.1): a record costs one comparison per
 * level, and the other records stay in their nodes. Records with equal times are ordered by the UUID of the trace, the
 * name of the trace, and the class and number of the stream. Records without a clock have the time 0. Each stream needs
 * a few words of memory and its window.
 */
#ifndef WMK_READ_MERGE_H
#define WMK_READ_MERGE_H

#include "read/trace.h"

struct wmk_read_merge;

/*
 * Reports damage of a stream. The cause chain of the calling thread describes the damage. The stream continues after
 * the damage. The callback must not read.
 */
typedef void (*wmk_read_damage)(void *data, const struct wmk_read_stream *stream, int err);

int wmk_read_merge_create(wmk_read_damage damage, void *data, struct wmk_read_merge **merge);
void wmk_read_merge_free(struct wmk_read_merge *merge);
/*
 * Add all streams of a trace; the trace must stay open. The function may only be called before the first
 * wmk_read_merge_next().
 */
int wmk_read_merge_add(struct wmk_read_merge *merge, const struct wmk_read_trace *trace);
/*
 * Return only records from `from` to `to` (inclusive, in ns, as wmk_read_ns()); the merge skips earlier packets. The
 * function may only be called before the first wmk_read_merge_next().
 */
void wmk_read_merge_trim(struct wmk_read_merge *merge, int64_t from, int64_t to);
/*
 * Get the earliest time, in ns, at which a packet with records begins. If no stream has a record, the earliest time of
 * the packets without records. Returns 0, or -ENODATA if no packet has a time. The function reads the first packets of
 * each stream; no stream advances.
 */
int wmk_read_merge_first(const struct wmk_read_merge *merge, int64_t *ns);
/* The same time, from streams that the caller adds one by one. Begin with { .err = -ENODATA }. */
struct wmk_read_first {
	int err;                   /* 0: from a packet with records; 1: from packets without records; -ENODATA */
	int64_t ns;
};
void wmk_read_first_add(struct wmk_read_first *first, const struct wmk_read_stream *stream);
/* Returns 0, or -ENODATA with a cause chain. */
int wmk_read_first_result(const struct wmk_read_first *first, int64_t *ns);
/*
 * Return the order of records with equal times, as in babeltrace2: by the trace's UUID, the trace's name, the stream
 * class and the stream. Negative: `a` is first; 0: undefined.
 */
int wmk_read_stream_order(const struct wmk_read_stream *a, const struct wmk_read_stream *b);
/*
 * For WMK_READ_PACKET and WMK_READ_RECORD, *stream becomes the stream that has the packet or record. WMK_READ_END: no
 * more data. -ENOMEM.
 */
int wmk_read_merge_next(struct wmk_read_merge *merge, struct wmk_read_stream **stream);

#endif
