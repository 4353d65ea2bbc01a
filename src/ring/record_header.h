/* SPDX-License-Identifier: MIT */
/* record_header.h - encodes record headers, and accesses the shared words of a ring. Internal to src/ring. */
#ifndef WMK_RING_RECORD_HEADER_H
#define WMK_RING_RECORD_HEADER_H

#include "ring/writer.h"

#define wmk_ring_set_to(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)

/*
 * Encode the record header that makes `ts` decodable after a record of time `last_ts`. Returns its length: 4, 6 or
 * 13.
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
 * Decide where a record goes that does not fit behind plan->pos, or whose sub-buffer is not accessible here: fills
 * plan's new_pos, dst and what is to be closed and opened. 0; 1: only accessibility was missing, look again; -EAGAIN:
 * plan->pos is long past; -ENOSPC: full; -ENOMEM: no memory; -EMSGSIZE: too large for any sub-buffer.
 */
int wmk_ring_place(struct waymark_ring_set *set, struct wmk_ring_view *ring, struct wmk_seq_plan *plan, uint32_t id,
		   uint32_t total);
/* The slot that carries the state of plan->pos: fills plan's next, records, records_before, last_ts. */
static inline void wmk_ring_carry(struct wmk_ring_ctl *ctl, struct wmk_seq_plan *plan)
{
	unsigned index = wmk_ring_load(&ctl->slot[0].tag) != plan->pos;

	plan->last_ts = wmk_ring_load(&ctl->slot[index].last_ts);
	plan->records_before = wmk_ring_load(&ctl->slot[index].records);
	plan->records = plan->records_before + 1;
	plan->next = &ctl->slot[!index];
}

/* -ENOSPC, -ENOMEM, -EMSGSIZE → why a record is lost. */
static inline enum waymark_ring_loss wmk_ring_cause(int err)
{
	return err == -ENOMEM ? WAYMARK_LOST_MEMORY : err == -EMSGSIZE ? WAYMARK_LOST_SIZE : WAYMARK_LOST_FULL;
}

/*
 * May the sub-buffer at `sub` be entered? Makes it accessible here (a system call, the first time). 0; -ENOMEM: it is
 * not backed.
 */
int wmk_ring_back(struct waymark_ring_set *set, struct wmk_ring_view *ring, uint64_t sub);
/* Wake the reader if it sleeps; after the commit that opened a sub-buffer. */
void wmk_ring_wake(struct waymark_ring_set *set);
/*
 * Wait for room, where that was asked for and is allowed. 1: look again; 0: no. `waited`: 0 at first, kept by the
 * caller.
 */
int wmk_ring_wait_room(struct waymark_ring_set *set, uint64_t *waited);
/* The claim ring that the calling thread tries first: the home of what it counts without a ring of a CPU. */
struct wmk_ring_view *wmk_ring_claim_home(struct waymark_ring_set *set);
/* Count a loss on the ring of the CPU that runs here. -ENOSPC or -ESTALE. */
int wmk_ring_lose(struct waymark_ring_set *set, const uint64_t *guard, uint64_t expect, enum waymark_ring_loss cause);

/*
 * Back the CPU rings, `bytes` altogether but at least a sub-buffer each, and the claim rings' first where that is
 * cheap. 0 or -errno.
 */
int wmk_ring_set_prefault(struct waymark_ring_set *set, uint64_t bytes);

/* Back the first sub-buffer of a ring. */
void wmk_ring_back_first(struct waymark_ring_set *set, uint32_t index);

/* Raw system calls: no errno, no cancellation point, nothing interposed. Return -errno. */
long wmk_ring_syscall(long nr, long a, long b, long c, long d, long e, long f);

#endif
