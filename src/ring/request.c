/* SPDX-License-Identifier: MIT */
/* request.c - see request.h. */
#include "ring/request.h"

#include <errno.h>
#include <string.h>

#include "ring/writer.h"

int wmk_ring_request(struct waymark_ring_set *set, uint64_t id, const char *reason)
{
	struct wmk_ring_request_slot *slot = &set->header->request;
	uint64_t expected = 0;
	size_t len = 0;

	/* Acquire: pairs with the release in wmk_ring_request_take(), so that the earlier reason has been read. */
	if (!__atomic_compare_exchange_n(&slot->owner, &expected, wmk_ring_load(&set->identity), 0, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED)) {
		__atomic_fetch_add(&slot->refused, 1, __ATOMIC_RELAXED);
		return -EAGAIN;
	}
	for (; reason && len < WMK_RING_REASON_MAX && reason[len]; len++)
		__atomic_store_n(&slot->reason[len], reason[len], __ATOMIC_RELAXED);
	__atomic_store_n(&slot->reason[len], '\0', __ATOMIC_RELAXED);
	/* Release: pairs with the acquire in wmk_ring_requested(), so that the reason is complete. */
	__atomic_store_n(&slot->id, id, __ATOMIC_RELEASE);
	wmk_ring_wake(set);
	return 0;
}

int wmk_ring_request_take(struct waymark_ring_set *set, struct wmk_ring_request *request, uint64_t *refused)
{
	struct wmk_ring_request_slot *slot = &set->header->request;

	*refused = __atomic_exchange_n(&slot->refused, 0, __ATOMIC_RELAXED);
	*request = (struct wmk_ring_request){ .id = wmk_ring_requested(set) };
	if (request->id == 0)
		return 0;
	const uint64_t owner = wmk_ring_load(&slot->owner);

	if (owner & WMK_CLAIM_NAMED) {
		request->slot = (uint32_t)owner;
		request->generation = (uint32_t)(owner >> 32 & 0x1fffffff);
	}
	for (size_t i = 0; i < WMK_RING_REASON_MAX; i++)
		request->reason[i] = wmk_ring_load(&slot->reason[i]);
	__atomic_store_n(&slot->id, 0, __ATOMIC_RELAXED);
	/* Release: pairs with the acquire in wmk_ring_request(), so that the reason has been read. */
	__atomic_store_n(&slot->owner, 0, __ATOMIC_RELEASE);
	return 1;
}

void wmk_ring_request_abandon(struct waymark_ring_set *set, uint32_t slot, uint32_t generation)
{
	uint64_t owner = wmk_ring_load(&set->header->request.owner);
	const int is_own = owner == wmk_ring_identity(slot, generation);

	/*
	 * An anonymous writer cannot be identified, so the function frees the slot of any anonymous writer. If the
	 * anonymous writer still runs, another request may overwrite the reason that this writer is storing. If the
	 * function did not free the slot, the slot of an anonymous writer that has ended would stay blocked.
	 */
	if ((is_own || owner == WMK_CLAIM_ANONYMOUS) && wmk_ring_requested(set) == 0)
		/* Relaxed: the incomplete request is not read. */
		__atomic_compare_exchange_n(&set->header->request.owner, &owner, 0, 0, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
}
