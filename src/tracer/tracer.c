/* SPDX-License-Identifier: MIT */
/*
 * tracer.c - the library's state, its lock, and what happens at the first use.
 */
#include <string.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "ring/writer.h"
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

static bool forker_is_own;     /* under the lock, which is held from before the fork to after it */

void wmk_fork_begin(void)
{
	wmk_lock();
	forker_is_own = wmk_thread.mark == 0 || wmk_storage_is_own();
}

/* `prepared`: by the C library, as fork() does. Without that its heap may be locked for ever, by a thread that is not here. */
static bool child_common(bool prepared)
{
	struct wmk_channel *channel;

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
	return wmk_helper_after_fork(prepared);
}

/* The child records on at once, into the rings that it inherits, under its own names; then it registers as itself. */
static void fork_child(void)
{
	if (child_common(true)) {
		wmk_tracer.changes++;
		wmk_helper_start();
	}
	wmk_unlock();
}

void wmk_fork_child_quiet(void)
{
	child_common(false);
	wmk_unlock();
}

static bool flag(const char *name)
{
	const char *text = secure_getenv(name);

	return text && *text && strcmp(text, "0") != 0;
}

static void init(void)
{
	wmk_tracer.secure = getauxval(AT_SECURE) != 0;
	wmk_tracer.disabled = flag("WAYMARK_DISABLE");
	if (wmk_tracer.disabled)
		return;
	wmk_tracer.allow_blocking = flag("WAYMARK_ALLOW_BLOCKING");
	pthread_atfork(wmk_fork_begin, wmk_unlock, fork_child);
}

void wmk_tracer_init(void)
{
	pthread_once(&once, init);
	/* not within once: a plug-in may be instrumented, and its constructor comes here */
	if (!wmk_tracer.disabled && !atomic_exchange(&clock_loaded, true))
		wmk_clock_plugin_load();
}
