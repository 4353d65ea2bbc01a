/* SPDX-License-Identifier: MIT */
/*
 * heartbeat.c - updates the heartbeat while the consumer's thread is busy. One write to a shared disk can take seconds.
 * Without a heartbeat, writers that wait for room would assume a crash and lose their records. While the consumer's
 * thread is busy, a second thread updates the heartbeat. The second thread stops if the consumer's thread makes no
 * progress for HUNG_NS, and pauses while the consumer's thread sleeps.
 */
#include "consumer/heartbeat.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "consumer/consumer_state.h"

#define HEARTBEAT_NS 250000000u
#define HUNG_NS 60000000000ull     /* time without progress after which writers stop waiting */
#define STACK (64u * 1024)

static void *heartbeat(void *arg)
{
	struct wmk_consumer *consumer = arg;
	struct timespec ts;
	uint64_t next;

	pthread_mutex_lock(&consumer->lock);
	while (!consumer->heartbeat_stop) {
		if (!consumer->heartbeat_on) {
			pthread_cond_wait(&consumer->heartbeat_changed, &consumer->lock);
			continue;
		}
		/* Relaxed: alive_ns is only a time, and no other data depends on it. */
		if (wmk_clock_monotonic() - atomic_load_explicit(&consumer->alive_ns, memory_order_relaxed) < HUNG_NS)
			for (size_t i = 0; i < consumer->n_sets; i++)
				waymark_ring_set_heartbeat(consumer->sets[i]);
		next = wmk_clock_monotonic() + HEARTBEAT_NS;
		ts.tv_sec = (time_t)(next / 1000000000u);
		ts.tv_nsec = (long)(next % 1000000000u);
		pthread_cond_timedwait(&consumer->heartbeat_changed, &consumer->lock, &ts);
	}
	pthread_mutex_unlock(&consumer->lock);
	return NULL;
}

int wmk_consumer_heartbeat_start(struct wmk_consumer *consumer)
{
	pthread_attr_t attr;
	int err;

	if (consumer->has_heartbeat)
		return 0;
	consumer->heartbeat_stop = false;
	consumer->heartbeat_on = true;
	atomic_store_explicit(&consumer->alive_ns, wmk_clock_monotonic(), memory_order_relaxed);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	err = wmk_thread_create(&consumer->heartbeat, &attr, heartbeat, consumer);
	pthread_attr_destroy(&attr);
	if (err)
		return wmk_error(-err, "cannot start the consumer's second thread: %s", strerror(err));
	pthread_setname_np(consumer->heartbeat, "wmk-heartbeat");
	consumer->has_heartbeat = true;
	return 0;
}

void wmk_consumer_heartbeat_stop(struct wmk_consumer *consumer)
{
	if (!consumer->has_heartbeat)
		return;
	pthread_mutex_lock(&consumer->lock);
	consumer->heartbeat_stop = true;
	pthread_cond_signal(&consumer->heartbeat_changed);
	pthread_mutex_unlock(&consumer->lock);
	pthread_join(consumer->heartbeat, NULL);
	consumer->has_heartbeat = false;
}

void wmk_consumer_heartbeat_pause(struct wmk_consumer *consumer, bool pause)
{
	/*
	 * The second thread can pause during a deep sleep of the consumer's thread. Before a deep sleep,
	 * waymark_ring_sets_wait() marks the heartbeat of the ring sets as idle. After the sleep,
	 * waymark_ring_sets_wait() updates the heartbeat.
	 */
	pthread_mutex_lock(&consumer->lock);
	consumer->heartbeat_on = !pause;
	if (!pause)
		pthread_cond_signal(&consumer->heartbeat_changed);
	pthread_mutex_unlock(&consumer->lock);
}
