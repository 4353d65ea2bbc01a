/* SPDX-License-Identifier: MIT */
/*
 * tls_owner.h - the owner of thread-local storage. A vfork() child uses the thread-local storage of its parent, and so
 * does a child of clone(CLONE_VM) without CLONE_SETTLS. The library marks thread-local storage that two tasks use
 * (struct wmk_thread).
 */
#ifndef WMK_TRACER_TLS_OWNER_H
#define WMK_TRACER_TLS_OWNER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "tracer/compiler.h"
#include "tracer/thread_state.h"

/* True if the calling task owns its thread-local storage, although the storage is marked. Makes a system call. */
bool wmk_storage_is_own(void) WMK_HIDDEN;

/*
 * True if the calling task owns its thread-local storage. A task that does not own its thread-local storage is another
 * process that shares the memory of this process, such as a vfork() child. A change of the state of a task that does
 * not own its storage, for example of its user, does not affect the process that owns the storage.
 */
static inline bool wmk_task_is_own(void)
{
	return wmk_likely(wmk_thread.mark == 0) || wmk_storage_is_own();
}

/*
 * Called before a clone(CLONE_VM) child shares the storage of the calling thread; the caller then marks the storage
 * (`cloned`). Returns a word that the kernel clears when the child calls exec() or ends (CLONE_CHILD_CLEARTID). After
 * the kernel has cleared the word, the library removes the mark. Returns NULL if too many children share storage now;
 * the mark then stays permanently.
 */
_Atomic(pid_t) *wmk_storage_watch(void);
/* Remove the mark for a child that could not be created. `alive`: from wmk_storage_watch(), or NULL. */
void wmk_storage_unshare(_Atomic(pid_t) *alive);

#endif
