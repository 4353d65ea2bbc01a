/* SPDX-License-Identifier: MIT */
/*
 * helper_poll.h - how the helper thread waits. Used by helper_thread.c only.
 *
 *     poll() on sockets, on the signal that wakes the thread, and on the controllers' notify FIFOs
 *
 * A sandbox may refuse this system call. It then returns at once, with an error, or with any value if a
 * handler of SIGSYS set one. A wait that ends early and for no reason is followed by a pause: at first 4 ms, then twice
 * as long each time up to 512 ms.
 */
#ifndef WMK_TRACER_HELPER_POLL_H
#define WMK_TRACER_HELPER_POLL_H

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tracer/endpoint.h"

/* What it polls: sockets, the signal that wakes it, FIFOs. */
#define WMK_POLLER_SIGNAL WMK_ENDPOINTS
#define WMK_POLLER_FIFOS (WMK_ENDPOINTS + 1)
#define WMK_POLLER_FDS (2 * WMK_ENDPOINTS + 1)

struct wmk_poller {
	const _Atomic(uint32_t) *wakeups;
	struct wmk_endpoint *endpoints;
	unsigned n_endpoints;
	uint32_t seen;          /* value of `wakeups` when this turn began */
	struct pollfd fds[WMK_POLLER_FDS];
	unsigned in_vain;       /* waits in a row that ended for no reason, PAUSE_SHIFT_MAX at most */
	unsigned sleepless;     /* pauses in a row that did */
};

/*
 * No descriptor is polled yet. `heard` stays. The other arguments are the caller's, and used by each wmk_poller_wait().
 */
void wmk_poller_init(struct wmk_poller *poller, const _Atomic(uint32_t) *word, struct wmk_endpoint *endpoints,
		     unsigned n_endpoints);
/*
 * Wait until something comes, or for `sleep` ms (-1: without a limit). fds[i].revents then is what came from
 * endpoints[i].
 *
 * Returns false if the thread cannot wait at all. The helper thread only, without the lock.
 */
bool wmk_poller_wait(struct wmk_poller *poller, int sleep);
/* Wait on the futex `word` alone, while it has this value, for `ms` at most. */
void wmk_poller_nap(const _Atomic(uint32_t) *word, uint32_t value, int64_t ms);

#endif
