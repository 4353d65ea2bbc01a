/* SPDX-License-Identifier: MIT */
/*
 * kernel_sleep.h - how the consumer's thread sleeps while it has kernel channels: in poll().
 */
#ifndef WMK_CONSUMER_KERNEL_SLEEP_H
#define WMK_CONSUMER_KERNEL_SLEEP_H

#include "consumer/consumer_state.h"

/*
 * List the descriptors that wmk_kernel_sleep() passes to poll(). If no memory is available for the list, the thread
 * sleeps only on the timer.
 */
void wmk_kernel_watch(struct wmk_consumer *consumer);
/*
 * Sleep for at most `us` microseconds; -1: no limit. `deep`: the last passes have found no records. In the consumer's
 * thread.
 */
void wmk_kernel_sleep(struct wmk_consumer *consumer, bool deep, int64_t us);

#endif
