/* SPDX-License-Identifier: MIT */
/*
 * request.h - requests for snapshots: a writer stores a request in the header of a ring set in overwrite mode. The
 * request is in shared memory, so the request survives the writer.
 *
 *     writer:          owner 0 → identity,  reason,  id ──► wakes the reader
 *     reader:          id ──► reports the id to the session daemon, once
 *     session daemon:  copies the reason,  id → 0,  owner → 0
 *
 * The slot in the header has room for one request. If the slot already has a request, the next writer counts its own
 * request as refused. All processes of a user can write to the slot, so the content of the slot is not trusted.
 */
#ifndef WMK_RING_REQUEST_H
#define WMK_RING_REQUEST_H

#include "ring/set.h"

/*
 * Store a request, and wake the reader with at most one futex(2). `id` is not 0. One call of waymark_snapshot() uses
 * the same id for all ring sets. `reason` is cut to WMK_RING_REASON_MAX bytes; NULL: "". Any thread; async-signal-safe.
 * 0; -EAGAIN: the slot has a request, and the new request was counted as refused.
 */
int wmk_ring_request(struct waymark_ring_set *set, uint64_t id, const char *reason);
/* Return the id of the request in the slot; 0: no request. Any thread. */
static inline uint64_t wmk_ring_requested(const struct waymark_ring_set *set)
{
	/* Acquire: pairs with the release in wmk_ring_request(), so that the reason is complete. */
	return __atomic_load_n(&set->header->request.id, __ATOMIC_ACQUIRE);
}

struct wmk_ring_request {
	uint64_t id;
	uint32_t slot, generation;       /* identity of the writer; 0, 0: anonymous */
	char reason[WMK_RING_REASON_MAX + 1];    /* NUL-terminated; may contain any bytes */
};
/*
 * Read the request in the slot, and remove the request from the slot. *refused: number of requests that were refused
 * since the last call. 1; 0: the slot has no request. One thread at a time.
 */
int wmk_ring_request_take(struct waymark_ring_set *set, struct wmk_ring_request *request, uint64_t *refused);
/*
 * Free the slot if the request in it is incomplete and belongs to the writer with this identity. The caller calls the
 * function when the writer has ended.
 */
void wmk_ring_request_abandon(struct waymark_ring_set *set, uint32_t slot, uint32_t generation);

#endif
