/* SPDX-License-Identifier: MIT */
/*
 * writer.c - recording outside the fast path of writer.h: several fragments, long headers, a new sub-buffer, lost
 * records. The code runs in applications and in their signal handlers, so it takes no locks, allocates no memory, and
 * does not change errno.
 */
#include "base/testpoint.h"
#include "ring/record_header.h"

static const uint64_t always; /* a guard that never changes */

static uint64_t sum_lost(const struct wmk_ring_ctl *ctl)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < WAYMARK_LOST_CAUSES; i++)
		sum += wmk_ring_load(&ctl->lost[i]);
	return sum;
}

int wmk_ring_place(struct waymark_ring_set *set, struct wmk_ring_view *ring, struct wmk_seq_plan *plan, uint32_t id,
		   uint32_t total)
{
	struct wmk_ring_ctl *ctl = ring->ctl;
	uint64_t offset = plan->pos & (set->subbuf_size - 1), sub = plan->pos - offset, consumed;
	int err;

	plan->header_len = wmk_ring_header(plan->header, id, plan->ts, plan->last_ts);
	if (offset != 0 && offset + plan->header_len + total <= set->usable) {
		/*
		 * Another process opened the sub-buffer, so the sub-buffer has memory, but is not accessible in this
		 * process.
		 */
		err = wmk_ring_access(set, ring,
				      plan->pos > set->ring_mask ? set->ring_mask + 1 : sub + set->subbuf_size);
		if (err < 0)
			return -ENOMEM;
		wmk_ring_set_to(&ring->limit, sub + set->usable);
		return 1;
	}
	/* The first record of a sub-buffer has the time of the packet, so the short header is sufficient. */
	plan->header_len = wmk_ring_header(plan->header, id, plan->ts, plan->ts);
	if (set->first + plan->header_len + total > set->usable)
		return -EMSGSIZE;
	plan->content_end = offset;
	plan->leave = NULL;
	if (offset != 0) {
		plan->leave = (struct wmk_ring_sub *)(ring->data + (sub & set->ring_mask));
		sub += set->subbuf_size;
	}
	WMK_TESTPOINT(ring_placing);
	if (set->options.mode == WAYMARK_RING_DISCARD) {
		/*
		 * (B) acquire: pairs with the reader's store-release of consumed_pos; no store to the released memory
		 * comes before this load.
		 */
		consumed = __atomic_load_n(&ctl->consumed_pos, __ATOMIC_ACQUIRE);
		/*
		 * The reader has passed the position that this thread read, because this thread was stopped after the
		 * read.
		 */
		if (consumed > sub)
			return -EAGAIN;
		if (sub + set->subbuf_size - consumed > set->ring_mask + 1)
			return -ENOSPC;
	}
	if (wmk_ring_back(set, ring, sub) < 0)
		return -ENOMEM;
	plan->enter = (struct wmk_ring_sub *)(ring->data + (sub & set->ring_mask));
	plan->sequence = sub / set->subbuf_size;
	plan->lost = sum_lost(ctl);
	plan->dst = ring->data + (sub & set->ring_mask) + set->first;
	plan->new_pos = sub + set->first + plan->header_len + total;
	return 0;
}

/* Prepare a record that opens a sub-buffer. 0, -EAGAIN, -ESTALE, or as wmk_ring_place(). */
static __attribute__((noinline, cold)) int wmk_ring_enter(struct waymark_ring_set *set, struct wmk_ring_view *ring,
							  struct wmk_seq_plan *plan, uint32_t id, uint32_t total)
{
	struct wmk_ring_inside inside = wmk_ring_grace_enter();
	int err = -ESTALE;

	/*
	 * (E) full: the thread is counted before it loads the guard; pairs with the loads of the counters in
	 * wmk_ring_grace().
	 */
	if (__atomic_load_n(plan->guard, __ATOMIC_SEQ_CST) == plan->expect) {
		err = wmk_ring_place(set, ring, plan, id, total);
		if (err == 1) {
			err = -EAGAIN;
		} else if (err == 0) {
			err = wmk_seq_record(set->rseq_offset, plan);
			if (err == 0) {
				wmk_ring_set_to(&ring->limit, plan->sequence * set->subbuf_size + set->usable);
				wmk_ring_wake(set);
			}
		} else if (err == -ENOMEM) {
			wmk_ring_wake(set); /* the reader can back more memory */
		}
	}
	wmk_ring_grace_leave(inside);
	return err;
}

/* Make one attempt to write any kind of record. */
static int wmk_ring_attempt(struct waymark_ring_set *set, uint32_t cpu, const uint64_t *guard, uint64_t expect,
			    uint32_t id, const struct waymark_ring_frag *frags, unsigned n, uint32_t total)
{
	struct wmk_ring_view *ring = &set->ring[cpu];
	struct wmk_seq_plan plan;
	uint64_t offset;
	int err;

	plan.cpu = cpu;
	plan.ctl = ring->ctl;
	plan.pos = *(volatile uint64_t *)&ring->ctl->write_pos;
	plan.ts = wmk_ring_now(set); /* after pos, in program order */
	plan.guard = guard;
	plan.expect = expect;
	plan.frags = frags;
	plan.frags_end = frags + n;
	plan.enter = NULL;
	wmk_ring_carry(ring->ctl, &plan);
	if (plan.ts < plan.last_ts)
		plan.ts = plan.last_ts;
	plan.header_len = wmk_ring_header(plan.header, id, plan.ts, plan.last_ts);
	plan.new_pos = plan.pos + plan.header_len + total;
	offset = plan.pos & (set->subbuf_size - 1);
	if (!wmk_ring_likely(plan.new_pos <= wmk_ring_load(&ring->limit) && offset != 0 &&
			     offset + plan.header_len + total <= set->usable))
		return wmk_ring_enter(set, ring, &plan, id, total);
	plan.dst = ring->data + (plan.pos & set->ring_mask);
	err = wmk_seq_record(set->rseq_offset, &plan);
	return err == 0 ? wmk_ring_committed(set, ring->ctl) : err;
}

static __attribute__((noinline, cold)) int
write_patiently(struct waymark_ring_set *set, const uint64_t *guard, uint64_t expect, uint32_t id,
		const struct waymark_ring_frag *frags, unsigned n, uint32_t total)
{
	uint64_t waited = 0;
	int attempts = 0;

	while (attempts++ < WMK_RING_ATTEMPTS && total <= WAYMARK_RING_SEQ_MAX) {
		uint32_t cpu = wmk_rseq_cpu(set->rseq_offset);
		int err;

		if (cpu >= set->seq_cpus)
			break;
		err = wmk_ring_attempt(set, cpu, guard, expect, id, frags, n, total);
		if (err == 0 || err == -ESTALE)
			return err;
		if (err == -EAGAIN)
			continue;
		if (err == -ENOSPC && wmk_ring_wait_room(set, &waited)) {
			attempts = 0;
			continue;
		}
		return wmk_ring_lose(set, guard, expect, wmk_ring_cause(err));
	}
	return wmk_ring_write_claim(set, guard, expect, id, frags, n, total);
}

int wmk_ring_write_general(struct waymark_ring_set *set, const uint64_t *guard, uint64_t expect, uint32_t id,
			   const struct waymark_ring_frag *frags, unsigned n, uint32_t total)
{
	uint32_t cpu = wmk_rseq_cpu(set->rseq_offset);

	/*
	 * Make one attempt for the common case: the header is short, and the record fits into the open sub-buffer.
	 * Everything except the time is prepared before the clock is read.
	 */
	if (wmk_ring_likely(cpu < set->seq_cpus && id < WMK_RING_ID_SHORT && total <= WAYMARK_RING_SEQ_MAX)) {
		struct wmk_ring_view *ring = &set->ring[cpu];
		struct wmk_seq_plan plan;
		uint64_t offset;

		plan.cpu = cpu;
		plan.ctl = ring->ctl;
		plan.pos = *(volatile uint64_t *)&ring->ctl->write_pos;
		plan.guard = guard;
		plan.expect = expect;
		plan.frags = frags;
		plan.frags_end = frags + n;
		plan.enter = NULL;
		plan.header_len = 4;
		wmk_ring_carry(ring->ctl, &plan);
		plan.dst = ring->data + (plan.pos & set->ring_mask);
		plan.new_pos = plan.pos + 4 + total;
		offset = plan.pos & (set->subbuf_size - 1);
		if (wmk_ring_likely(plan.new_pos <= wmk_ring_load(&ring->limit) && offset != 0 &&
				    offset + 4 + total <= set->usable)) {
			plan.ts = wmk_ring_now(set);
			plan.header[0] = (uint32_t)plan.ts << 5 | id;
			if (wmk_ring_likely(plan.ts - plan.last_ts < 1ull << WMK_RING_TS_BITS &&
					    wmk_seq_record(set->rseq_offset, &plan) == 0))
				return wmk_ring_committed(set, ring->ctl);
		}
	}
	return write_patiently(set, guard, expect, id, frags, n, total);
}

int wmk_ring_lose(struct waymark_ring_set *set, const uint64_t *guard, uint64_t expect, enum waymark_ring_loss cause)
{
	struct wmk_ring_inside inside;
	int err = -ESTALE;

	for (int i = 0; i < WMK_RING_ATTEMPTS; i++) {
		uint32_t cpu = wmk_rseq_cpu(set->rseq_offset);

		if (cpu >= set->seq_cpus)
			break;
		err = wmk_seq_add(set->rseq_offset, cpu, &set->ring[cpu].ctl->lost[cause], 1, guard, expect);
		if (err == 0)
			return -ENOSPC;
		if (err == -ESTALE)
			return err;
	}
	inside = wmk_ring_grace_enter();
	err = -ESTALE;
	if (__atomic_load_n(guard, __ATOMIC_SEQ_CST) == expect) { /* (E) */
		wmk_ring_count_lost(set);
		err = -ENOSPC;
	}
	wmk_ring_grace_leave(inside);
	return err;
}

void wmk_ring_count_lost(struct waymark_ring_set *set)
{
	/* Relaxed: the value is only a count, and no other data depends on it. */
	__atomic_fetch_add(&set->header->lost_without_ring, 1, __ATOMIC_RELAXED);
}

void wmk_ring_count_cut(struct waymark_ring_set *set, unsigned n)
{
	for (int i = 0; i < WMK_RING_ATTEMPTS; i++) {
		uint32_t cpu = wmk_rseq_cpu(set->rseq_offset);

		if (cpu >= set->seq_cpus)
			break;
		if (wmk_seq_add(set->rseq_offset, cpu, &set->ring[cpu].ctl->cut, n, &always, 0) == 0)
			return;
	}
	__atomic_fetch_add(&wmk_ring_claim_home(set)->ctl->cut, n, __ATOMIC_RELAXED);
}

static __attribute__((noinline)) int record_any(struct waymark_ring_set *set, uint32_t id,
						const struct waymark_ring_frag *frags, unsigned n)
{
	uint64_t total = 0;

	if (n > WAYMARK_RING_MAX_FRAGS)
		return -EINVAL;
	wmk_ring_window_count();
	for (unsigned i = 0; i < n; i++)
		total += (uint64_t)frags[i].len + (frags[i].kind == WAYMARK_FRAG_TEXT);
	if (total > UINT32_MAX)
		return wmk_ring_lose(set, &always, 0, WAYMARK_LOST_SIZE);
	return wmk_ring_write_general(set, &always, 0, id, frags, n, (uint32_t)total);
}

int waymark_ring_record(struct waymark_ring_set *set, uint32_t id, const struct waymark_ring_frag *frags, unsigned n)
{
	if (wmk_ring_likely(n == 1 && frags[0].kind == WAYMARK_FRAG_WORDS))
		return wmk_ring_write(set, &always, 0, id, frags, 1, frags[0].len);
	return record_any(set, id, frags, n);
}
