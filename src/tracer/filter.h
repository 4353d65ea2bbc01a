/* SPDX-License-Identifier: MIT */
/*
 * filter.h - filters of recorders. A filter decides which records of an event a channel accepts, before any value is
 * copied.
 *
 *     ENABLE + program ──conn.c──► wmk_filter_bind(): verified, its inputs become locations in (words, refs)
 *                                        │ recorder->filter, published with the recorder's guard
 *     waymark_record() ──► wmk_filter_accepts(): values of those locations, the program; then the guard again
 *                          (most filters compare with constants and need no program: filter_table.h)
 *
 * The library does not count recording threads in filters, because two counters would cost more than most filters. A
 * block may be reused for another filter while a thread still reads the block. As with recorders, the memory of blocks
 * is type-stable: blocks have a few sizes, and are never unmapped. Even if the content of a block is inconsistent, the
 * run stays within the block and within the words that the event stages. The result of a run is valid only if the guard
 * is the same before and after the run. The guard works as a sequence lock, with the generation of the recorder as the
 * sequence number.
 */
#ifndef WMK_TRACER_FILTER_H
#define WMK_TRACER_FILTER_H

#include "filter/filter.h"
#include "tracer/recorder.h"

/*
 * A filter that compares one staged number with bounds: a record is accepted if `(bytes - low & mask) < count` for
 * eight staged bytes. `mask` selects the bits of the compared number. `low` and `count` contain the bounds at the
 * position of the bits in `mask`.
 */
struct wmk_filter_quick {
	uint64_t low, mask, count;
	/* offset in the words at which the eight bytes end, or WMK_FILTER_QUICK_...; 0: run the program */
	uint32_t end;
};
/*
 * The member `end` has one of these values if the block of the filter has a table (filter_table.h). Both table values
 * of `end` are larger than any offset in the words of an event.
 */
#define WMK_FILTER_QUICK_SHORT_TABLE 0x10000u
#define WMK_FILTER_QUICK_TABLE 0x10001u

/*
 * Decode and verify a filter program, and find the locations of all its inputs in the event. -EPROTO: not a program, or
 * the event lacks an input or has it with another type. -ENOMEM. Lock held.
 */
int wmk_filter_bind(const struct wmk_event *event, const void *bytes, size_t len, struct wmk_filter_block **block);
/*
 * Convert a filter to one comparison or to a table of comparisons (filter_table.h). quick->end is 0 if the program must
 * run. Lock held.
 */
void wmk_filter_quicken(const struct wmk_filter_block *block, struct wmk_filter_quick *quick);
/* Copy a block. Returns NULL if no memory is available, or if `block` is NULL. Lock held. */
struct wmk_filter_block *wmk_filter_block_copy(const struct wmk_filter_block *block);
/*
 * Free a block, so that another filter can use it. The caller must ensure that the block was never published, or that
 * the guard of its recorder is already invalid. NULL has no effect. Lock held.
 */
void wmk_filter_block_free(struct wmk_filter_block *block);

#endif
