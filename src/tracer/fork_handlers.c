/* SPDX-License-Identifier: MIT */
/* fork_handlers.c - see fork_handlers.h. */
#include <sys/types.h>
#include <unistd.h>

#include "ring/writer.h"
#include "tracer/channel.h"
#include "tracer/context.h"
#include "tracer/fork_handlers.h"
#include "tracer/helper_control.h"
#include "tracer/lock.h"
#include "tracer/process.h"
#include "tracer/register_wait.h"
#include "tracer/statedump.h"
#include "tracer/tls_owner.h"
#include "tracer/tracer.h"

/*
 * The lock protects the structure; a fork holds the lock from wmk_fork_begin() to wmk_fork_end(). A nested fork runs
 * without the lock (wmk_lock_is_mine()).
 */
static WMK_FIRST_PAGE struct {
	bool is_own;            /* the task that forks owns its storage */
	uint64_t signals;       /* its mask */
	pid_t parent;
} forking;

void wmk_fork_begin(void)
{
	/* nested: fork without the lock; the child is not traced */
	if (wmk_lock_is_mine()) {
		wmk_thread.nested++;
		return;
	}
	forking.signals = wmk_lock_for_fork();
	forking.is_own = wmk_task_is_own();
	forking.parent = getpid();
}

void wmk_fork_end(void)
{
	uint64_t before = forking.signals;

	if (wmk_thread.nested) {
		wmk_thread.nested--;
		return;
	}
	wmk_unlock();
	wmk_signals_restore(before);
}

/* The child gets its own identity, regardless of the state of the parent. */
static void child_identity(bool own)
{
	/*
	 * A task on the storage of another thread has no restartable sequences, because the kernel does not update the
	 * rseq area in that storage for the task. If a task on the storage of another thread forks, the child has no
	 * restartable sequences either. A child without restartable sequences writes no records into a ring, and counts
	 * its records as lost.
	 */
	if (!own)
		wmk_thread.vforked = 1;
	wmk_process_forked_by(forking.parent);
	wmk_context_after_fork();
	wmk_ring_grace_after_fork();
	wmk_for_each_channel(channel)
		waymark_ring_set_identity(channel->set, 0, 0);
}

struct child {
	bool registers;         /* its parent had a helper thread ... */
	bool daemon_likely;     /* ... with a session daemon */
	bool waits;             /* it removed rings of its parent and will get its own */
};

/*
 * With `prepared`, the C library has prepared the child, as in fork(). If the C library has not prepared the child, a
 * thread that exists only in the parent may hold the lock of the heap.
 */
static struct child child_common(bool prepared)
{
	struct child child = { 0 };

	child_identity(!wmk_thread.nested && forking.is_own);
	if (wmk_thread.nested) {
		wmk_tracer.disabled = true;
		wmk_lock_abandon();
		return child;
	}
	wmk_statedump_after_fork();
	child.registers = wmk_helper_after_fork(prepared, &child.daemon_likely);
	child.waits = wmk_channels_remove_private();
	return child;
}

void wmk_fork_child(void)
{
	struct child child = child_common(true);
	uint32_t change = 0;
	bool waits = false;

	if (child.registers) {
		change = ++wmk_tracer.changes;
		waits = wmk_helper_start(child.daemon_likely) == 0 && child.waits;
	}
	wmk_fork_end();
	if (waits)
		wmk_register_wait(change);
}

void wmk_fork_child_quiet(void)
{
	child_common(false);
	wmk_fork_end();
}
