/* SPDX-License-Identifier: MIT */
/*
 * clock_exchange.h - measure the clocks of the relay in the trace clocks of this machine (docs/trace-format.md, "Sync
 * points of a relay"). A thread with a connection of its own:
 *
 *     sender:  trace clock, CLOCK_MONOTONIC ──CLOCK──►
 *     relay:                                           received, sent: CLOCK_MONOTONIC; real time
 *     sender:  trace clock, CLOCK_MONOTONIC ◄──REPLY──
 *
 * The times of the relay lie between the two readings of the sender, so the error is at most half of the network
 * round-trip time. A measurement takes the best of eight exchanges. The thread measures after it has connected, every
 * 10 s, and at the end of a session.
 */
#ifndef WMK_SENDER_CLOCK_EXCHANGE_H
#define WMK_SENDER_CLOCK_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock_point.h"
#include "wire/relay.h"
#include "wire/relay_url.h"

struct wmk_clock_exchange;

struct wmk_clock_exchange_options {
	const struct wmk_relay_url *url;   /* this and the next text are valid as long as the exchange */
	const char *host;                  /* HOST of this machine */
	uid_t uid;                         /* the certificate is read with the rights of this user */
	gid_t gid;
	void (*measured)(void *data);      /* called in the thread after each attempt to measure */
	void *data;
};

struct wmk_clock_measurement {
	char relay[WMK_CLOCK_UUID];        /* of the relay's clocks */
	struct wmk_clock_point of[WMK_CLOCK_KINDS];  /* uncertainty 0: the clock went back, so it has no point */
};

/* Readings of this machine's clocks, taken before a request or after its reply. */
struct wmk_clock_readings {
	uint64_t monotonic_ns;
	uint64_t of[WMK_CLOCK_KINDS];
};
/*
 * Compute the clock points of one exchange. Returns false if the times contradict each other, or if the uncertainty is
 * above 4 s.
 */
bool wmk_clock_exchange_compute(const struct wmk_clock_readings *before, const struct wmk_relay_times *times,
				const struct wmk_clock_readings *after, struct wmk_clock_measurement *made);

/* Start the thread. 0 or -errno with a cause chain. */
int wmk_clock_exchange_open(const struct wmk_clock_exchange_options *options, struct wmk_clock_exchange **exchange);
/*
 * Get the first measurement with a number of at least *number, and store the number found in *number. Measurements are
 * kept for 10 minutes. False: no such measurement. Any thread.
 */
bool wmk_clock_exchange_get(struct wmk_clock_exchange *exchange, uint64_t *number, struct wmk_clock_measurement *made);
/* True if the measurements include the clock that `head` (the header of a .clock file) describes. */
bool wmk_clock_exchange_has(const struct wmk_clock_exchange *exchange, const struct wmk_clock_head *head);
/*
 * Call this when the session has ended, to measure the clocks for the last time. Returns true if this last measurement
 * was made, has failed, or took more than 2 s. `wanted` false: the session continues. Any thread; does not wait.
 */
bool wmk_clock_exchange_last(struct wmk_clock_exchange *exchange, bool wanted);
/* Stop the thread. NULL does nothing. */
void wmk_clock_exchange_close(struct wmk_clock_exchange *exchange);

#endif
