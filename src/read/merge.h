/* SPDX-License-Identifier: MIT */
/*
 * merge.h - merge the records of many streams, of one or more traces, by time.
 *
 * The algorithm is a loser tree (Knuth, The Art of Computer Programming, 5.4.1): a record costs one comparison per
 * level, and no other record moves. Records of the same time are ordered by the UUID of the trace, its name, and the
 * class and number of the stream. Records without a clock have time 0. Each stream needs a few words of memory in
 * addition to its window.
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
/* Add all streams of a trace, which must stay open. Valid only before the first wmk_read_merge_next(). */
int wmk_read_merge_add(struct wmk_read_merge *merge, const struct wmk_read_trace *trace);
/*
 * Return only records from `from` to `to` (ns, as wmk_read_ns()), inclusive; earlier packets are skipped. Valid only
 * before the first wmk_read_merge_next().
 */
void wmk_read_merge_trim(struct wmk_read_merge *merge, int64_t from, int64_t to);
/*
 * Get the earliest begin of the first packets of all streams, in ns. Returns 0; -ENODATA: no first packet has a time.
 * Reads the first packet's header of each stream; no stream advances.
 */
int wmk_read_merge_first(const struct wmk_read_merge *merge, int64_t *ns);
/* Like wmk_read_merge_first(), but for one stream. The stream does not advance. An error may leave a cause chain. */
int wmk_read_stream_first(const struct wmk_read_stream *stream, int64_t *ns);
/*
 * The order of records of equal time, as in babeltrace2: by the trace's UUID, the trace's name, the stream class, the
 * stream. Negative: `a` is first; 0: undefined.
 */
int wmk_read_stream_order(const struct wmk_read_stream *a, const struct wmk_read_stream *b);
/* WMK_READ_PACKET or WMK_READ_RECORD: *stream has the packet or record. WMK_READ_END: no more data. -ENOMEM. */
int wmk_read_merge_next(struct wmk_read_merge *merge, struct wmk_read_stream **stream);

#endif
