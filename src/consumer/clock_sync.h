/* SPDX-License-Identifier: MIT */
/*
 * clock_sync.h - when sync points of the trace's clock are written to its output (base/clock_point.h).
 *
 *     the first source is added    one point, before its first packet
 *     packets are written          one point, if the last one is WMK_CLOCK_SYNC_NS old
 *     before the thread sleeps     one point, if packets were written after the last one, and it is
 *                                  WMK_CLOCK_SYNC_IDLE_NS old
 *     stop, end                    one point, if packets were written after the last one
 *     real time was set            one point (wmk_consumer_clock_stepped())
 *
 * Each record is between two sync points, and an idle consumer writes no sync points.
 */
#ifndef WMK_CONSUMER_CLOCK_SYNC_H
#define WMK_CONSUMER_CLOCK_SYNC_H

#include "consumer/consumer_state.h"

#define WMK_CLOCK_SYNC_NS UINT64_C(60000000000)
#define WMK_CLOCK_SYNC_IDLE_NS UINT64_C(10000000000)

/*
 * Set the clock that the sources of the trace use. If the plug-in of a clock cannot be loaded, the consumer writes no
 * sync points. `is_held`: the rings keep their records until the stop, so no packet is written before the stop. The
 * consumer still writes sync points before the stop. Called under streams_lock, in the consumer's thread or before this
 * thread starts.
 */
void wmk_clock_sync_begin(struct wmk_consumer *consumer, enum wmk_clock_kind kind, bool is_held);
/* Write a sync point if a sync point is due and the last one is at least `age_ns` old. In the consumer's thread. */
void wmk_clock_sync(struct wmk_consumer *consumer, uint64_t age_ns);
/* Measure a point. Returns false if the clock is unknown or cannot be read. Any thread. */
bool wmk_clock_sync_take(const struct wmk_consumer *consumer, struct wmk_clock_point *point);
/* Write a sync point that was measured with wmk_clock_sync_take(). In the consumer's thread. */
void wmk_clock_sync_write(struct wmk_consumer *consumer, const struct wmk_clock_point *point);

#endif
