/* SPDX-License-Identifier: MIT */
/*
 * flush_timer.h - when parts of sub-buffers are written: at the flush interval of their channel.
 */
#ifndef WMK_CONSUMER_FLUSH_TIMER_H
#define WMK_CONSUMER_FLUSH_TIMER_H

#include "consumer/drain.h"

/* The value of flush_at if no stream has records that wait for a flush. */
#define WMK_FLUSH_NEVER UINT64_MAX

/*
 * After a drain pass with the result `pass`: writes each part at the end of its flush interval, and sets flush_at.
 * Errors are added to `pass`. Under streams_lock.
 */
void wmk_consumer_flush_due(struct wmk_consumer *consumer, struct wmk_drain_result *pass);

#endif
