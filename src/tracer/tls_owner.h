/* SPDX-License-Identifier: MIT */
/*
 * tls_owner.h - the owner of thread-local storage. A vfork() child uses the storage of its parent, and so does a child
 * of clone(CLONE_VM) without CLONE_SETTLS. Such storage is marked (struct wmk_thread).
 */
#ifndef WMK_TRACER_TLS_OWNER_H
#define WMK_TRACER_TLS_OWNER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "tracer/compiler.h"
#include "tracer/thread_state.h"

/* Whether the calling task owns its storage, although it is marked. Makes a system call. */
bool wmk_storage_is_own(void) WMK_HIDDEN;

/*
 * Whether the calling task owns its storage. Otherwise the task is another process that shares this memory. Changes of
 * the state of that process do not affect this process.
 */
static inline bool wmk_task_is_own(void)
{
	return wmk_likely(wmk_thread.mark == 0) || wmk_storage_is_own();
}

/*
 * Call it before a clone(CLONE_VM) child shares the storage of the calling thread; the caller then marks the storage
 * (`cloned`). Returns a word that the kernel clears when the child calls exec() or ends (CLONE_CHILD_CLEARTID). The
 * mark is removed after that. NULL: too many such children; the mark stays permanently.
 */
_Atomic(pid_t) *wmk_storage_watch(void);
/* Remove the mark of a child that could not be created. `alive`: from wmk_storage_watch(), or NULL. */
void wmk_storage_unshare(_Atomic(pid_t) *alive);

#endif
