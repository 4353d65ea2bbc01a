/* SPDX-License-Identifier: MIT */
/*
 * merge.h - the records of many streams, of one or more traces, in the order of their times.
 *
 * A tree of losers (Knuth, The Art of Computer Programming, 5.4.1): one comparison per level for a record, and none of
 * the others moves. Records of the same time are in the order of their traces' UUIDs, of their names, of the streams'
 * class and number; records without a clock come at time 0. Memory is
 * some words for each stream.
 */
#ifndef WMK_READ_MERGE_H
#define WMK_READ_MERGE_H

#include "read/trace.h"

struct wmk_read_merge;

/*
 * Damage is told here, when it is met, with the cause chain of the calling thread: the stream goes on behind it. Must
 * not read on.
 */
typedef void (*wmk_read_damage)(void *data, const struct wmk_read_stream *stream, int err);

int wmk_read_merge_create(wmk_read_damage damage, void *data, struct wmk_read_merge **merge);
void wmk_read_merge_free(struct wmk_read_merge *merge);
/* All streams of a trace, which must be open as long as the merge. Only before the first wmk_read_merge_next(). */
int wmk_read_merge_add(struct wmk_read_merge *merge, const struct wmk_read_trace *trace);
/*
 * Only what is from `from` to `to` (ns, as wmk_read_ns()), both included; packets before are not looked at. Before the
 * first wmk_read_merge_next().
 */
void wmk_read_merge_trim(struct wmk_read_merge *merge, int64_t from, int64_t to);
/*
 * The time of the first record of all, ns: 0. -ENODATA: no packet tells a time. Reads the first packet's header of each
 * stream, and moves none.
 */
int wmk_read_merge_first(const struct wmk_read_merge *merge, int64_t *ns);
/* The same of one stream, which is not moved; the cause of a negative one is nobody's to tell. */
int wmk_read_stream_first(const struct wmk_read_stream *stream, int64_t *ns);
/*
 * Of equal times, which comes first: by the trace's UUID, its name, the stream class, the stream; this order
 * babeltrace2 has too. Below 0: `a`; 0:
 * they do not tell.
 */
int wmk_read_stream_order(const struct wmk_read_stream *a, const struct wmk_read_stream *b);
/* WMK_READ_PACKET or WMK_READ_RECORD: *stream has it; WMK_READ_END: there are no more; -ENOMEM. */
int wmk_read_merge_next(struct wmk_read_merge *merge, struct wmk_read_stream **stream);

#endif
