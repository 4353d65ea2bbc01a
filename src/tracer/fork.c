/* SPDX-License-Identifier: MIT */
/*
 * fork.c - the calls that make tasks and change namespaces, as this library defines them. (fork itself: pthread_atfork,
 * tracer.c; vfork: vfork.S.)
 *
 * A task on another's thread-local storage must not enter a restartable sequence: it sees the area of a thread that the
 * kernel restarts, and is restarted by nothing itself. A vfork child is such a task, and a child of clone(CLONE_VM)
 * without CLONE_SETTLS. They are marked there, and what they would have recorded is counted as lost.
 *
 * Raw system calls around these functions are not supported.
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

#include "tracer/fork.h"
#include "tracer/helper_control.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

/* The C library's own, which our clone() stands before. */
int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);

/* Children of clone(CLONE_VM): the kernel clears `alive` when the child has executed another program, or ended. */
#define SHARERS_MAX 32
static struct sharer {
	_Atomic(struct wmk_thread *) owner;
	_Atomic(pid_t) alive;
} sharers[SHARERS_MAX];

static struct sharer *sharer_take(struct wmk_thread *owner)
{
	for (unsigned i = 0; i < SHARERS_MAX; i++) {
		struct wmk_thread *none = NULL;

		if (atomic_compare_exchange_strong(&sharers[i].owner, &none, owner)) {
			atomic_store(&sharers[i].alive, 1);
			return &sharers[i];
		}
	}
	return NULL;
}

static void sharer_drop(struct sharer *sharer)
{
	atomic_store(&sharer->owner, NULL);
	wmk_thread.cloned--;
}

bool wmk_storage_is_own(void)
{
	if (wmk_thread.vforked || (uint32_t)syscall(SYS_gettid) != wmk_thread.tid)
		return false;
	for (unsigned i = 0; i < SHARERS_MAX; i++)
		if (atomic_load_explicit(&sharers[i].owner, memory_order_relaxed) == &wmk_thread &&
		    atomic_load(&sharers[i].alive) == 0)
			sharer_drop(&sharers[i]);
	return true;
}

struct start {
	int (*fn)(void *);
	void *arg;
};

/*
 * A child with memory of its own, as of fork, but without the C library's preparations: it records, and does not
 * register.
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
	struct sharer *sharer = NULL;
	int pid;

	if (flags & CLONE_VFORK) {
		wmk_thread.vforked = 1;
		pid = __clone(fn, stack, flags, arg, ptid, tls, ctid);
		wmk_thread.vforked = vforked;
		return pid;
	}
	/* whose storage it is must be known before there are two */
	wmk_context_tid();
	if (!(flags & CLONE_CHILD_CLEARTID))
		sharer = sharer_take(&wmk_thread);
	if (sharer) {
		flags |= CLONE_CHILD_CLEARTID;
		if (!(flags & CLONE_CHILD_SETTID))
			ctid = (pid_t *)(uintptr_t)&sharer->alive;
	}
	wmk_thread.cloned++;
	pid = __clone(fn, stack, flags, arg, ptid, tls, ctid);
	if (pid < 0) {
		if (sharer)
			sharer_drop(sharer);
		else
			wmk_thread.cloned--;
	}
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

/* The kernel does these for a process with one thread only. What is enabled stays so meanwhile. */
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
 * The kernel asks for one thread, or for a root directory that no other thread shares, for these kinds only. For others
 * the helper stays: in a process whose children will have another pid namespace it could not be started again.
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
