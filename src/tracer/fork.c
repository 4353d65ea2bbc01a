/* SPDX-License-Identifier: MIT */
/*
 * fork.c - wrappers of C library functions that create tasks or change namespaces. fork() is handled by
 * fork_handlers.h, vfork() by vfork.S.
 *
 * A task that uses the thread-local storage of another task (tls_owner.h) must not enter a restartable sequence. A task
 * on the storage of another thread sees the rseq area of the thread that owns the storage. The kernel restarts the
 * restartable sequences of the thread that owns the storage, but does not restart the sequences of the other task. The
 * library marks shared storage, and counts the records of a task that does not own its thread-local storage as lost.
 *
 * Raw system calls that bypass the wrapper functions are not supported.
 */
#include <errno.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/compiler.h"
#include "tracer/context.h"
#include "tracer/fork_handlers.h"
#include "tracer/helper_control.h"
#include "tracer/tls_owner.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

/* clone() of the C library, which the function below overrides. */
int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);

struct start {
	int (*fn)(void *);
	void *arg;
};

/*
 * The child has its own memory, as after fork(), but the C library has not prepared the child. The child records
 * events, but does not register.
 */
static int start_copy(void *data)
{
	struct start start = *(struct start *)data;

	wmk_fork_child_quiet();
	return start.fn(start.arg);
}

static int clone_copy(int (*fn)(void *), void *stack, int flags, void *arg, pid_t *ptid, void *tls, pid_t *ctid)
{
	struct start start = { fn, arg };
	int pid;

	wmk_fork_begin();
	pid = __clone(start_copy, stack, flags, &start, ptid, tls, ctid);
	wmk_fork_end();
	return pid;
}

static int clone_shared(int (*fn)(void *), void *stack, int flags, void *arg, pid_t *ptid, void *tls, pid_t *ctid)
{
	uint32_t vforked = wmk_thread.vforked;
	_Atomic(pid_t) *alive = NULL;
	int pid;

	if (flags & CLONE_VFORK) {
		wmk_thread.vforked = 1;
		pid = __clone(fn, stack, flags, arg, ptid, tls, ctid);
		wmk_thread.vforked = vforked;
		return pid;
	}
	wmk_context_tid();      /* stores the owner's tid in the storage before two tasks share it */
	if (!(flags & CLONE_CHILD_CLEARTID))
		alive = wmk_storage_watch();
	if (alive) {
		flags |= CLONE_CHILD_CLEARTID;
		if (!(flags & CLONE_CHILD_SETTID))
			ctid = (pid_t *)(uintptr_t)alive;
	}
	wmk_thread.cloned++;
	pid = __clone(fn, stack, flags, arg, ptid, tls, ctid);
	if (pid < 0)
		wmk_storage_unshare(alive);
	return pid;
}

int WMK_EXPORT clone(int (*fn)(void *), void *stack, int flags, void *arg, ...)
{
	va_list args;

	va_start(args, arg);
	pid_t *ptid = va_arg(args, pid_t *);
	void *tls = va_arg(args, void *);
	pid_t *ctid = va_arg(args, pid_t *);

	va_end(args);
	if (flags & (CLONE_SETTLS | CLONE_THREAD))
		return __clone(fn, stack, flags, arg, ptid, tls, ctid);
	return flags & CLONE_VM ? clone_shared(fn, stack, flags, arg, ptid, tls, ctid)
				: clone_copy(fn, stack, flags, arg, ptid, tls, ctid);
}

/* ── namespaces ──────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Run a system call that the kernel permits only for single-threaded processes. Enabled events stay enabled meanwhile.
 */
static long without_helper(long number, long a, long b)
{
	bool ran = wmk_task_is_own() && wmk_helper_halt(WMK_HELPER_KEEPS);
	long rc = syscall(number, a, b);
	int saved = errno;

	if (ran)
		wmk_helper_resume();
	errno = saved;
	return rc;
}

int WMK_EXPORT unshare(int flags)
{
	if (flags & (CLONE_NEWUSER | CLONE_VM | CLONE_SIGHAND | CLONE_THREAD))
		return (int)without_helper(SYS_unshare, flags, 0);
	return (int)syscall(SYS_unshare, flags);
}

/*
 * The kernel requires a single thread, or an unshared root directory, only for user, mount and time namespaces. For
 * other namespace types, the library does not end the helper thread: after setns() to another PID namespace, the
 * process could not start the helper thread again.
 */
static bool needs_one_thread(int fd, int type)
{
	if (type == 0)
		type = ioctl(fd, NS_GET_NSTYPE);
	return type < 0 || (type & (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWTIME)) != 0;
}

int WMK_EXPORT setns(int fd, int type)
{
	if (needs_one_thread(fd, type))
		return (int)without_helper(SYS_setns, fd, type);
	return (int)syscall(SYS_setns, fd, type);
}
