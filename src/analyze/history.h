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
 * While a thread ran, was runnable, or waited for a timer or a disk, it is on the path. Where it waited for another
 * thread, the path of that thread during the wait takes the place of the wait.
 *
 * Memory: WMK_HISTORY_STATES states in all, 14 MiB. Older ones are overwritten, and unknown. One thread.
 */
#ifndef WMK_ANALYZE_HISTORY_H
#define WMK_ANALYZE_HISTORY_H

#include "analyze/threads.h"

#define WMK_HISTORY_STATES (1u << 18)
#define WMK_STEPS_MAX 65536u           /* of a path; what is earlier is unknown */
#define WMK_WAIT_NONE UINT8_MAX

/* A part of a path. */
struct wmk_step {
	const struct wmk_analyze_thread *thread;
	int64_t from, to;              /* ns */
	uint8_t state;                 /* enum wmk_thread_state, without WMK_ABSENT */
	/* BLOCKED: what it waits for. RUNNABLE: what it waited for when it was woken; NONE: it was preempted. */
	uint8_t wait;
	const struct wmk_analyze_thread *waker; /* RUNNABLE: the thread that woke it; NULL: none, or unknown */
};

struct wmk_steps {                     /* initialized with zeros */
	struct wmk_step *steps;        /* the latest first */
	uint32_t n, cap;
};

struct wmk_history;

/* Records the states of `threads`: takes its `changed`. -ENOMEM with a cause chain. */
int wmk_history_create(struct wmk_threads *threads, struct wmk_history **history);
void wmk_history_free(struct wmk_history *history);
/*
 * Follow the path back from `end`, the present, to `begin`. Its steps add up to the time between. -ENOMEM with a cause
 * chain, also for an earlier failure to record.
 */
int wmk_history_follow(const struct wmk_history *history, const struct wmk_analyze_thread *thread, int64_t begin,
		       int64_t end, struct wmk_steps *steps);

#endif
