/* SPDX-License-Identifier: MIT */
/* thread_start.h - create the helper thread (helper_thread.c). */
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
/* Called by the new thread after the start-up code of the C library, without the lock. */
void wmk_thread_started(void);

#endif
