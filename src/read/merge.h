/* SPDX-License-Identifier: MIT */
/*
 * merge.h - merge the records of many streams, of one or more traces, by time.
 *
 * The algorithm is a loser tree (Knuth, The Art of Computer Programming, 5.4.1): a record costs one comparison per
 * level, and no other record moves. Records of the same time are ordered by the UUIDs of their traces, the traces'
 * names, and the class and number of the streams. Records without a clock have time 0. Each stream needs a few words of
 * memory.
 */
#ifndef WMK_READ_MERGE_H
#define WMK_READ_MERGE_H

#include "read/trace.h"

struct wmk_read_merge;

/*
 * Reports damage of a stream, with the cause chain of the calling thread. The stream continues after it. The callback
 * must not read.
 */
typedef void (*wmk_read_damage)(void *data, const struct wmk_read_stream *stream, int err);

int wmk_read_merge_create(wmk_read_damage damage, void *data, struct wmk_read_merge **merge);
void wmk_read_merge_free(struct wmk_read_merge *merge);
/* Add all streams of a trace, which must stay open. Only before the first wmk_read_merge_next(). */
int wmk_read_merge_add(struct wmk_read_merge *merge, const struct wmk_read_trace *trace);
/*
 * Return only records from `from` to `to` (ns, as wmk_read_ns()), inclusive; earlier packets are skipped. Before the
 * first wmk_read_merge_next().
 */
void wmk_read_merge_trim(struct wmk_read_merge *merge, int64_t from, int64_t to);
/*
 * The begin of the earliest first packet of all streams, in ns. Returns 0; -ENODATA: no packet has a time. Reads the
 * first packet's header of each stream, and moves no stream.
 */
int wmk_read_merge_first(const struct wmk_read_merge *merge, int64_t *ns);
/* The same for one stream, which is not moved. An error may leave a cause chain. */
int wmk_read_stream_first(const struct wmk_read_stream *stream, int64_t *ns);
/*
 * The order of records of equal time: by the trace's UUID, its name, the stream class, the stream, as in babeltrace2.
 * Negative: `a` is first; 0: undefined.
 */
int wmk_read_stream_order(const struct wmk_read_stream *a, const struct wmk_read_stream *b);
/* WMK_READ_PACKET or WMK_READ_RECORD: *stream has it; WMK_READ_END: no more data; -ENOMEM. */
int wmk_read_merge_next(struct wmk_read_merge *merge, struct wmk_read_stream **stream);

#endif
