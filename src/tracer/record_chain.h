/* SPDX-License-Identifier: MIT */
/*
 * record_chain.h - records that the short paths of record.c do not make.
 */
#ifndef WMK_TRACER_RECORD_CHAIN_H
#define WMK_TRACER_RECORD_CHAIN_H

#include "tracer/recorder.h"

/* Enough for most events, and small on the stack of a signal handler. */
#define WMK_RECORD_SMALL_FRAGS 24

static inline bool wmk_record_is_small(const struct wmk_event *event)
{
	return 2u * event->n_ops + 1 <= WMK_RECORD_SMALL_FRAGS;
}

/* Record an event that is small into the recorder's ring, whatever its filter. 0 or -errno of wmk_ring_write(). */
int wmk_record_small(struct waymark_recorder *e, uint64_t gen, const struct wmk_event *event, const uint64_t *words,
		     const struct waymark_ref *refs, const void *ip) WMK_HIDDEN;
/* Record for each recorder of the chain. Probes first: they get an event before its record is written. */
void wmk_record_chain(struct waymark_desc *desc, const uint64_t *words, const struct waymark_ref *refs,
		      const void *ip) WMK_HIDDEN;

#endif
