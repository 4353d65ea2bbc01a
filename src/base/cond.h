/* SPDX-License-Identifier: MIT */
/*
 * cond.h - condition variables on CLOCK_MONOTONIC, and deadlines for them.
 *
 *     wmk_cond_init(&some);
 *     const struct timespec end = wmk_deadline(ms);
 *     ... pthread_cond_timedwait(&some, &lock, &end);
 */
#ifndef WMK_BASE_COND_H
#define WMK_BASE_COND_H

#include <pthread.h>
#include <time.h>

static inline void wmk_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

/* Return the time `ms` milliseconds from now. */
static inline struct timespec wmk_deadline(int ms)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += ms / 1000;
	ts.tv_nsec += (long)(ms % 1000) * 1000000;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_sec++;
		ts.tv_nsec -= 1000000000;
	}
	return ts;
}

#endif
