/* SPDX-License-Identifier: MIT */
/* record_header.h - encodes record headers, and accesses the shared words of a ring. Internal to src/ring. */
#ifndef WMK_RING_RECORD_HEADER_H
#define WMK_RING_RECORD_HEADER_H

#include "ring/writer.h"

#define wmk_ring_set_to(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)

/*
 * Encode a record header from which a reader can decode `ts` after a record of time `last_ts`. Returns its length: 4, 6
 * or 13.
 */
static inline unsigned wmk_ring_header(uint64_t out[2], uint32_t id, uint64_t ts, uint64_t last_ts)
{
	unsigned char *p = (unsigned char *)out;

	out[0] = out[1] = 0;
	if (ts - last_ts < 1ull << WMK_RING_TS_BITS && id <= UINT16_MAX) {
		uint64_t low = ts & ((1ull << WMK_RING_TS_BITS) - 1);

		if (id < WMK_RING_ID_SHORT) {
			out[0] = id | low << 5;
			return 4;
		}
		out[0] = 30 | (uint64_t)id << 5 | low << 21;
		return 6;
	}
	p[0] = WMK_RING_ID_EXTENDED;
	__builtin_memcpy(p + 1, &id, 4);
	__builtin_memcpy(p + 5, &ts, 8);
	return 13;
}

/*
 * Place a record that does not fit at plan->pos, or a record in a sub-buffer that is not accessible in this process.
 * The function fills new_pos, dst, and the sub-buffers to close and to open. 0; 1: the sub-buffer is accessible now,
 * try again; -EAGAIN: plan->pos is outdated; -ENOSPC: full; -ENOMEM: no memory; -EMSGSIZE: too large for any
 * sub-buffer.
 */
int wmk_ring_place(struct waymark_ring_set *set, struct wmk_ring_view *ring, struct wmk_seq_plan *plan, uint32_t id,
		   uint32_t total);
/* Read the slot with the state of plan->pos, and fill next, records, records_before and last_ts of the plan. */
static inline void wmk_ring_carry(struct wmk_ring_ctl *ctl, struct wmk_seq_plan *plan)
{
	unsigned index = wmk_ring_load(&ctl->slot[0].tag) != plan->pos;

	plan->last_ts = wmk_ring_load(&ctl->slot[index].last_ts);
	plan->records_before = wmk_ring_load(&ctl->slot[index].records);
	plan->records = plan->records_before + 1;
	plan->next = &ctl->slot[!index];
}

/* Return the cause of a loss for -ENOSPC, -ENOMEM or -EMSGSIZE. */
static inline enum waymark_ring_loss wmk_ring_cause(int err)
{
	return err == -ENOMEM ? WAYMARK_LOST_MEMORY : err == -EMSGSIZE ? WAYMARK_LOST_SIZE : WAYMARK_LOST_FULL;
}

/*
 * Make the sub-buffer at `sub` accessible in this process; only the first call for a sub-buffer makes a system call. 0;
 * -ENOMEM: it is not backed.
 */
int wmk_ring_back(struct waymark_ring_set *set, struct wmk_ring_view *ring, uint64_t sub);
/*
 * Wait for room, if the channel allows waiting and the process does not forbid it. 1: try again; 0: do not wait.
 * `waited`: the wait so far in ns, which starts at 0 and which the caller keeps.
 */
int wmk_ring_wait_room(struct waymark_ring_set *set, uint64_t *waited);
/*
 * Return the claim ring that the calling thread tries first. The claim ring that a thread tries first also has the
 * counts of threads that have no ring of a CPU.
 */
struct wmk_ring_view *wmk_ring_claim_home(struct waymark_ring_set *set);
/* Count a lost record on the ring of the current CPU. -ENOSPC or -ESTALE. */
int wmk_ring_lose(struct waymark_ring_set *set, const uint64_t *guard, uint64_t expect, enum waymark_ring_loss cause);

/*
 * Allocate `bytes` of memory for the rings of CPUs in total, but at least one sub-buffer of each ring. Also allocate
 * the first sub-buffers of claim rings, if these sub-buffers are small. 0 or -errno.
 */
int wmk_ring_set_prefault(struct waymark_ring_set *set, uint64_t bytes);

/*
 * True if a writer has recorded into the ring, or has tried to record, since the memory of the ring was given back
 * last.
 */
int wmk_ring_needs_memory(const struct wmk_ring_ctl *ctl);

/* Allocate the memory of the first sub-buffer of a ring. */
void wmk_ring_back_first(struct waymark_ring_set *set, uint32_t index);

/*
 * Make a raw system call, which does not set errno, is no cancellation point, and cannot be interposed. Returns -errno.
 */
long wmk_ring_syscall(long nr, long a, long b, long c, long d, long e, long f);

#endif
