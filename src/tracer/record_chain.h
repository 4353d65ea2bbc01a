/* SPDX-License-Identifier: MIT */
/* record_chain.h - records that do not fit the fast paths of record.c. */
#ifndef WMK_TRACER_RECORD_CHAIN_H
#define WMK_TRACER_RECORD_CHAIN_H

#include "tracer/recorder.h"

/* enough for most events, and small on the stack of a signal handler */
#define WMK_RECORD_SMALL_FRAGS 24

static inline bool wmk_record_is_small(const struct wmk_event *event)
{
	return 2u * event->n_ops + 1 <= WMK_RECORD_SMALL_FRAGS;
}

/*
 * Record a small event into the ring of the recorder, without the filter of the recorder. Returns 0 or -errno of
 * wmk_ring_write().
 */
int wmk_record_small(struct waymark_recorder *e, uint64_t gen, const struct wmk_event *event, const uint64_t *words,
		     const struct waymark_ref *refs, const void *ip) WMK_HIDDEN;
/* Record into the rings of all recorders of the chain. Probes run before the record is written. */
void wmk_record_chain(struct waymark_desc *desc, const uint64_t *words, const struct waymark_ref *refs,
		      const void *ip) WMK_HIDDEN;

#endif
