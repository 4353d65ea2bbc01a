/* SPDX-License-Identifier: MIT */
/*
 * first.c - the first thread ends before the program does: by pthread_exit() or cancellation. The program then goes on
 * until the last of the others has ended, and the C library counts the helper among them, which never ends: it is ended
 * here, by a destructor of the first thread's. That works whoever the program is linked with: where only a library is
 * instrumented, or in a static program, pthread_exit() is the C library's (main_exit.c has those that are reached).
 */
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/fork.h"
#include "tracer/helper_control.h"

static bool is_first_thread(void)
{
	return wmk_task_is_own() && syscall(SYS_gettid) == getpid();
}

void wmk_main_thread_exits(void)
{
	if (is_first_thread())
		wmk_helper_main_exits();
}

static void on_first_thread_exit(void *unused)
{
	(void)unused;
	wmk_main_thread_exits();
}

void wmk_main_thread_watch(void)
{
	static pthread_key_t key;
	static bool made;

	if (!made)
		made = pthread_key_create(&key, on_first_thread_exit) == 0;
	if (made && is_first_thread())
		(void)pthread_setspecific(key, &key);    /* (without memory for it main_exit.c is what there is) */
}
