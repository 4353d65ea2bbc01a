/* SPDX-License-Identifier: MIT */
/*
 * writer.h - the writing half of a ring, inlined into libwaymark's recording path and writer.c.
 *
 *     wmk_ring_write()    fast path: one fragment of whole words that fits into the open sub-buffer, short header
 *     wmk_ring_write_tail()    the same with bytes or a text after the words, for libwaymark
 *       └─ wmk_ring_write_general()    any fragments, any header; up to 64 attempts   (writer.c)
 *            ├─ enter a sub-buffer: policy, memory, wake                                (writer.c)
 *            └─ wmk_ring_write_claim()  without restartable sequences, or too long      (claim.c)
 *
 * The writer plans a record with values that were read before the restartable sequence. The restartable sequence checks
 * that the values of the plan are still valid, and commits the record with one store.
 */
#ifndef WMK_RING_WRITER_H
#define WMK_RING_WRITER_H

#include <errno.h>

#include "base/clock.h"
#include "ring/set.h"
#include "ring/window.h"

#if defined(__x86_64__)
#include "ring/arch/x86_64/commit.h"
#elif defined(__aarch64__)
#include "ring/arch/aarch64/commit.h"
#else
#error "restartable sequences are not implemented for this architecture"
#endif

#define WMK_RING_ATTEMPTS 64
#define WMK_RING_FAST_LEN 64u
#define WMK_RING_TAIL_MAX 1024u
#define WMK_RING_TS_BITS 27
#define WMK_RING_ID_SHORT 30u    /* ids below have a header of 4 bytes */
#define WMK_RING_ID_EXTENDED 31u

#define wmk_ring_likely(x) __builtin_expect(!!(x), 1)
#define wmk_ring_load(p) __atomic_load_n((p), __ATOMIC_RELAXED)

static inline uint64_t wmk_ring_now(const struct waymark_ring_set *set)
{
	if (wmk_ring_likely(set->clock == WAYMARK_CLOCK_COUNTER))
		return wmk_clock_counter();
	if (set->clock == WAYMARK_CLOCK_PLUGIN && set->plugin_clock)
		return set->plugin_clock();
	return wmk_clock_monotonic() - set->clock_ahead;
}

/* Write any record in any state of the ring (the general case). Returns as wmk_ring_write(). */
int wmk_ring_write_general(struct waymark_ring_set *set, const uint64_t *guard, uint64_t expect, uint32_t id,
			   const struct waymark_ring_frag *frags, unsigned n, uint32_t total);
/* Write a record as wmk_ring_write_general() does, on a claim ring. */
int wmk_ring_write_claim(struct waymark_ring_set *set, const uint64_t *guard, uint64_t expect, uint32_t id,
			 const struct waymark_ring_frag *frags, unsigned n, uint32_t total);

/*
 * Count `n` fields that were cut to the limit of the channel on the ring of the current CPU. If restartable sequences
 * are unavailable or are aborted repeatedly, the fields are counted on the claim ring that the thread tries first. The
 * reader reports the count at the end of the stream at the latest.
 */
void wmk_ring_count_cut(struct waymark_ring_set *set, unsigned n);
/*
 * Count a record that was lost without a ring: the count is in the set header, and is reported in the stream of the
 * first claim ring.
 */
void wmk_ring_count_lost(struct waymark_ring_set *set);

/* Wake the reader if the reader sleeps, with at most one futex(2). Returns 0. Async-signal-safe. */
int wmk_ring_wake(struct waymark_ring_set *set);
/*
 * (I) Called after the commit of a record: wakes the reader if it sleeps until the next record. The commit precedes the
 * load of `armed` in program order; the load pairs with the reader's store of `armed`, membarrier(GLOBAL), and load of
 * every position (wait.c). Returns 0. In a set that was retired before the load, `armed` is 0.
 */
static inline __attribute__((always_inline)) int wmk_ring_committed(struct waymark_ring_set *set,
								    const struct wmk_ring_ctl *ctl)
{
	if (!wmk_ring_likely(wmk_ring_load(&ctl->armed) == 0))
		return wmk_ring_wake(set);
	return 0;
}

/*
 * Grace period: wmk_ring_grace() waits for threads on the slow path (sub-buffer entry, claim rings), and for other code
 * that runs under a guard. Threads on the fast path are not counted, so the caller first aborts their restartable
 * sequences with membarrier(PRIVATE_EXPEDITED_RSEQ). Call wmk_ring_grace() after the guard has changed. Returns 0 when
 * every thread that may have seen the old value of the guard has left; -ETIMEDOUT after `timeout_us` (the set must not
 * be freed then). Only one thread at a time may call wmk_ring_grace(), wmk_ring_grace_begin() and
 * wmk_ring_grace_over().
 */
int wmk_ring_grace(uint64_t timeout_us);
/*
 * Do the same as wmk_ring_grace() without a wait: begin the grace period, then poll wmk_ring_grace_over(). If
 * wmk_ring_grace_begin() is called again, the new grace period replaces the unfinished one.
 */
void wmk_ring_grace_begin(void);
int wmk_ring_grace_over(void);
/*
 * To use guarded data, a thread calls wmk_ring_grace_enter(), loads the guard (sequentially consistent, like the
 * counts), uses the data, and calls wmk_ring_grace_leave(). Calls may nest. Async-signal-safe.
 */
struct wmk_ring_inside {
	uint32_t phase, fork;
};
struct wmk_ring_inside wmk_ring_grace_enter(void);
void wmk_ring_grace_leave(struct wmk_ring_inside inside);
/* In the child of fork(), remove the counts of the other threads, which do not exist in the child. */
void wmk_ring_grace_after_fork(void);

/*
 * The fast path alone. The caller must have checked these conditions: the clock is the counter, id < WMK_RING_ID_SHORT,
 * 1 <= total <= WMK_RING_FAST_LEN, `words` are whole and aligned. 0; any other value: nothing was written or counted,
 * so call wmk_ring_write_general().
 */
static inline __attribute__((always_inline)) int
wmk_ring_write_short(struct waymark_ring_set *set, const uint64_t *guard, uint64_t expect, uint32_t id,
		     const uint64_t *words, uint32_t total)
{
	uint64_t cpu = wmk_rseq_cpu(set->rseq_offset);

	wmk_ring_window_count();
	if (wmk_ring_likely(cpu < set->seq_cpus)) {
		struct wmk_ring_view *ring = &set->ring[cpu];
		struct wmk_ring_ctl *ctl = ring->ctl;
		uint64_t pos = *(volatile uint64_t *)&ctl->write_pos;
		uint64_t ts = wmk_clock_counter(); /* after pos, in program order */
		uint64_t new_pos = pos + 4 + total;
		struct wmk_ring_slot *cur = &ctl->slot[wmk_ring_load(&ctl->slot[0].tag) != pos];
		struct wmk_ring_slot *next =
			(struct wmk_ring_slot *)((uintptr_t)&ctl->slot[0] + (uintptr_t)&ctl->slot[1] - (uintptr_t)cur);

		if (wmk_ring_likely(new_pos <= wmk_ring_load(&ring->limit) &&
				    ts - wmk_ring_load(&cur->last_ts) < 1ull << WMK_RING_TS_BITS)) {
			int rc = wmk_seq_words(set->rseq_offset, (uint32_t)cpu, ctl, pos, guard, expect, ts,
					       (uint32_t)ts << 5 | id, ring->data + (new_pos & set->ring_mask),
					       (const unsigned char *)words + total, total, next,
					       wmk_ring_load(&cur->records) + 1, new_pos);

			return wmk_ring_likely(rc == 0) ? wmk_ring_committed(set, ctl) : rc;
		}
	}
	return -EAGAIN;
}

/*
 * Write a record as wmk_ring_write_short() does, with a tail: `len` bytes of whole words (0..64), then `n` bytes at
 * `tail`. If is_text is set, the function adds a NUL after the tail. The conditions of wmk_ring_write_short() apply,
 * and n <= WMK_RING_TAIL_MAX.
 */
static inline __attribute__((always_inline)) int
wmk_ring_write_tail(struct waymark_ring_set *set, const uint64_t *guard, uint64_t expect, uint32_t id,
		    const uint64_t *words, uint32_t len, const void *tail, uint32_t n, int is_text)
{
#ifdef WMK_SEQ_HAS_TAIL
	uint64_t cpu = wmk_rseq_cpu(set->rseq_offset);

	wmk_ring_window_count();
	if (wmk_ring_likely(cpu < set->seq_cpus)) {
		struct wmk_ring_view *ring = &set->ring[cpu];
		struct wmk_ring_ctl *ctl = ring->ctl;
		uint64_t pos = *(volatile uint64_t *)&ctl->write_pos;
		uint64_t ts = wmk_clock_counter(); /* after pos, in program order */
		uint64_t new_pos = pos + 4 + len + n + !!is_text;
		struct wmk_ring_slot *cur = &ctl->slot[wmk_ring_load(&ctl->slot[0].tag) != pos];
		struct wmk_ring_slot *next =
			(struct wmk_ring_slot *)((uintptr_t)&ctl->slot[0] + (uintptr_t)&ctl->slot[1] - (uintptr_t)cur);
		unsigned char *at = ring->data + ((pos + 4) & set->ring_mask) + len;

		if (wmk_ring_likely(new_pos <= wmk_ring_load(&ring->limit) &&
				    ts - wmk_ring_load(&cur->last_ts) < 1ull << WMK_RING_TS_BITS)) {
			const unsigned char *end = (const unsigned char *)words + len;
			uint32_t header = (uint32_t)ts << 5 | id;
			uint64_t records = wmk_ring_load(&cur->records) + 1;

			int rc;

			if (is_text)
				rc = wmk_seq_tail_text(set->rseq_offset, (uint32_t)cpu, ctl, pos, guard, expect, ts,
						       header, at, end, len, tail, n, next, records, new_pos);
			else
				rc = wmk_seq_tail_bytes(set->rseq_offset, (uint32_t)cpu, ctl, pos, guard, expect, ts,
							header, at, end, len, tail, n, next, records, new_pos);
			return wmk_ring_likely(rc == 0) ? wmk_ring_committed(set, ctl) : rc;
		}
	}
#else
	(void)set, (void)guard, (void)expect, (void)id, (void)words, (void)len, (void)tail, (void)n, (void)is_text;
#endif
	return -EAGAIN;
}

/*
 * Write one record under a guard: the record is committed only if *guard == expect inside the restartable sequence.
 * `total`: number of recorded bytes, including the NULs that TEXT fragments add. 0; -ENOSPC: lost and counted; -ESTALE:
 * the guard has changed, nothing is recorded or counted. Async-signal-safe. The caller preserves errno if necessary.
 */
static inline __attribute__((always_inline)) int
wmk_ring_write(struct waymark_ring_set *set, const uint64_t *guard, uint64_t expect, uint32_t id,
	       const struct waymark_ring_frag *frags, unsigned n, uint32_t total)
{
	uint32_t cpu = wmk_rseq_cpu(set->rseq_offset);

	wmk_ring_window_count();
	if (wmk_ring_likely(cpu < set->seq_cpus && n == 1 && frags[0].kind == WAYMARK_FRAG_WORDS &&
			    total - 1 < WMK_RING_FAST_LEN && id < WMK_RING_ID_SHORT)) {
		struct wmk_ring_view *ring = &set->ring[cpu];
		struct wmk_ring_ctl *ctl = ring->ctl;
		uint64_t pos = *(volatile uint64_t *)&ctl->write_pos;
		uint64_t ts = wmk_ring_now(set); /* after pos, in program order */
		uint64_t new_pos = pos + 4 + total;
		struct wmk_ring_slot *cur = &ctl->slot[wmk_ring_load(&ctl->slot[0].tag) != pos];
		struct wmk_ring_slot *next =
			(struct wmk_ring_slot *)((uintptr_t)&ctl->slot[0] + (uintptr_t)&ctl->slot[1] - (uintptr_t)cur);

		if (wmk_ring_likely(new_pos <= wmk_ring_load(&ring->limit) &&
				    ts - wmk_ring_load(&cur->last_ts) < 1ull << WMK_RING_TS_BITS)) {
			int rc = wmk_seq_words(set->rseq_offset, cpu, ctl, pos, guard, expect, ts,
					       (uint32_t)ts << 5 | id, ring->data + (new_pos & set->ring_mask),
					       (const unsigned char *)frags[0].base + total, total, next,
					       wmk_ring_load(&cur->records) + 1, new_pos);
			if (wmk_ring_likely(rc == 0))
				return wmk_ring_committed(set, ctl);
		}
	}
	return wmk_ring_write_general(set, guard, expect, id, frags, n, total);
}

#endif
