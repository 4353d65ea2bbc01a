/* SPDX-License-Identifier: MIT */
/*
 * tracer.c - the library's state, its lock, and what happens at the first use.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/faults.h"
#include "ring/writer.h"
#include "tracer/register_wait.h"
#include "tracer/channel.h"
#include "tracer/clock.h"
#include "tracer/fork.h"
#include "tracer/helper_control.h"
#include "tracer/process.h"
#include "tracer/statedump.h"
#include "tracer/tracer.h"

/* Beside what the loader has written to already: no page more is touched in a program that nobody traces. */
#define WMK_FIRST_PAGE __attribute__((section(".data")))

#define LOCK_PAUSE_NS 20000

WMK_FIRST_PAGE struct wmk_tracer wmk_tracer = { .lock = PTHREAD_MUTEX_INITIALIZER };
static WMK_FIRST_PAGE pthread_once_t once = PTHREAD_ONCE_INIT;
static WMK_FIRST_PAGE _Atomic(bool) clock_loaded;

/*
 * The thread says that it is about to have the lock before it has it: a signal handler may come at any point. (Signals
 * stay open: who waits in here for the heap must answer a garbage collector that stops all threads by a signal, the
 * heap's too.)
 */
void wmk_lock(void)
{
	wmk_thread.locking = 1;
	atomic_signal_fence(memory_order_seq_cst);
	pthread_mutex_lock(&wmk_tracer.lock);
}

void wmk_unlock(void)
{
	pthread_mutex_unlock(&wmk_tracer.lock);
	atomic_signal_fence(memory_order_seq_cst);
	wmk_thread.locking = 0;
}

/*
 * Under the lock, which is held from before a fork to after it. (But for forks in handlers that came while it was the
 * thread's.)
 */
static WMK_FIRST_PAGE struct {
	bool is_own;            /* who forks runs on storage of its own */
	uint64_t signals;       /* its mask */
	pid_t parent;
	bool in_nested_child;   /* this is what came of one of those */
} forking;

/* Raw: what is open stays open, and the C library's own two stay as they are. */
uint64_t wmk_signals_block(void)
{
	const uint64_t mask = ~(WMK_SIGNALS_FAULTS | WMK_SIGNAL(WMK_SIGNAL_CANCEL) | WMK_SIGNAL(WMK_SIGNAL_SETID));
	uint64_t before = 0;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &mask, &before, sizeof(mask));
	return before;
}

void wmk_signals_restore(uint64_t before)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
}

bool wmk_lock_is_mine(void)
{
	/* Another task may run on storage that is marked: it waits for the lock like all others. */
	return wmk_thread.locking && (wmk_thread.mark == 0 || forking.in_nested_child);
}

void wmk_fork_begin(void)
{
	/* goes without the lock, and its child without tracing */
	if (wmk_lock_is_mine()) {
		wmk_thread.nested++;
		return;
	}
	/*
	 * A handler in the child must not record before that has left what is its parent's alone. (While the lock is
	 * waited for, it may.)
	 */
	uint64_t before = wmk_signals_block();

	while (pthread_mutex_trylock(&wmk_tracer.lock) != 0) {
		wmk_signals_restore(before);
		wmk_pause(LOCK_PAUSE_NS);
		before = wmk_signals_block();
	}
	wmk_thread.locking = 1;
	forking.signals = before;
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

/* Whatever it was in the middle of, the child is itself. */
static void child_self(bool own)
{
	/*
	 * A task on another's storage has no restartable sequences, and neither has its copy: what looks like an area
	 * of its own is never written by the kernel again. It records nothing, ever, and that is counted.
	 */
	if (!own)
		wmk_thread.vforked = 1;
	wmk_process_forked_by(forking.parent);
	wmk_context_after_fork();
	wmk_ring_grace_after_fork();
	for (struct wmk_channel *channel = wmk_tracer.channels; channel; channel = channel->next)
		waymark_ring_set_identity(channel->set, 0, 0);
}

/* What a child is to its controllers. */
struct child {
	bool registers;         /* its parent had a helper */
	bool daemon_likely;          /* with somebody to talk to */
	bool waits;             /* it has left rings that were its parent's alone: others are to come */
};

/*
 * `prepared`: by the C library, as fork() does. Without that its heap may be locked for ever, by a thread that is not
 * here.
 */
static struct child child_common(bool prepared)
{
	struct child child = { 0 };

	child_self(!wmk_thread.nested && forking.is_own);
	if (wmk_thread.nested) {
		/* the tables are as they were in the middle of something */
		wmk_tracer.disabled = true;
		forking.in_nested_child = true;
		return child;
	}
	wmk_statedump_after_fork();
	child.registers = wmk_helper_after_fork(prepared, &child.daemon_likely);
	child.waits = wmk_channels_remove_private();
	return child;
}

/*
 * The child records on at once, into the rings that it inherits, under its own names; then it registers as itself. From
 * rings that were its parent's alone it has parted: it waits for its own, bounded as a constructor is.
 */
static void fork_child(void)
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

static bool env_flag(const char *name)
{
	const char *text = secure_getenv(name);

	return text && *text && strcmp(text, "0") != 0;
}

static int64_t milliseconds(const char *text, int64_t otherwise)
{
	char *end = NULL;
	long ms = text ? strtol(text, &end, 10) : 0;

	return !text || end == text || *end || ms < 0 ? otherwise : ms > 3600000 ? 3600000 : ms;
}

/* Only here, once: see struct wmk_tracer. A set-id program has none of it. */
static void read_environment(void)
{
	const char *dir = secure_getenv("WAYMARK_RUNDIR");

	wmk_tracer.allow_blocking = env_flag("WAYMARK_ALLOW_BLOCKING");
	wmk_tracer.register_ms = milliseconds(secure_getenv("WAYMARK_REGISTER_TIMEOUT"), 3000);
	wmk_tracer.has_rundir = dir != NULL;
	if (dir)
		memccpy(wmk_tracer.rundir, dir, '\0', sizeof(wmk_tracer.rundir) - 1);
}

/*
 * An allocator prepares for forks when it is first used. It must come before us: who registers first is locked last,
 * and free first. Else who forks holds the heap and waits for our lock, which the helper holds when it asks for memory;
 * and in the child we come to a heap that is locked.
 */
static void register_allocator_first(void)
{
	void *volatile first = malloc(1);

	free(first);
}

static void init(void)
{
	wmk_tracer.secure = getauxval(AT_SECURE) != 0;
	wmk_tracer.disabled = env_flag("WAYMARK_DISABLE");
	if (wmk_tracer.disabled)
		return;
	read_environment();
	register_allocator_first();
	pthread_atfork(wmk_fork_begin, wmk_fork_end, fork_child);
}

void wmk_tracer_init(void)
{
	pthread_once(&once, init);
	/* not within once: a plug-in may be instrumented, and its constructor comes here */
	if (!wmk_tracer.disabled && !atomic_exchange(&clock_loaded, true))
		wmk_clock_plugin_load();
}
