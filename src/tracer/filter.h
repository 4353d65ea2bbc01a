/* SPDX-License-Identifier: MIT */
/*
 * filter.h - filters of recorders: which records of an event a channel does not want, found out before anything is
 * copied.
 *
 *     ENABLE + program ──conn.c──► wmk_filter_bind(): verified, its inputs made places in (words, refs) of this event
 *                                        │ recorder->filter, published with the recorder's guard
 *     waymark_record() ──► wmk_filter_accepts(): values from those places, the program, and then: does the guard still hold?
 *                          (most filters compare with constants, and need no program: filter_table.h)
 *
 * A recorder counts itself in nowhere: two counters would cost more than most filters. So what it reads may become
 * another filter's while it reads. As with recorders, the memory is never anything but a filter (blocks of a few sizes,
 * never unmapped); whatever stands in it, the run keeps within the block, and within what this event's program staged;
 * and what comes out counts only if the guard is the same before and after (a sequence lock, with the recorder's
 * generation as its sequence).
 */
#ifndef WMK_TRACER_FILTER_H
#define WMK_TRACER_FILTER_H

#include "filter/filter.h"
#include "tracer/tracer.h"

struct wmk_filter_block;

/*
 * Decode, verify, and find the places of all inputs in the event. -EPROTO: it is none, or reads what the event has not,
 * or as another type. -ENOMEM. Lock held.
 */
int wmk_filter_bind(const struct wmk_event *event, const void *bytes, size_t len, struct wmk_filter_block **block);
/* As one comparison or a table of them (filter_table.h). quick->how is 0 if the program has to run. Lock held. */
void wmk_filter_quicken(const struct wmk_filter_block *block, struct wmk_filter_quick *quick);
/* Another one like it. NULL: no memory, or `block` was NULL. Lock held. */
struct wmk_filter_block *wmk_filter_block_copy(const struct wmk_filter_block *block);
/* It was never published, or its recorder's guard has fallen: it may become another. NULL does nothing. Lock held. */
void wmk_filter_block_free(struct wmk_filter_block *block);

/*
 * Is the record wanted? 1, 0, or -ESTALE: `e` has become another's since it had the generation `gen`. Any thread, any
 * time, signal handlers included; no floating-point exception that the program could see.
 */
int wmk_filter_accepts(const struct waymark_recorder *e, uint64_t gen, const struct wmk_filter_block *block,
		     const struct wmk_event *event, const uint64_t *words, const struct waymark_ref *refs,
		     const void *ip);

#endif
