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
 * A recorder may be reused for another event while a thread reads it. Members are read by separate relaxed loads, and
 * the values are valid only if the guard still holds after the loads.
 */
#define wmk_read_guarded(member) __atomic_load_n(&(member), __ATOMIC_RELAXED)
#define wmk_write_guarded(member, value) __atomic_store_n(&(member), (value), __ATOMIC_RELAXED)

/*
 * `gen` is the guard: 0 in a removed recorder, otherwise an odd number that is never reused. All other members of a
 * recorder are written while `gen` is 0. If a thread reads the same `gen` before and after other members, the values of
 * these members belong together. A ring commits a record only if `gen` still has the same value at the commit.
 */
struct waymark_recorder {
	uint64_t gen;
	/* the event if enter.S may record it, else the address of this recorder, which never equals an event */
	void *direct;
	struct waymark_ring_set *set;
	uint32_t id;
	uint32_t run_bytes;     /* `run_bytes` of the event */
	struct waymark_recorder *next;
	struct wmk_event *event;
	uint32_t field_limit;
	uint16_t ctx_key;       /* short records take context fields from wmk_thread.ctx_cache; 0: no cache */
	uint8_t ctx_words, run_words;
	uint32_t quick_end;     /* see struct wmk_filter_quick */
	bool short_run;         /* the recorder would be plain without its filter */
	/* the only reference is at the end of the event, and the words before it are few enough for the fast path */
	bool tail;
	/* second cache line: filters, context fields, probes */
	/* the event if it is one short run without context fields, else the address of this recorder */
	void *plain;
	uint64_t quick_low, quick_mask, quick_count;
	struct wmk_filter_block *filter; /* or NULL */
	uint8_t n_contexts;
	uint8_t contexts[WMK_RECORDER_CONTEXTS];
	waymark_probe_fn probe;
	void *data;
	uint64_t order;         /* position in its chain, ascending; a replacement has the same value */
	/* not read by recording threads: */
	struct wmk_channel *channel;
	struct waymark_recorder *next_free;
	bool adopted;           /* confirmed by the connection that adopted the channel */
} __attribute__((aligned(128)));

/*
 * All functions below need the lock.
 *
 * Append a recorder to the chain of the event. The function takes ownership of `filter` (may be NULL). NULL: out of
 * memory. The caller patches the sites.
 */
struct waymark_recorder *wmk_recorder_add(struct wmk_event *event, struct wmk_channel *channel, uint32_t id,
					  struct wmk_filter_block *filter);
/* Append a recorder of a probe to the chain of the event. */
struct waymark_recorder *wmk_recorder_add_probe(struct wmk_event *event, waymark_probe_fn probe, void *data);
/* Remove a recorder from its chain. wmk_reclaim() frees its memory for another recorder. */
void wmk_recorder_remove(struct waymark_recorder *recorder);
/*
 * Replace a recorder by a recorder that has another channel or another filter. Each record is made either by the old
 * recorder or by the new recorder. Returns 0 or -ENOMEM.
 */
int wmk_recorder_replace(struct waymark_recorder *recorder, struct wmk_channel *channel, uint32_t id,
			 struct wmk_filter_block *filter);
struct waymark_recorder *wmk_recorder_find(struct wmk_event *event, const struct wmk_channel *channel);
/*
 * Unmap the rings of a channel and free the channel, some time after the grace period (wmk_recorder_unmap_channels()).
 * The channel must have no recorder, and must be in no list.
 */
void wmk_recorder_free_channel(struct wmk_channel *channel);
/*
 * Advance the grace period. After the grace period, no thread uses objects that were removed before this call, and the
 * memory of these objects can be reused. Returns true when all removed objects are free; false if a thread holds a
 * claim ring or runs a probe, so that the caller must call again later.
 */
bool wmk_reclaim(void);
/*
 * Unmap the rings of removed channels a second after the grace period of the channels, because a thread may still wait
 * for a page fault. Returns the time in ms until the next call is necessary; INT64_MAX: no channel is left. Lock held;
 * `now` is wmk_clock_ms().
 */
int64_t wmk_recorder_unmap_channels(int64_t now);

#endif
