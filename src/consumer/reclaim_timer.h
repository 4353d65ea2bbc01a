/* SPDX-License-Identifier: MIT */
/*
 * reclaim_timer.h - when the memory of idle rings is given back: after the time of their channel, or on request.
 */
#ifndef WMK_CONSUMER_RECLAIM_TIMER_H
#define WMK_CONSUMER_RECLAIM_TIMER_H

#include "consumer/consumer_state.h"

/* The value of reclaim_at if no ring has memory to reclaim. */
#define WMK_RECLAIM_NEVER UINT64_MAX

/*
 * Called after a drain pass: give back the memory of each ring that is idle for the time of its channel, and set
 * reclaim_at. Under streams_lock.
 */
void wmk_consumer_reclaim_due(struct wmk_consumer *consumer);
/*
 * Give back the memory of those rings of the group that had no record for `idle_ns`. 0; the first -errno, after all
 * rings were tried. Under streams_lock.
 */
int wmk_group_reclaim(struct wmk_consumer *consumer, const struct wmk_group *group, uint64_t idle_ns);

#endif
