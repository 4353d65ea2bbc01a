/* SPDX-License-Identifier: MIT */
/*
 * recorder.c - chains of recorders, and the grace period after which removed recorders are reused.
 *
 * A chain can change while any number of threads and signal handlers walk the chain. A thread that walks a chain holds
 * no lock. The library counts only threads in the slow path or in a probe. Recorders are in an arena that only grows,
 * and the memory of a recorder is never used for another kind of object. Values that were read from a recorder are used
 * only if the guard of the recorder still holds, which the ring checks at the commit.
 *
 *     remove:   unlink from every chain │ gen = 0 │ membarrier(RSEQ): sequences that saw the old gen start again
 *               and now find 0 │ wait for threads in the slow path or in a probe, which are counted │ reuse
 *
 * A thread inside a restartable sequence can wait in the kernel for the page fault of a ring page, for example while
 * another thread changes the address space. The kernel restarts the restartable sequence when the page fault ends. If
 * the rings were unmapped before the page fault ends, the page fault would raise SIGSEGV. The library cannot detect
 * threads in a page fault, so the library keeps the mapping for another FAULT_MS.
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "ring/set.h"
#include "ring/writer.h"
#include "tracer/channel.h"
#include "tracer/enter.h"
#include "tracer/filter.h"
#include "tracer/membarrier.h"
#include "tracer/patch.h"
#include "tracer/recorder.h"

#define ARENA_BYTES 65536u
#define FAULT_MS 1000          /* a thread that waits longer for a page fault gets SIGSEGV */

static struct waymark_recorder *free_recorders;
/* unused part of the last arena block; its pages are touched one by one */
static struct waymark_recorder *fresh;
static size_t n_fresh;
static uint64_t last_gen = 1;

/*
 * `removed`: recorders that were removed since the last membarrier; `waiting`: recorders that wait for the grace
 * period.
 */
static struct waymark_recorder *removed, *waiting;
static struct wmk_channel *removed_channels, *waiting_channels;
/* Channels that no thread uses, except for threads in a page fault; the latest channel is first. */
static struct wmk_channel *unused_channels;

static struct waymark_recorder *recorder_alloc(void)
{
	struct waymark_recorder *e = free_recorders;

	if (e) {
		free_recorders = e->next_free;
		return e;
	}
	if (n_fresh == 0) {
		void *more = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (more == MAP_FAILED)
			return NULL;
		fresh = more;
		n_fresh = ARENA_BYTES / sizeof(*fresh);
	}
	n_fresh--;
	return fresh++;
}

/* Set the first recorder of the event, in the event and in all its descriptors. */
static void set_head(struct wmk_event *event, struct waymark_recorder *head)
{
	event->chain = head;
	/* (T3) release: pairs with waymark_record()'s acquire of desc->chain */
	for (uint32_t i = 0; i < event->n_descs; i++)
		__atomic_store_n(&event->descs[i]->chain, head, __ATOMIC_RELEASE);
}

/*
 * Determine whether records can use the fast paths of the ring, with or without the context cache. A reference at the
 * end of a record may need 4 staged bytes for the length.
 */
static void choose_path(struct waymark_recorder *e, struct wmk_event *event, const struct wmk_channel *channel)
{
	uint32_t staged = channel ? event->run_bytes + 8u * channel->ctx_words : 0;
	bool fits = channel && channel->short_clock && e->id < WMK_RING_ID_SHORT &&
		    (channel->n_contexts == 0 || channel->ctx_key);
	const bool unfiltered = !e->filter;
	bool tail = fits && event->tail != WMK_OP_RUN && staged + 4 <= WMK_RING_FAST_LEN;

	fits = fits && event->plain && staged - 1 < WMK_RING_FAST_LEN;
	/*
	 * (T7) as for `plain`. A process without restartable sequences never uses `direct`, because enter.S stores a
	 * descriptor before it reads the CPU.
	 */
	const bool is_direct = (fits || tail) && unfiltered && channel->set->seq_cpus;

	__atomic_store_n(&e->direct, is_direct ? (void *)event : (void *)e, __ATOMIC_RELEASE);
	/*
	 * (T7) release: the set is stored before; pairs with the acquire in waymark_record(). `plain` is never NULL, so
	 * `plain` never equals desc->event after wmk_event_drop_desc() has set desc->event to NULL.
	 */
	__atomic_store_n(&e->plain, fits && unfiltered && channel->n_contexts == 0 ? (void *)event : (void *)e,
			 __ATOMIC_RELEASE);
	wmk_write_guarded(e->short_run, fits && channel->n_contexts == 0);
	wmk_write_guarded(e->ctx_key, fits || tail ? channel->ctx_key : 0);
	wmk_write_guarded(e->ctx_words, fits || tail ? channel->ctx_words : 0);
	wmk_write_guarded(e->run_words, fits || tail ? (uint8_t)((event->run_bytes + 7) / 8) : 0);
	wmk_write_guarded(e->tail, tail);
}

/* Store the filter of the recorder, and its quick form. */
static void write_filter(struct waymark_recorder *e, struct wmk_filter_block *filter)
{
	struct wmk_filter_quick quick = { 0 };

	if (filter)
		wmk_filter_quicken(filter, &quick);
	wmk_write_guarded(e->filter, filter);
	wmk_write_guarded(e->quick_low, quick.low);
	wmk_write_guarded(e->quick_mask, quick.mask);
	wmk_write_guarded(e->quick_count, quick.count);
	wmk_write_guarded(e->quick_end, quick.end);
}

struct kind {
	waymark_probe_fn probe;
	void *data;
	struct wmk_filter_block *filter;
};

static struct waymark_recorder *recorder_make(struct wmk_event *event, struct wmk_channel *channel, uint32_t id,
					    struct kind is, uint64_t order, struct waymark_recorder *next)
{
	struct waymark_recorder *e = recorder_alloc();

	if (!e)
		return NULL;
	wmk_write_guarded(e->event, event);
	/*
	 * `set` never becomes NULL again: a thread with a stale pointer to this recorder accesses the set before the
	 * check of the guard.
	 */
	if (channel)
		wmk_write_guarded(e->set, channel->set);
	wmk_write_guarded(e->id, id);
	wmk_write_guarded(e->run_bytes, event->run_bytes);
	wmk_write_guarded(e->field_limit, channel ? channel->field_limit : 0);
	wmk_write_guarded(e->n_contexts, channel ? channel->n_contexts : 0);
	for (unsigned i = 0; channel && i < channel->n_contexts; i++)
		wmk_write_guarded(e->contexts[i], channel->contexts[i]);
	if (channel) {
		channel->enabled++;
		channel->enabled_helpers += event->is_helpers;
	}
	wmk_write_guarded(e->probe, is.probe);
	wmk_write_guarded(e->data, is.data);
	write_filter(e, is.filter);
	if (is.probe)
		__atomic_store_n(&event->n_probes, event->n_probes + 1, __ATOMIC_RELAXED);
	e->channel = channel;
	e->adopted = true;
	choose_path(e, event, channel);
	last_gen += 2;
	wmk_write_guarded(e->order, order ? order : last_gen);
	__atomic_store_n(&e->next, next, __ATOMIC_RELAXED);
	/* (T4) release: all members are stored before the guard; pairs with the acquire of gen on the recording path */
	__atomic_store_n(&e->gen, last_gen, __ATOMIC_RELEASE);
	return e;
}

static struct waymark_recorder *add(struct wmk_event *event, struct wmk_channel *channel, uint32_t id, struct kind is)
{
	struct waymark_recorder *e = recorder_make(event, channel, id, is, 0, NULL), **at;

	if (!e)
		return NULL;
	if (!event->chain) {
		set_head(event, e);
		return e;
	}
	for (at = &event->chain; *at; at = &(*at)->next)
		;
	__atomic_store_n(at, e, __ATOMIC_RELEASE); /* (T3) */
	return e;
}

struct waymark_recorder *wmk_recorder_add(struct wmk_event *event, struct wmk_channel *channel, uint32_t id,
					struct wmk_filter_block *filter)
{
	return add(event, channel, id, (struct kind){ .filter = filter });
}

struct waymark_recorder *wmk_recorder_add_probe(struct wmk_event *event, waymark_probe_fn probe, void *data)
{
	return add(event, NULL, 0, (struct kind){ .probe = probe, .data = data });
}

/* Replace the recorder `e` by the recorder `instead` in the chain. */
static void unlink_recorder(struct waymark_recorder *e, struct waymark_recorder *instead)
{
	struct wmk_event *event = e->event;

	if (event->chain == e) {
		set_head(event, instead);
	} else {
		struct waymark_recorder *before = event->chain;

		while (before->next != e)
			before = before->next;
		__atomic_store_n(&before->next, instead, __ATOMIC_RELEASE); /* (T3) */
	}
	/*
	 * (T5) release: a thread that reads 0 sees the chain without `e`, and starts again from the head; pairs with
	 * the acquire of gen
	 */
	__atomic_store_n(&e->gen, 0, __ATOMIC_RELEASE);
	if (e->channel) {
		e->channel->enabled--;
		e->channel->enabled_helpers -= event->is_helpers;
	}
	if (e->probe)
		__atomic_store_n(&event->n_probes, event->n_probes - 1, __ATOMIC_RELAXED);
	e->next_free = removed;
	removed = e;
	wmk_patch_later(event);
}

void wmk_recorder_remove(struct waymark_recorder *e)
{
	unlink_recorder(e, e->next);
}

/*
 * A thread that walks the chain finds either the old or the new recorder. If the guard of the old recorder becomes
 * invalid before a record is committed, the thread makes the record with the new recorder. A committed record is not
 * repeated, because the walk skips the new recorder, which has the same `order` as the old recorder.
 */
int wmk_recorder_replace(struct waymark_recorder *e, struct wmk_channel *channel, uint32_t id,
			struct wmk_filter_block *filter)
{
	struct waymark_recorder *instead =
		recorder_make(e->event, channel, id, (struct kind){ .filter = filter }, e->order, e->next);

	if (!instead)
		return -ENOMEM;
	unlink_recorder(e, instead);
	return 0;
}

struct waymark_recorder *wmk_recorder_find(struct wmk_event *event, const struct wmk_channel *channel)
{
	struct waymark_recorder *e;

	for (e = event->chain; e; e = e->next)
		if (e->channel == channel && !e->probe)
			return e;
	return NULL;
}

void wmk_recorder_free_channel(struct wmk_channel *channel)
{
	channel->next = removed_channels;
	removed_channels = channel;
}

static void free_waiting(void)
{
	while (waiting) {
		struct waymark_recorder *e = waiting;

		waiting = e->next_free;
		wmk_filter_block_free(e->filter);
		wmk_write_guarded(e->filter, NULL);
		e->next_free = free_recorders;
		free_recorders = e;
	}
	while (waiting_channels) {
		struct wmk_channel *channel = waiting_channels;

		waiting_channels = channel->next;
		channel->unused_ms = wmk_clock_ms();
		channel->next = unused_channels;
		unused_channels = channel;
	}
}

int64_t wmk_recorder_unmap_channels(int64_t now)
{
	struct wmk_channel **at = &unused_channels;
	int64_t wait = INT64_MAX;

	for (; *at && (*at)->unused_ms + FAULT_MS > now; at = &(*at)->next)
		wait = (*at)->unused_ms + FAULT_MS - now;
	while (*at) {
		struct wmk_channel *channel = *at;

		*at = channel->next;
		if (channel->set)
			wmk_ring_set_retire(channel->set);
		free(channel);
	}
	return wait;
}

bool wmk_reclaim(void)
{
	static bool begun;

	if (!begun) {
		if (!removed && !removed_channels)
			return true;
		waiting = removed;
		waiting_channels = removed_channels;
		removed = NULL;
		removed_channels = NULL;
		/*
		 * Without the command MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ (before Linux 5.10), the end of restartable
		 * sequences is unknown, so removed recorders and channels are kept permanently. The grace period still
		 * counts the threads in a probe, and waits for them.
		 */
		if (wmk_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ,
				   MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ) < 0) {
			waiting = NULL;
			waiting_channels = NULL;
		}
		wmk_ring_grace_begin();
		begun = true;
	}
	if (!wmk_ring_grace_over())
		return false;
	begun = false;
	free_waiting();
	return !removed && !removed_channels;
}
