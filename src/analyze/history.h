/* SPDX-License-Identifier: MIT */
/*
 * history.h - the latest states of all threads, and a walk backwards over wake-ups: the critical path.
 *
 *     A  running ──blocked───────────────────────────────runnable──running──► end
 *                  ▲ back to A                           │ woken by B
 *     B            │            blocked──────────runnable─running
 *                  │                             │ woken by C
 *     C            └─────────────blocked──running┘
 *
 * A thread is on the path while it runs, is runnable, or waits for a timer or a disk. While a thread on the path waits
 * for another thread, the path follows the other thread instead.
 *
 * Memory: the last WMK_HISTORY_STATES states of all threads, 14 MiB. New states overwrite the oldest states, which are
 * then unknown. One thread.
 */
#ifndef WMK_ANALYZE_HISTORY_H
#define WMK_ANALYZE_HISTORY_H

#include "analyze/threads.h"

#define WMK_HISTORY_STATES (1u << 18)
#define WMK_STEPS_MAX 65536u           /* steps of a path; the time before is unknown */
#define WMK_WAIT_NONE UINT8_MAX

/* A part of a path. */
struct wmk_step {
	const struct wmk_analyze_thread *thread;
	int64_t from, to;              /* ns */
	uint8_t state;                 /* enum wmk_thread_state, without WMK_ABSENT */
	/*
	 * BLOCKED: reason of the wait. RUNNABLE: the reason of the wait before the wake-up, or WMK_WAIT_NONE if the
	 * thread was preempted.
	 */
	uint8_t wait;
	/* this step replaces the wait before the RUNNABLE step with this number; UINT32_MAX: no wait */
	uint32_t inside;
	const struct wmk_analyze_thread *waker; /* RUNNABLE: the thread that woke it; NULL: none, or unknown */
};

struct wmk_steps {                     /* initialized with zeros */
	struct wmk_step *steps;        /* from the latest to the earliest */
	uint32_t n, cap;
};

struct wmk_history;

/* Record the states of `threads`. Sets threads->changed. -ENOMEM with a cause chain. */
int wmk_history_create(struct wmk_threads *threads, struct wmk_history **history);
void wmk_history_free(struct wmk_history *history);
/*
 * Follow the path backwards from `end`, the current time, to `begin`. The durations of the path's steps add up to end -
 * begin. -ENOMEM with a cause chain, also if memory was missing for a state before.
 */
int wmk_history_follow(const struct wmk_history *history, const struct wmk_analyze_thread *thread, int64_t begin,
		       int64_t end, struct wmk_steps *steps);

#endif
