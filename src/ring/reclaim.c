/* SPDX-License-Identifier: MIT */
/*
 * reclaim.c - give back the memory of an idle ring.
 *
 *                    reclaimed_pos (the writers' position)
 *                          │            backed_pos
 *     ─────────────┬───────┼──────┬───────────┬────────────────────────────┬─────►
 *      all read    │ current      │ next      │ given back                 │ current + ring size
 *
 * A thread can have planned a record at reclaimed_pos long ago, with an earlier value of backed_pos. The restartable
 * sequence accepts a plan at reclaimed_pos as long as no other record is committed. A plan at reclaimed_pos enters at
 * most the sub-buffer after the current one, so this sub-buffer keeps its memory. A plan at a later position uses the
 * lowered backed_pos: pair (J).
 *
 * The reclaim of memory requires no lock and no system call in the writers. waymark_ring_set_back() allocates the
 * memory again after the next record.
 */
#include <fcntl.h>
#include <sys/syscall.h>

#include "base/testpoint.h"
#include "ring/file.h"
#include "ring/record_header.h"

#ifndef FALLOC_FL_KEEP_SIZE
#define FALLOC_FL_KEEP_SIZE 1
#endif
#ifndef FALLOC_FL_PUNCH_HOLE
#define FALLOC_FL_PUNCH_HOLE 2
#endif

/* Give back the memory between the positions `from` and `to`, which are less than a lap apart. */
static int punch(const struct waymark_ring_set *set, const struct wmk_ring_view *ring, uint64_t from, uint64_t to)
{
	const uint64_t data = (uint64_t)(ring->data - (unsigned char *)set->header);
	long err = 0;

	while (from < to && err == 0) {
		const uint64_t at = from & set->ring_mask, left = set->ring_mask + 1 - at;
		const uint64_t bytes = to - from < left ? to - from : left;

		err = wmk_ring_syscall(SYS_fallocate, set->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				       (long)(data + at), (long)bytes, 0, 0);
		from += bytes;
	}
	return (int)err;
}

int waymark_ring_set_may_reclaim(const struct waymark_ring_set *set)
{
	return set->options.mode == WAYMARK_RING_DISCARD && !set->options.poll_us && !set->options.block_us;
}

int64_t waymark_ring_set_reclaim(struct waymark_ring_set *set, uint32_t ring)
{
	struct wmk_ring_ctl *ctl;
	int err;

	if (set->fd < 0 || ring >= set->n_rings)
		return -EINVAL;
	if (!waymark_ring_set_may_reclaim(set))
		return 0;
	err = wmk_ring_file_check_size(set);
	if (err < 0)
		return err;
	ctl = set->ring[ring].ctl;
	const uint64_t size = set->subbuf_size, pos = wmk_ring_load(&ctl->write_pos), current = pos & ~(size - 1);
	const uint64_t had = wmk_ring_load(&ctl->backed_pos), before = wmk_ring_load(&ctl->reclaimed_pos);
	/*
	 * A ring without records has no current sub-buffer: a plan at the position of the ring enters the first
	 * sub-buffer.
	 */
	const uint64_t keep = current + (pos == 0 ? size : 2 * size), end = current + set->ring_mask + 1;

	/*
	 * Only readers write consumed_pos, so the load needs no order. An application that forges consumed_pos harms
	 * only its own trace.
	 */
	if (wmk_ring_load(&ctl->consumed_pos) != current)
		return -EAGAIN;
	if (keep >= end)
		return 0;
	if (pos == 0 ? had <= keep || wmk_ring_needs_memory(ctl) : had != UINT64_MAX)
		return 0;
	WMK_TESTPOINT(reclaim_looked);
	wmk_ring_set_to(&ctl->reclaimed_pos, pos);
	wmk_ring_set_to(&ctl->backed_pos, keep);
	/* (J) full: pairs with the fence in wmk_ring_back(). */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	WMK_TESTPOINT(reclaim_lowered);
	if (wmk_ring_load(&ctl->write_pos) != pos) {
		wmk_ring_set_to(&ctl->reclaimed_pos, before);
		/* (F) release: nothing was given back. */
		__atomic_store_n(&ctl->backed_pos, had, __ATOMIC_RELEASE);
		return -EAGAIN;
	}
	WMK_TESTPOINT(reclaim_checked);
	err = punch(set, &set->ring[ring], keep, had < end ? had : end);
	return err < 0 ? err : (int64_t)((had < end ? had : end) - keep);
}

uint64_t wmk_ring_set_reclaimed(const struct waymark_ring_set *set, uint32_t ring)
{
	const struct wmk_ring_ctl *ctl = set->ring[ring].ctl;
	const uint64_t reclaimed = wmk_ring_load(&ctl->reclaimed_pos), backed = wmk_ring_load(&ctl->backed_pos);
	const uint64_t end = (reclaimed & ~(set->subbuf_size - 1)) + set->ring_mask + 1;

	/* a ring without records: its memory may never have been allocated */
	return reclaimed == 0 || backed >= end || end - backed > set->ring_mask ? 0 : end - backed;
}
