/* SPDX-License-Identifier: MIT */
/*
 * rest.h - how the helper thread waits. Used by helper.c only.
 *
 *     poll() on sockets, on the signal that wakes the thread, and on the controllers' notify FIFOs
 *
 * A sandbox may refuse this system call. It then returns at once, with an error, or with any value if a
 * handler of SIGSYS set one. A wait that ends early and for no reason is followed by a pause: at first 4 ms, then twice
 * as long each time up to 512 ms.
 */
#ifndef WMK_TRACER_REST_H
#define WMK_TRACER_REST_H

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tracer/place.h"

/* What it polls: sockets, the signal that wakes it, FIFOs. */
#define WMK_REST_SIGNAL WMK_PLACES
#define WMK_REST_FIFOS (WMK_PLACES + 1)
#define WMK_REST_FDS (2 * WMK_PLACES + 1)

struct wmk_rest {
	const _Atomic(uint32_t) *word;
	struct wmk_place *places;
	unsigned n_places;
	uint32_t heard;                 /* value of `word` when this turn began */
	struct pollfd fds[WMK_REST_FDS];
	unsigned in_vain;               /* waits in a row that ended for no reason, PAUSE_SHIFT_MAX at most */
	unsigned sleepless;             /* pauses in a row that did */
};

/* No descriptor is polled yet. `heard` stays. The other arguments are the caller's, and used by each wmk_rest(). */
void wmk_rest_begin(struct wmk_rest *rest, const _Atomic(uint32_t) *word, struct wmk_place *places, unsigned n_places);
/*
 * Wait until something comes, or for `sleep` ms (-1: without a limit). fds[i].revents then is what came from places[i].
 *
 * Returns false if the thread cannot wait at all. The helper thread only, without the lock.
 */
bool wmk_rest(struct wmk_rest *rest, int sleep);
/* Wait on the futex `word` alone, while it has this value, for `ms` at most. */
void wmk_rest_nap(const _Atomic(uint32_t) *word, uint32_t value, int64_t ms);

#endif
