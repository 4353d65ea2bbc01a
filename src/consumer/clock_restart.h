/* SPDX-License-Identifier: MIT */
/*
 * clock_restart.h - a counter that goes back, because a suspend has reset it.
 *
 *     old ring sets   ──records──┬── times are repeated ──►│
 *                          the counter goes back       rotation
 *     new ring sets                       ├──records wait in the rings──►│──► next chunk
 *
 * A writer never records a time that is earlier than the time of its previous record. After the counter has gone back,
 * all records of a ring have the same time until the counter reaches the time of the last record. The session daemon
 * replaces the ring sets and rotates the session, because each chunk has its own clock offset.
 */
#ifndef WMK_CONSUMER_CLOCK_RESTART_H
#define WMK_CONSUMER_CLOCK_RESTART_H

#include "consumer/consumer_state.h"

/*
 * Called if the sync point `point` shows that the counter has gone back since the previous sync point. The function
 * adds a note to the trace and calls options.restarted().
 */
void wmk_clock_restarted(struct wmk_consumer *consumer, const struct wmk_clock_point *point);
/*
 * Return true if the consumer waits for a rotation after a restart of the counter. Streams that are added during this
 * wait belong to the next chunk.
 */
bool wmk_clock_restart_awaits_chunk(const struct wmk_consumer *consumer);
/*
 * Add the streams that wait for the next chunk to the open chunk, if no rotation has followed within 10 s; with `now`,
 * add these streams at once. Under streams_lock.
 */
void wmk_clock_restart_expire(struct wmk_consumer *consumer, bool now);
/*
 * At the end of a chunk, report the number of records with a repeated time. The reported number does not include
 * records between the restart and the sync point that detected the restart.
 */
void wmk_clock_restart_end(struct wmk_consumer *consumer);

#endif
