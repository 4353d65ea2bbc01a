/* SPDX-License-Identifier: MIT */
/*
 * heartbeat.h - a second thread that updates the heartbeat for writers that wait for room, while the consumer's thread
 * is busy.
 */
#ifndef WMK_CONSUMER_HEARTBEAT_H
#define WMK_CONSUMER_HEARTBEAT_H

#include <stdbool.h>

struct wmk_consumer;

/* Start and stop the second thread (heartbeat.c), together with the consumer's thread. 0 or -errno. Takes `lock`. */
int wmk_consumer_heartbeat_start(struct wmk_consumer *consumer);
void wmk_consumer_heartbeat_stop(struct wmk_consumer *consumer);
/* The consumer's thread calls this function at the beginning and at the end of its deep sleep. Takes `lock`. */
void wmk_consumer_heartbeat_pause(struct wmk_consumer *consumer, bool pause);

#endif
