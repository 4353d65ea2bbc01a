/* SPDX-License-Identifier: MIT */
/* thread_start.h - create the helper thread (helper_thread.c). */
#ifndef WMK_TRACER_THREAD_START_H
#define WMK_TRACER_THREAD_START_H

#include <stdbool.h>

/*
 * Start a detached thread that runs `main`; the new thread inherits the signal mask. With `registers`, a session daemon
 * is expected, so the function first prepares membarrier(2). Returns 0 or -errno. Lock held.
 */
int wmk_thread_start(void *(*main)(void *), bool registers);
/* Wait at most 3 s until the new thread has called wmk_thread_started(). Lock held. */
void wmk_thread_wait_started(void);
/* Called by the new thread after the start-up code of the C library, without the lock. */
void wmk_thread_started(void);

#endif
