/* SPDX-License-Identifier: MIT */
/*
 * claim.c - recording without restartable sequences: a thread blocks its signals, claims a ring, writes, commits, and
 * releases the ring. Daemons free the claims of processes that have ended. A daemon retires a claim of an anonymous
 * process if the claim does not change.
 */
#include <string.h>
#include <sys/syscall.h>

#include "base/faults.h"
#include "base/testpoint.h"
#include "ring/record_header.h"

#define YIELDS 100               /* allocation PER_SET: the holder of a ring may have been descheduled */

static uint32_t claims_end(const struct waymark_ring_set *set)
{
	uint32_t end = wmk_ring_load(&set->header->claims_end);

	return end < set->options.n_cpus || end > set->n_rings ? set->n_rings : end;
}

/* Return the index of the claim ring, out of `n`, that this thread tries first. */
static uint32_t first_choice(uint32_t n)
{
	return n ? (uint32_t)((uintptr_t)__builtin_thread_pointer() >> 12) % n : 0;
}

struct wmk_ring_view *wmk_ring_claim_home(struct waymark_ring_set *set)
{
	return &set->ring[set->options.n_cpus + first_choice(claims_end(set) - set->options.n_cpus)];
}

/* Claim a free ring. NULL: all are in use. */
static struct wmk_ring_view *claim(struct waymark_ring_set *set, uint64_t who)
{
	uint32_t end = claims_end(set), n = end - set->options.n_cpus, start = first_choice(n);

	/* First try the claim rings that have memory: the first record in a ring without memory is lost. */
	for (uint32_t i = 0; i < 2 * n; i++) {
		struct wmk_ring_view *ring = &set->ring[set->options.n_cpus + (start + i) % n];
		uint64_t expected = WMK_CLAIM_FREE;

		if (wmk_ring_load(&ring->ctl->claim) != WMK_CLAIM_FREE ||
		    (i < n && wmk_ring_load(&ring->ctl->backed_pos) == 0))
			continue;
		/* (H) acquire: pairs with the release in unclaim() and in waymark_ring_set_free_claims(). */
		if (__atomic_compare_exchange_n(&ring->ctl->claim, &expected, who, 0, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED)) {
			wmk_ring_set_to(&ring->ctl->claims, wmk_ring_load(&ring->ctl->claims) + 1);
			return ring;
		}
	}
	return NULL;
}

static void unclaim(struct wmk_ring_view *ring, uint64_t who)
{
	/* (H) release. The exchange fails if a daemon has retired the claim; the claim then stays retired. */
	__atomic_compare_exchange_n(&ring->ctl->claim, &who, WMK_CLAIM_FREE, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/*
 * Copy bytes to the ring, by relaxed atomic words where the address is aligned, because a reader may load the same
 * bytes at the same time.
 */
static void put(unsigned char *to, const unsigned char *from, size_t len)
{
	for (; len != 0 && ((uintptr_t)to & 7) != 0; len--)
		__atomic_store_n(to++, *from++, __ATOMIC_RELAXED);
	for (; len >= 8; len -= 8, to += 8, from += 8) {
		uint64_t word;

		memcpy(&word, from, 8);
		__atomic_store_n((uint64_t *)(void *)to, word, __ATOMIC_RELAXED);
	}
	for (; len != 0; len--)
		__atomic_store_n(to++, *from++, __ATOMIC_RELAXED);
}

static void put_text(unsigned char *to, const unsigned char *from, size_t len)
{
	for (; len != 0; len--) {
		unsigned char c = *(const volatile unsigned char *)from++;

		__atomic_store_n(to++, c ? c : (unsigned char)'#', __ATOMIC_RELAXED);
	}
}

static void put_record(const struct wmk_seq_plan *plan)
{
	unsigned char *to = plan->dst;

	put(to, (const unsigned char *)plan->header, plan->header_len);
	to += plan->header_len;
	for (const struct waymark_ring_frag *f = plan->frags; f < plan->frags_end; f++) {
		if (f->kind >= WAYMARK_FRAG_TEXT)
			put_text(to, f->base, f->len);
		else
			put(to, f->base, f->len);
		to += f->len;
		if (f->kind == WAYMARK_FRAG_TEXT)
			__atomic_store_n(to++, 0, __ATOMIC_RELAXED);
	}
}

/* Make the same stores as the restartable sequence, in C: this thread is the only writer of the ring. */
static void commit(struct wmk_seq_plan *plan)
{
	if (plan->enter) {
		if (plan->leave) {
			wmk_ring_set_to(&plan->leave->end_ts, plan->last_ts);
			wmk_ring_set_to(&plan->leave->content_end, plan->content_end);
			wmk_ring_set_to(&plan->leave->records_end, plan->records_before);
			wmk_ring_set_to(&plan->leave->lost_end, plan->lost);
		}
		/* (C) release: the previous commit comes before the stores to the new sub-buffer. */
		__atomic_thread_fence(__ATOMIC_RELEASE);
		wmk_ring_set_to(&plan->enter->begin_ts, plan->ts);
		wmk_ring_set_to(&plan->enter->end_ts, plan->ts);
		wmk_ring_set_to(&plan->enter->sequence, plan->sequence);
		wmk_ring_set_to(&plan->enter->records_start, plan->records_before);
		wmk_ring_set_to(&plan->enter->lost_start, plan->lost);
		wmk_ring_set_to(&plan->enter->content_end, 0);
	}
	WMK_TESTPOINT(claim_entered);
	put_record(plan);
	WMK_TESTPOINT(claim_copied);
	wmk_ring_set_to(&plan->next->tag, plan->new_pos);
	/* (D) release: the tag before the other members; pairs with the reader's second load of the tag. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	wmk_ring_set_to(&plan->next->last_ts, plan->ts);
	WMK_TESTPOINT(claim_slot);
	wmk_ring_set_to(&plan->next->records, plan->records);
	/* (A) */
	__atomic_store_n(&plan->ctl->write_pos, plan->new_pos, __ATOMIC_RELEASE);
	WMK_TESTPOINT(claim_committed);
}

static int write_claimed(struct waymark_ring_set *set, struct wmk_ring_view *ring, struct wmk_seq_plan *plan,
			 uint32_t id, uint32_t total, int may_wait)
{
	uint64_t offset;
	int err;

	do {
		plan->ctl = ring->ctl;
		plan->pos = wmk_ring_load(&ring->ctl->write_pos);
		__asm__ __volatile__("" ::: "memory"); /* the clock is read after the claim */
		plan->ts = wmk_ring_now(set);
		plan->enter = NULL;
		wmk_ring_carry(ring->ctl, plan);
		if (plan->ts < plan->last_ts)
			plan->ts = plan->last_ts;
		plan->header_len = wmk_ring_header(plan->header, id, plan->ts, plan->last_ts);
		plan->new_pos = plan->pos + plan->header_len + total;
		plan->dst = ring->data + (plan->pos & set->ring_mask);
		offset = plan->pos & (set->subbuf_size - 1);
		err = 0;
		if (plan->new_pos > wmk_ring_load(&ring->limit) || offset == 0 ||
		    offset + plan->header_len + total > set->usable)
			err = wmk_ring_place(set, ring, plan, id, total);
	} while (err == 1);
	if (err == -ENOSPC && may_wait)
		return err;
	if (err < 0) {
		enum waymark_ring_loss cause = wmk_ring_cause(err);

		wmk_ring_set_to(&ring->ctl->lost[cause], wmk_ring_load(&ring->ctl->lost[cause]) + 1);
		if (err == -ENOMEM)
			wmk_ring_wake(set); /* the reader can back more memory */
		return err;
	}
	commit(plan);
	if (plan->enter) {
		wmk_ring_set_to(&ring->limit, plan->sequence * set->subbuf_size + set->usable);
		return wmk_ring_wake(set);
	}
	return wmk_ring_committed(set, ring->ctl);
}

/*
 * Make one attempt to record, with signals blocked, inside the grace period. 0; -ESTALE; -ENOSPC: full (counted unless
 * may_wait); -EBUSY: no ring is free (counted unless may_yield). With an error other than -ESTALE, -ENOSPC and -EBUSY,
 * the record is lost and counted.
 */
static int claim_and_write(struct waymark_ring_set *set, struct wmk_seq_plan *plan, uint32_t id, uint32_t total,
			   int may_wait, int may_yield)
{
	uint64_t who, mask = ~WMK_SIGNALS_FAULTS, old = 0;
	struct wmk_ring_view *ring;
	struct wmk_ring_inside inside;
	int err = -ESTALE;

	wmk_ring_syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)&mask, (long)&old, sizeof(mask), 0, 0);
	/*
	 * The identity is loaded after signals are blocked: otherwise, a signal handler that calls fork() could make
	 * the child use the identity of the parent.
	 */
	who = wmk_ring_load(&set->identity);
	inside = wmk_ring_grace_enter();
	if (__atomic_load_n(plan->guard, __ATOMIC_SEQ_CST) == plan->expect) { /* (E) */
		err = -EBUSY;
		ring = claim(set, who);
		if (ring) {
			WMK_TESTPOINT(claim_claimed);
			err = write_claimed(set, ring, plan, id, total, may_wait);
			unclaim(ring, who);
		} else if (!may_yield) {
			wmk_ring_count_lost(set);
			wmk_ring_wake(set);      /* the reader can retire claims of ended processes */
		}
	}
	wmk_ring_grace_leave(inside);
	wmk_ring_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&old, 0, sizeof(old), 0, 0);
	return err;
}

int wmk_ring_write_claim(struct waymark_ring_set *set, const uint64_t *guard, uint64_t expect, uint32_t id,
			 const struct waymark_ring_frag *frags, unsigned n, uint32_t total)
{
	struct wmk_seq_plan plan = { .guard = guard, .expect = expect, .frags = frags, .frags_end = frags + n };
	uint64_t waited = 0;
	int err, wait = set->options.block_us != 0;
	int yields = set->options.allocation == WAYMARK_RING_PER_SET ? YIELDS : 0;

	if (set->options.poll_us)                /* changing the signal mask would be a system call */
		return wmk_ring_lose(set, guard, expect,
				     total > WAYMARK_RING_SEQ_MAX ? WAYMARK_LOST_SIZE : WAYMARK_LOST_RETRY);
	/* Wait and yield without a claim. The attempt after the last wait or after the last yield counts the loss. */
	for (;;) {
		err = claim_and_write(set, &plan, id, total, wait, yields > 0);
		if (err == -ENOSPC && wait)
			wait = wmk_ring_wait_room(set, &waited);
		else if (err == -EBUSY && yields-- > 0)
			wmk_ring_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
		else
			break;
	}
	return err == 0 || err == -ESTALE ? err : -ENOSPC;
}

/* ── daemons ─────────────────────────────────────────────────────────────────────────────────────────── */

uint64_t wmk_ring_identity(uint32_t slot, uint32_t generation)
{
	return slot == 0 && generation == 0 ? WMK_CLAIM_ANONYMOUS
					    : WMK_CLAIM_NAMED | (uint64_t)(generation & 0x1fffffff) << 32 | slot;
}

void waymark_ring_set_identity(struct waymark_ring_set *set, uint32_t slot, uint32_t generation)
{
	__atomic_store_n(&set->identity, wmk_ring_identity(slot, generation), __ATOMIC_RELAXED);
}

int waymark_ring_set_free_claims(struct waymark_ring_set *set, uint32_t slot, uint32_t generation)
{
	uint64_t who = wmk_ring_identity(slot, generation);
	int freed = 0;

	if (who == WMK_CLAIM_ANONYMOUS)
		return -EINVAL;
	for (uint32_t i = set->options.n_cpus; i < set->n_rings; i++) {
		uint64_t expected = who;

		/* (H) release, for an ended process: its stores are visible, since the kernel reported its end. */
		freed += __atomic_compare_exchange_n(&set->ring[i].ctl->claim, &expected, WMK_CLAIM_FREE, 0,
						     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	}
	return freed;
}

int wmk_ring_set_claimed_by(const struct waymark_ring_set *set, uint32_t ring, uint32_t *slot, uint32_t *generation)
{
	uint64_t who = wmk_ring_load(&set->ring[ring].ctl->claim);

	if (who >> 61 != WMK_CLAIM_NAMED >> 61)
		return 0;
	*slot = (uint32_t)who;
	*generation = (uint32_t)(who >> 32) & 0x1fffffff;
	return 1;
}

int waymark_ring_set_retire_claims(struct waymark_ring_set *set)
{
	int n = 0;

	for (uint32_t i = set->options.n_cpus; i < set->n_rings; i++) {
		struct wmk_ring_view *ring = &set->ring[i];
		uint64_t claims = wmk_ring_load(&ring->ctl->claims), expected = WMK_CLAIM_ANONYMOUS;
		uint32_t end = claims_end(set);
		int still = wmk_ring_load(&ring->ctl->claim) == WMK_CLAIM_ANONYMOUS && ring->seen_claims == claims + 1;

		/* + 1, since 0 means that the claim has not been seen */
		ring->seen_claims = wmk_ring_load(&ring->ctl->claim) == WMK_CLAIM_ANONYMOUS ? claims + 1 : 0;
		if (!still || end >= set->n_rings)
			continue;
		if (__atomic_compare_exchange_n(&ring->ctl->claim, &expected, WMK_CLAIM_RETIRED, 0, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED)) {
			wmk_ring_back_first(set, end);
			wmk_ring_set_to(&set->header->claims_end, end + 1);
			n++;
		}
	}
	return n;
}

/* ── reasons of lost records ─────────────────────────────────────────────────────────────────────────── */

#define WHY_SHIFT 24u                /* bits of an identity's slot, below the reason */

void wmk_ring_explain(struct waymark_ring_set *set, enum wmk_ring_why why)
{
	const uint64_t is = wmk_ring_load(&set->identity) | (uint64_t)why << WHY_SHIFT;

	for (unsigned i = 0; i < WMK_RING_WHYS; i++) {
		uint64_t *at = &set->header->why[i], was = wmk_ring_load(at);

		/* Relaxed: no other data depends on the value. */
		if (was == 0 && __atomic_compare_exchange_n(at, &was, is, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return;
		if (was == is)
			return;
	}
}

int wmk_ring_set_explained(const struct waymark_ring_set *set, unsigned i, enum wmk_ring_why *why, uint32_t *slot,
			   uint32_t *generation)
{
	const uint64_t is = i < WMK_RING_WHYS ? wmk_ring_load(&set->header->why[i]) : 0;
	const unsigned what = (unsigned)(is >> WHY_SHIFT & 0xff);

	if (what == 0 || what >= WMK_RING_WHY_COUNT)
		return 0;
	*why = what;
	*slot = is & WMK_CLAIM_NAMED ? (uint32_t)(is & ((1u << WHY_SHIFT) - 1)) : 0;
	*generation = is & WMK_CLAIM_NAMED ? (uint32_t)(is >> 32 & 0x1fffffff) : 0;
	return 1;
}
