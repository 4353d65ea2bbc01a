/* SPDX-License-Identifier: MIT */
/*
 * trace_clock.h - send the sync points of one trace: those of .clock in the spool, and those of the relay's clock
 * (clock_exchange.h), which become .clock.relay at the relay. The relay discards sync points that it already has.
 */
#ifndef WMK_SENDER_TRACE_CLOCK_H
#define WMK_SENDER_TRACE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock_point.h"
#include "sender/clock_exchange.h"
#include "sender/relay_link.h"

/*
 * The state of sending the sync points of a chunk to the relay. The structure is set to zeros for each chunk and for
 * each connection.
 */
struct wmk_trace_clock {
	uint64_t len;              /* bytes of .clock */
	uint64_t measured;         /* number of the next measurement */
	bool is_idle;              /* no packet was sent after the last point of the relay's clock */
};

/*
 * Send new points. `dir` is the directory of the chunk in the spool. `exchange` is NULL if the relay's clock is not
 * measured. Returns the size of the sent points in bytes, or -errno with a cause chain.
 */
long wmk_trace_clock_send(struct wmk_trace_clock *clock, struct wmk_relay_link *link, int dir,
			  struct wmk_clock_exchange *exchange);

#endif
