/* SPDX-License-Identifier: MIT */
/*
 * flush_timer.h - when parts of sub-buffers are written: at the flush interval of their channel.
 */
#ifndef WMK_CONSUMER_FLUSH_TIMER_H
#define WMK_CONSUMER_FLUSH_TIMER_H

#include "consumer/drain.h"

/* The value of flush_at if no stream has records that wait to be flushed. */
#define WMK_FLUSH_NEVER UINT64_MAX

/*
 * Called after a drain pass with the result `pass`: write each part of a sub-buffer at the end of its flush interval,
 * and set flush_at. Errors are added to `pass`. Under streams_lock.
 */
void wmk_consumer_flush_due(struct wmk_consumer *consumer, struct wmk_drain_result *pass);

#endif
