/* SPDX-License-Identifier: MIT */
/*
 * tracer.c - the library's state, its lock, and what happens at the first use.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/faults.h"
#include "ring/writer.h"
#include "tracer/channel.h"
#include "tracer/clock.h"
#include "tracer/fork.h"
#include "tracer/helper.h"
#include "tracer/statedump.h"
#include "tracer/tracer.h"

/* Beside what the loader has written to already: no page more is touched in a program that nobody traces. */
#define WMK_FIRST_PAGE __attribute__((section(".data")))

WMK_FIRST_PAGE struct wmk_tracer wmk_tracer = { .lock = PTHREAD_MUTEX_INITIALIZER };
static WMK_FIRST_PAGE pthread_once_t once = PTHREAD_ONCE_INIT;
static WMK_FIRST_PAGE _Atomic(bool) clock_loaded;

void wmk_lock(void)
{
	pthread_mutex_lock(&wmk_tracer.lock);
}

void wmk_unlock(void)
{
	pthread_mutex_unlock(&wmk_tracer.lock);
}

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

/* Under the lock, which is held from before the fork to after it. */
static bool forker_is_own;
static bool signals_blocked;
static uint64_t signals_before;

void wmk_fork_begin(void)
{
	wmk_lock();
	forker_is_own = wmk_thread.mark == 0 || wmk_storage_is_own();
	/* a handler in the child must not record before the child has left what is its parent's alone */
	signals_blocked = wmk_channels_any_private();
	if (signals_blocked)
		signals_before = wmk_signals_block();
}

void wmk_fork_end(void)
{
	uint64_t before = signals_before;
	bool restore = signals_blocked;

	wmk_unlock();
	if (restore)
		wmk_signals_restore(before);
}

/* What a child is to its controllers. */
struct child {
	bool registers;         /* its parent had a helper */
	bool somebody;          /* with somebody to talk to */
	bool waits;             /* it has left rings that were its parent's alone: others are to come */
};

/* `prepared`: by the C library, as fork() does. Without that its heap may be locked for ever, by a thread that is not here. */
static struct child child_common(bool prepared)
{
	struct wmk_channel *channel;
	struct child child;

	/*
	 * A task on another's storage has no restartable sequences, and neither has its copy: what looks like an area of its own is never
	 * written by the kernel again. It records nothing, ever, and that is counted.
	 */
	if (!forker_is_own)
		wmk_thread.vforked = 1;

	wmk_context_after_fork();
	wmk_ring_grace_after_fork();
	for (channel = wmk_tracer.channels; channel; channel = channel->next)
		waymark_ring_set_identity(channel->set, 0, 0);
	wmk_statedump_after_fork();
	child.registers = wmk_helper_after_fork(prepared, &child.somebody);
	child.waits = wmk_channels_leave_private();
	return child;
}

/*
 * The child records on at once, into the rings that it inherits, under its own names; then it registers as itself. From rings that were its
 * parent's alone it has parted: it waits for its own, bounded as a constructor is.
 */
static void fork_child(void)
{
	struct child child = child_common(true);
	uint32_t change = 0;
	bool waits = false;

	if (child.registers) {
		change = ++wmk_tracer.changes;
		waits = wmk_helper_start(child.somebody) == 0 && child.waits;
	}
	wmk_fork_end();
	if (waits)
		wmk_helper_wait(change);
}

void wmk_fork_child_quiet(void)
{
	child_common(false);
	wmk_fork_end();
}

static bool flag(const char *name)
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
static void take_environment(void)
{
	const char *dir = secure_getenv("WAYMARK_RUNDIR");

	wmk_tracer.allow_blocking = flag("WAYMARK_ALLOW_BLOCKING");
	wmk_tracer.register_ms = milliseconds(secure_getenv("WAYMARK_REGISTER_TIMEOUT"), 3000);
	wmk_tracer.has_rundir = dir != NULL;
	if (dir)
		memccpy(wmk_tracer.rundir, dir, '\0', sizeof(wmk_tracer.rundir) - 1);
}

static void init(void)
{
	wmk_tracer.secure = getauxval(AT_SECURE) != 0;
	wmk_tracer.disabled = flag("WAYMARK_DISABLE");
	if (wmk_tracer.disabled)
		return;
	take_environment();
	pthread_atfork(wmk_fork_begin, wmk_fork_end, fork_child);
}

void wmk_tracer_init(void)
{
	pthread_once(&once, init);
	/* not within once: a plug-in may be instrumented, and its constructor comes here */
	if (!wmk_tracer.disabled && !atomic_exchange(&clock_loaded, true))
		wmk_clock_plugin_load();
}
