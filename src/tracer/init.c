/* SPDX-License-Identifier: MIT */
/* init.c - see init.h. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "tracer/clock.h"
#include "tracer/fork_handlers.h"
#include "tracer/init.h"
#include "tracer/tracer.h"

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

/* Read the environment; a set-user-ID program ignores the environment (secure_getenv()). */
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
 * An allocator installs its fork handlers when the allocator is first used. The allocator's handlers must be installed
 * before the handlers of libwaymark, because handlers that were installed first lock last, and unlock first in the
 * child. If libwaymark installed its fork handlers first, a fork could deadlock. In this deadlock, the thread that
 * forks would hold the lock of the heap and wait for the lock of libwaymark. In this deadlock, the helper thread would
 * hold the lock of libwaymark and wait for the lock of the heap. In the child, the fork handler of libwaymark would
 * find the heap locked.
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
	pthread_atfork(wmk_fork_begin, wmk_fork_end, wmk_fork_child);
}

static WMK_FIRST_PAGE pthread_once_t once = PTHREAD_ONCE_INIT;
static WMK_FIRST_PAGE _Atomic(bool) clock_loaded;

void wmk_tracer_init(void)
{
	pthread_once(&once, init);
	/* not within init(): a plug-in may have sites, and its constructor calls this function */
	if (!wmk_tracer.disabled && !atomic_exchange(&clock_loaded, true))
		wmk_clock_plugin_load();
}
