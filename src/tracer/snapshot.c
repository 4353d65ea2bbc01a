/* SPDX-License-Identifier: MIT */
/*
 * snapshot.c - waymark_snapshot(): request snapshots from the session daemons.
 *
 *     waymark_snapshot() ──request──► headers of the ring sets ──► consumer daemon ──► session daemon: a snapshot
 *                        ──wake─────► readers that sleep
 *
 * The requests are in shared memory, so the session daemons find the requests even if the process ends at once.
 */
#include <errno.h>

#include <waymark/ring.h>
#include <waymark/runtime.h>

#include "base/clock.h"
#include "ring/request.h"
#include "ring/writer.h"
#include "tracer/compiler.h"
#include "tracer/snapshot.h"
#include "tracer/tracer.h"

/* channels of each endpoint, and its orphans: each at most CHANNELS_MAX of channel.c */
#define TARGETS_MAX (WMK_ENDPOINTS * 2 * 64)

static struct waymark_ring_set *targets[TARGETS_MAX];

void wmk_snapshot_target_add(struct waymark_ring_set *set)
{
	if (waymark_ring_set_options(set)->mode != WAYMARK_RING_OVERWRITE)
		return;
	for (unsigned i = 0; i < TARGETS_MAX; i++)
		if (!targets[i]) {
			/* Sequentially consistent: pairs with the load in waymark_snapshot(). */
			__atomic_store_n(&targets[i], set, __ATOMIC_SEQ_CST);
			return;
		}
}

void wmk_snapshot_target_remove(const struct waymark_ring_set *set)
{
	for (unsigned i = 0; i < TARGETS_MAX; i++)
		if (targets[i] == set)
			/*
			 * Sequentially consistent: wmk_reclaim() waits for a thread that has loaded the set; pairs with
			 * the load in waymark_snapshot().
			 */
			__atomic_store_n(&targets[i], NULL, __ATOMIC_SEQ_CST);
}

int WMK_EXPORT waymark_snapshot(const char *reason)
{
	const int saved = errno;
	const uint64_t id = wmk_clock_monotonic() | 1;
	const struct wmk_ring_inside inside = wmk_ring_grace_enter();
	int result = -ENOENT;

	for (unsigned i = 0; i < TARGETS_MAX; i++) {
		/* Sequentially consistent, as the count of the grace period (wmk_ring_grace_enter()). */
		struct waymark_ring_set *set = __atomic_load_n(&targets[i], __ATOMIC_SEQ_CST);
		const int err = set ? wmk_ring_request(set, id, reason) : -ENOENT;

		if (err == 0 || result == -ENOENT)
			result = err;
	}
	wmk_ring_grace_leave(inside);
	errno = saved;
	return result;
}
