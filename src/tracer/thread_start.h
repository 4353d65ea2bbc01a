/* SPDX-License-Identifier: MIT */
/*
 * thread_start.h - make the helper thread. helper_thread.c says what it does.
 */
#ifndef WMK_TRACER_THREAD_START_H
#define WMK_TRACER_THREAD_START_H

#include <stdbool.h>

/*
 * Start a detached thread that runs `main`; it inherits the signal mask. `registers`: a session daemon is expected, so
 * prepare membarrier(2) first. Returns 0 or -errno. Lock held.
 */
int wmk_thread_start(void *(*main)(void *), bool registers);
/* Wait until the thread has called wmk_thread_started(), at most 3 s. Lock held. */
void wmk_thread_wait_started(void);
/* The new thread: the C library's start-up code is behind it. Called without the lock. */
void wmk_thread_started(void);

#endif
