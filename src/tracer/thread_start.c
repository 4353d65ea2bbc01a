/* SPDX-License-Identifier: MIT */
/*
 * thread_start.c - see thread_start.h.
 *
 * Before a new thread runs code of libwaymark, the C library makes system calls (rseq, set_robust_list) in the thread,
 * and aborts the process if one of them fails. An application may install a seccomp filter as soon as the constructor
 * returns. The constructor waits until the new thread has made the system calls of the C library.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "tracer/lock.h"
#include "tracer/membarrier.h"
#include "tracer/thread_start.h"

#define STACK_BYTES (128u * 1024)
#define START_MS 3000           /* a debugger or a frozen control group may hold the thread for longer */
#define PAUSE_NS 1000000

static _Atomic(uint32_t) started;       /* a futex: 1 when the thread runs our code */

static int create(void *(*main)(void *))
{
	pthread_attr_t attr;
	pthread_t thread;
	int err = EAGAIN;

	/* large thread-local storage of the application needs a larger stack */
	for (size_t size = STACK_BYTES; err != 0 && size <= STACK_BYTES * 64; size *= 8) {
		pthread_attr_init(&attr);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		pthread_attr_setstacksize(&attr, size);
		err = pthread_create(&thread, &attr, main, NULL);
		pthread_attr_destroy(&attr);
	}
	return -err;
}

void wmk_thread_wait_started(void)
{
	const int64_t until = wmk_clock_ms() + START_MS;
	int64_t left;

	/* relaxed: it orders no other data */
	while (atomic_load_explicit(&started, memory_order_relaxed) == 0 && (left = until - wmk_clock_ms()) > 0) {
		const struct timespec ts = { .tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000 };

		if (syscall(SYS_futex, &started, FUTEX_WAIT_PRIVATE, 0, &ts, NULL, 0) != 0 &&
		    errno != EAGAIN && errno != EINTR)
			wmk_pause(PAUSE_NS);
	}
}

int wmk_thread_start(void *(*main)(void *), bool registers)
{
	if (registers)
		wmk_membarrier_prepare();
	atomic_store_explicit(&started, 0, memory_order_relaxed);
	return create(main);
}

void wmk_thread_started(void)
{
	atomic_store_explicit(&started, 1, memory_order_relaxed);
	syscall(SYS_futex, &started, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
