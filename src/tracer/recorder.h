/* SPDX-License-Identifier: MIT */
/*
 * recorder.h - recorders: bindings of an event to a channel, or to a probe.
 */
#ifndef WMK_TRACER_RECORDER_H
#define WMK_TRACER_RECORDER_H

#include <waymark/ring.h>
#include <waymark/runtime.h>

#include "tracer/event.h"

#define WMK_RECORDER_CONTEXTS 7

struct wmk_channel;
struct wmk_filter_block;          /* filter_block.h */

/*
 * A recording thread reads a recorder while it may become another event's: relaxed, each member by itself. The values
 * are valid only if the guard still holds afterwards.
 */
#define wmk_read_guarded(member) __atomic_load_n(&(member), __ATOMIC_RELAXED)
#define wmk_write_guarded(member, value) __atomic_store_n(&(member), (value), __ATOMIC_RELAXED)

/*
 * `gen` is the guard: 0 when the recorder was removed, else an odd serial that is never used again. All other members
 * are written while it is 0, so members that were read between two reads of the same `gen` belong together. A ring
 * commits a record only if `gen` still holds at that moment.
 */
struct waymark_recorder {
	uint64_t gen;
	void *direct;           /* the event if enter.S records it, else this recorder, which is no event */
	struct waymark_ring_set *set;
	uint32_t id;
	uint32_t run_bytes;     /* as the event's */
	struct waymark_recorder *next;
	struct wmk_event *event;
	uint32_t field_limit;
	uint16_t ctx_key;       /* a short record takes its contexts from wmk_thread.ctx_cache; else 0 */
	uint8_t ctx_words, run_words;
	uint32_t quick_end;     /* see struct wmk_filter_quick */
	bool short_run;         /* it would be plain if it had no filter */
	bool tail;              /* the event ends in its only reference, and the words before it are few enough */
	/* second line: filters, contexts, probes */
	void *plain;            /* the event if it is one short run without contexts, else this recorder */
	uint64_t quick_low, quick_mask, quick_count;
	struct wmk_filter_block *filter; /* or NULL */
	uint8_t n_contexts;
	uint8_t contexts[WMK_RECORDER_CONTEXTS];
	waymark_probe_fn probe;
	void *data;
	uint64_t order;         /* in its chain, ascending; a recorder that replaces another one has its order */
	/* not read by recording threads: */
	struct wmk_channel *channel;
	struct waymark_recorder *next_free;
	bool adopted;           /* confirmed by the connection that took an inherited channel over */
} __attribute__((aligned(128)));

/*
 * All of the following with the lock held.
 *
 * Append a recorder for the event to its chain, with a filter, which it then owns, or NULL. NULL: no memory. The caller
 * patches.
 */
struct waymark_recorder *wmk_recorder_add(struct wmk_event *event, struct wmk_channel *channel, uint32_t id,
					  struct wmk_filter_block *filter);
/* The same for a probe. */
struct waymark_recorder *wmk_recorder_add_probe(struct wmk_event *event, waymark_probe_fn probe, void *data);
/* Remove it from its chain; its memory is reused after wmk_reclaim(). */
void wmk_recorder_remove(struct waymark_recorder *recorder);
/*
 * Replace it by one with another channel or filter: each record is made by the old one or by the new one. 0 or -ENOMEM.
 */
int wmk_recorder_replace(struct waymark_recorder *recorder, struct wmk_channel *channel, uint32_t id,
			 struct wmk_filter_block *filter);
struct waymark_recorder *wmk_recorder_find(struct wmk_event *event, const struct wmk_channel *channel);
/* The channel has no recorder and is in no list: free it after wmk_reclaim(). */
void wmk_recorder_free_channel(struct wmk_channel *channel);
/*
 * The grace period: after it no thread uses what was removed before the call, and it is reused. True: all done. False:
 * a thread holds a claim ring or runs a probe; call again later.
 */
bool wmk_reclaim(void);

#endif
