/* SPDX-License-Identifier: MIT */
/*
 * leave.c - the first thread leaves by itself (pthread_exit() in main), and the program goes on until the last of the others has ended. The
 * C library counts the helper among them, and the helper never ends: it is ended here. What is enabled stays so, and records on; nothing new
 * is heard from then on.
 *
 * Only in the shared library: in a static program these names are the C library's. There, waymark_helper_stop() comes before.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include "tracer/fork.h"
#include "tracer/helper.h"
#include "tracer/tracer.h"

static void *next_function(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (!function)
		abort();        /* whoever calls it has been linked against it */
	return function;
}

static void leave(void)
{
	if (!wmk_task_is_own() || syscall(SYS_gettid) != getpid())
		return;
	wmk_helper_leave();
}

void WMK_EXPORT pthread_exit(void *result)
{
	void (*next)(void *);

	*(void **)&next = next_function("pthread_exit");
	leave();
	next(result);
	__builtin_unreachable();
}

void WMK_EXPORT thrd_exit(int result)
{
	void (*next)(int);

	*(void **)&next = next_function("thrd_exit");
	leave();
	next(result);
	__builtin_unreachable();
}
