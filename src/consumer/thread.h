/* SPDX-License-Identifier: MIT */
/*
 * thread.h - the consumer's thread: when it drains, and how long it sleeps.
 */
#ifndef WMK_CONSUMER_THREAD_H
#define WMK_CONSUMER_THREAD_H

#include "consumer/consumer_state.h"

#define WMK_CONSUMER_TIMER_US 4000u    /* longer sleeps can be ended by a writer */
#define WMK_CONSUMER_DEEP_US 100000u   /* limit of a sleep that no writer can end */

/* Join the consumer's thread, if the thread runs. */
void wmk_consumer_join(struct wmk_consumer *consumer);
/* Let the consumer's thread sleep on the sets and streams that exist now. Under streams_lock. */
void wmk_consumer_watch(struct wmk_consumer *consumer);

#endif
