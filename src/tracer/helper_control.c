/* SPDX-License-Identifier: MIT */
/* helper_control.c - see helper_control.h. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/faults.h"
#include "tracer/helper_control.h"
#include "tracer/helper_thread.h"
#include "tracer/lock.h"
#include "tracer/register_wait.h"
#include "tracer/thread_start.h"
#include "tracer/tls_owner.h"
#include "tracer/tracer.h"

#define HALT_TRIES 100000
#define HALT_PAUSE_NS 50000

/* Protected by the lock: */
static bool restart_failed;     /* the thread was halted and could not be started again: children then start one */
static bool forbidden;          /* waymark_helper_stop() was called */
static bool main_exited;        /* the main thread has ended: no helper thread starts in this process */

bool wmk_helper_has_daemon(void)
{
	struct wmk_endpoint endpoint;

	if (forbidden || main_exited)
		return false;
	if (wmk_helper.connected)
		return true;
	for (unsigned i = 0; wmk_endpoint_find(i, &endpoint); i++)
		if (wmk_endpoint_has_socket(&endpoint))
			return true;
	return false;
}

void wmk_helper_wake(void)
{
	/* without session daemon and without work the thread need not wake up */
	if (!wmk_helper.running ||
	    (!wmk_helper.connected && !wmk_helper.halt && !wmk_helper.retry_now && !wmk_tracer.channels))
		return;
	atomic_fetch_add_explicit(&wmk_helper.wakeups, 1, memory_order_relaxed);
	if (wmk_helper.polls && wmk_helper.is_signalled)
		syscall(SYS_tgkill, getpid(), wmk_helper.tid, WMK_SIGNAL_CANCEL);
	else if (!wmk_helper.polls)
		syscall(SYS_futex, &wmk_helper.wakeups, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static bool is_main_thread(void)
{
	return wmk_task_is_own() && syscall(SYS_gettid) == getpid();
}

void wmk_main_thread_exits(void)
{
	if (!is_main_thread())
		return;
	wmk_lock();
	main_exited = true;
	wmk_unlock();
	wmk_helper_halt(WMK_HELPER_KEEPS);
}

static void on_main_thread_exit(void *unused)
{
	(void)unused;
	wmk_main_thread_exits();
}

/*
 * The main thread may end before the program ends, by pthread_exit() or cancellation. The program then runs until the
 * last thread has ended. The C library counts the helper thread, which never ends by itself, so a thread-specific
 * destructor of the main thread ends the helper thread.
 *
 * The destructor of the main thread works in every program. The wrappers of main_exit.c have no effect in a static
 * program, or if only a library has sites, because pthread_exit() is then the function of the C library. The wrappers
 * of main_exit.c are necessary if another thread starts the helper thread, because the main thread then has no
 * destructor.
 */
static void watch_main_thread(void)
{
	static pthread_key_t key;
	static bool made;

	if (!made)
		made = pthread_key_create(&key, on_main_thread_exit) == 0;
	if (made && is_main_thread())
		(void)pthread_setspecific(key, &key);    /* on failure, main_exit.c ends the helper thread */
}

int wmk_helper_start(bool daemon_likely)
{
	if (forbidden || main_exited)
		return -ESHUTDOWN;
	if (wmk_helper.running) {
		wmk_helper.retry_now |= daemon_likely && !wmk_helper.connected;
		wmk_helper_wake();
		return 0;
	}
	wmk_helper.halt = wmk_helper.keep = wmk_helper.user_changes = wmk_helper.retry_now = false;
	wmk_helper.skip_nap = daemon_likely;
	wmk_helper.running = true;
	/* the thread inherits the mask, so the mask applies from the first instruction of the thread */
	const uint64_t before = wmk_signals_block();
	const int err = wmk_thread_start(wmk_helper_thread_main, wmk_helper.skip_nap);

	wmk_signals_restore(before);
	if (err < 0) {
		wmk_helper.running = false;
		wmk_endpoints_report(WMK_UNRECORDED_THREAD, err);
		return err;
	}
	wmk_thread_wait_started();
	watch_main_thread();
	return 0;
}

bool wmk_helper_halt(enum wmk_helper_halt how)
{
	pid_t tid;

	if (wmk_lock_is_mine())
		return false;
	wmk_lock();
	for (int i = 0; (tid = wmk_helper.tid) == 0 && wmk_helper.running && i < HALT_TRIES; i++) {
		wmk_unlock();
		wmk_pause(HALT_PAUSE_NS);
		wmk_lock();
	}
	/*
	 * The caller may be a process that shares the memory of the application (CLONE_VM) but has its own thread-local
	 * storage. If the caller is a process of this kind, the helper thread belongs to another process, so tgkill()
	 * fails.
	 */
	if (!wmk_helper.running || syscall(SYS_tgkill, getpid(), tid, 0) != 0) {
		wmk_unlock();
		return false;
	}
	wmk_helper.halt = true;
	wmk_helper.keep = how == WMK_HELPER_KEEPS;
	wmk_helper.user_changes = how == WMK_HELPER_USER_CHANGES;
	wmk_helper_wake();
	wmk_unlock();
	/* Until the helper thread has ended, the kernel counts the helper thread and rejects unshare(CLONE_NEWUSER). */
	for (int i = 0; i < HALT_TRIES && syscall(SYS_tgkill, getpid(), tid, 0) == 0; i++)
		wmk_pause(HALT_PAUSE_NS);
	return true;
}

void wmk_helper_resume(void)
{
	wmk_lock();
	restart_failed = wmk_helper_start(true) < 0 && !forbidden && !main_exited;
	wmk_unlock();
}

void wmk_helper_forbid(void)
{
	forbidden = true;
}

bool wmk_helper_after_fork(bool may_free, bool *daemon_likely)
{
	bool had = wmk_helper.running || restart_failed || main_exited || forbidden;

	*daemon_likely = wmk_helper.connected || wmk_tracer.channels;
	wmk_helper_thread_after_fork(may_free);
	restart_failed = main_exited = forbidden = false;
	wmk_register_after_fork();
	return had;
}
