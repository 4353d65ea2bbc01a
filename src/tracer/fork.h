/* SPDX-License-Identifier: MIT */
/*
 * fork.h - tasks that share thread-local storage, and processes that are copies.
 */
#ifndef WMK_TRACER_FORK_H
#define WMK_TRACER_FORK_H

#include <stdbool.h>

#include "tracer/tracer.h"

/* Is the thread-local storage that is marked the calling task's own? A system call: only for what is marked. */
bool wmk_storage_is_own(void);

/*
 * Does the calling task run on storage of its own? Else it is another process in this memory: what it does to itself
 * concerns nobody here.
 */
static inline bool wmk_task_is_own(void)
{
	return wmk_likely(wmk_thread.mark == 0) || wmk_storage_is_own();
}

/*
 * Before a process is copied: takes the lock, blocks signals, and notes whose storage the calling task runs on; in a
 * signal handler that came while the thread had the lock already, only notes that. wmk_fork_end(): after it, in the
 * parent.
 */
void wmk_fork_begin(void);
void wmk_fork_end(void);
/* In a child with a copy of the memory. Releases the lock that its parent held. */
void wmk_fork_child_quiet(void);

#endif
