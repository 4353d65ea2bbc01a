/* SPDX-License-Identifier: MIT */
/*
 * helper_poll.h - waiting of the helper thread. Used by helper_thread.c only.
 *
 *     poll() on sockets, on the signal that wakes the thread, and on the notify FIFOs of the session daemons
 *
 * A sandbox may reject the system call poll(). poll() then returns at once with an error, or with any value that a
 * SIGSYS handler sets. After a wait that ends early without a reason, the helper thread pauses: first for 4 ms, then
 * twice as long each time, up to 512 ms.
 */
#ifndef WMK_TRACER_HELPER_POLL_H
#define WMK_TRACER_HELPER_POLL_H

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tracer/endpoint.h"

/* Indices of the polled descriptors: sockets, the signal that wakes the helper thread, FIFOs. */
#define WMK_POLLER_SIGNAL WMK_ENDPOINTS
#define WMK_POLLER_FIFOS (WMK_ENDPOINTS + 1)
#define WMK_POLLER_FDS (2 * WMK_ENDPOINTS + 1)

struct wmk_poller {
	const _Atomic(uint32_t) *wakeups;
	struct wmk_endpoint *endpoints;
	unsigned n_endpoints;
	uint32_t seen;          /* value of `wakeups` at the beginning of this iteration */
	struct pollfd fds[WMK_POLLER_FDS];
	unsigned in_vain;       /* consecutive waits that ended without a reason, at most PAUSE_SHIFT_MAX */
	unsigned sleepless;     /* consecutive pauses that ended early */
};

/*
 * Initialise without polled descriptors. `seen` keeps its value. The caller owns the arguments, which each
 * wmk_poller_wait() uses.
 */
void wmk_poller_init(struct wmk_poller *poller, const _Atomic(uint32_t) *word, struct wmk_endpoint *endpoints,
		     unsigned n_endpoints);
/*
 * Wait until a descriptor is ready, or for `sleep` ms (-1: no limit). fds[i].revents has the events of endpoints[i].
 *
 * Returns false if the thread cannot wait at all. Only the helper thread calls the function, without the lock.
 */
bool wmk_poller_wait(struct wmk_poller *poller, int sleep);
/* Wait only on the futex `word`, while `*word` equals `value`, for at most `ms` ms. */
void wmk_poller_nap(const _Atomic(uint32_t) *word, uint32_t value, int64_t ms);

#endif
