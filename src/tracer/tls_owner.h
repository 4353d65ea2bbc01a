/* SPDX-License-Identifier: MIT */
/*
 * tls_owner.h - which task owns the thread-local storage that it runs on. A vfork child runs on its parent's, and so
 * does a child of clone(CLONE_VM) without CLONE_SETTLS. Such storage is marked (struct wmk_thread).
 */
#ifndef WMK_TRACER_TLS_OWNER_H
#define WMK_TRACER_TLS_OWNER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "tracer/compiler.h"
#include "tracer/thread_state.h"

/* Marked storage: does the calling task own it? Makes a system call. */
bool wmk_storage_is_own(void) WMK_HIDDEN;

/* If not, the task is another process in this memory, and what it does to itself has no effect on this process. */
static inline bool wmk_task_is_own(void)
{
	return wmk_likely(wmk_thread.mark == 0) || wmk_storage_is_own();
}

/*
 * A child of clone(CLONE_VM) is about to share the storage of the calling thread, which the caller then marks
 * (`cloned`). Returns a word that the kernel is to clear when the child executes another program or ends
 * (CLONE_CHILD_CLEARTID):
 * then the mark goes. NULL: too many such children; the mark stays for good.
 */
_Atomic(pid_t) *wmk_storage_watch(void);
/* The child could not be made: remove its mark. `alive`: from wmk_storage_watch(), or NULL. */
void wmk_storage_unshare(_Atomic(pid_t) *alive);

#endif
