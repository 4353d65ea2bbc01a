/* SPDX-License-Identifier: MIT */
/*
 * main_exit.c - wrappers that notice when the main thread ends by pthread_exit() or thrd_exit() before the program
 * (wmk_main_thread_exits()), regardless of which thread started the helper thread.
 *
 * The wrappers are only in the shared library: in a static program, the names of the wrappers belong to the C library.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <threads.h>

#include "tracer/compiler.h"
#include "tracer/helper_control.h"

static void *next_function(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (!function)
		abort();        /* not reached: the caller was linked against it */
	return function;
}

void WMK_EXPORT pthread_exit(void *result)
{
	void (*next)(void *);

	*(void **)&next = next_function("pthread_exit");
	wmk_main_thread_exits();
	next(result);
	__builtin_unreachable();
}

void WMK_EXPORT thrd_exit(int result)
{
	void (*next)(int);

	*(void **)&next = next_function("thrd_exit");
	wmk_main_thread_exits();
	next(result);
	__builtin_unreachable();
}
