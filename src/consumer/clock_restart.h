/* SPDX-License-Identifier: MIT */
/*
 * clock_restart.h - a counter that goes back, because a suspend has reset it.
 *
 *     old ring sets   ──records──┬── times are repeated ──►│
 *                          the counter goes back       rotation
 *     new ring sets                       ├──records wait in the rings──►│──► next chunk
 *
 * A writer never records an earlier time than that of the record before it. So the times of a ring would stand still
 * until the counter has passed its earlier value. The session daemon replaces the ring sets, and rotates the session:
 * each chunk has its own offset of the clock.
 */
#ifndef WMK_CONSUMER_CLOCK_RESTART_H
#define WMK_CONSUMER_CLOCK_RESTART_H

#include "consumer/consumer_state.h"

/* A sync point shows that the counter has gone back since the last one. Reports it, and calls options.restarted(). */
void wmk_clock_restarted(struct wmk_consumer *consumer, const struct wmk_clock_point *point);
/* True if the streams that are added now belong to the next chunk. */
bool wmk_clock_restart_awaits_chunk(const struct wmk_consumer *consumer);
/* Without a rotation within 10 s, the streams that wait for the next chunk belong to this one. Under streams_lock. */
void wmk_clock_restart_expire(struct wmk_consumer *consumer, bool now);
/*
 * The chunk ends: report the number of records with a repeated time. Records between the restart and the point that
 * showed it are not counted.
 */
void wmk_clock_restart_end(struct wmk_consumer *consumer);

#endif
