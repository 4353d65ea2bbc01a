/* SPDX-License-Identifier: MIT */
/* thread.h - start threads that leave signals to the main thread. */
#ifndef WMK_BASE_THREAD_H
#define WMK_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

#include "base/faults.h"

/* pthread_create() with all signals blocked except faults. Returns 0 or a positive errno. */
static inline int wmk_thread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *data)
{
	sigset_t blocked, before;

	wmk_signals_of_others(&blocked);
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	int err = pthread_create(thread, attr, run, data);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

#endif
