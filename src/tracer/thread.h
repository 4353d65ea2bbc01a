/* SPDX-License-Identifier: MIT */
/*
 * thread.h - make the helper thread. helper.c says what it does.
 */
#ifndef WMK_TRACER_THREAD_H
#define WMK_TRACER_THREAD_H

#include <stdbool.h>

/*
 * Start a detached thread that runs `main`, with all signals blocked that the library blocks. `registers`: a controller is expected, so prepare
 * membarrier(2) first.
 *
 * Returns 0 when the thread has called wmk_thread_started(), or after 3 s without that; or -errno. Called with the tracer's lock held.
 */
int wmk_thread_start(void *(*main)(void *), bool registers);
/* The new thread: the C library's start-up code is behind it. Called without the lock. */
void wmk_thread_started(void);

#endif
