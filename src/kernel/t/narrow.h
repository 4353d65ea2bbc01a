/* SPDX-License-Identifier: MIT */
/*
 * narrow.h - for tests: 32-bit system calls, made by a 64-bit program. The kernel may lack them, and some hypervisors
 * do not pass the interrupt on, in which case the program gets SIGSEGV.
 */
#ifndef WMK_KERNEL_T_NARROW_H
#define WMK_KERNEL_T_NARROW_H

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#define NARROW_GETPID 20L            /* in the 32-bit table */

static inline long narrow_call(long number, long a, long b, long c)
{
	long ret = -1;

#ifdef __x86_64__
	register long fourth __asm__("rsi") = 0;

	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(number), "b"(a), "c"(b), "d"(c), "r"(fourth)
			 : "memory", "r8", "r9", "r10", "r11");
#else
	(void)number, (void)a, (void)b, (void)c;
#endif
	return ret;
}

static sigjmp_buf narrow_refused;

static inline void narrow_on_signal(int signal)
{
	(void)signal;
	siglongjmp(narrow_refused, 1);
}

/* Test by one call. One thread at a time. */
static inline bool narrow_works(void)
{
	struct sigaction action = { .sa_handler = narrow_on_signal }, before;
	volatile bool works = false;

	if (sigaction(SIGSEGV, &action, &before) != 0)
		return false;
	if (sigsetjmp(narrow_refused, 1) == 0)
		works = narrow_call(NARROW_GETPID, 0, 0, 0) == getpid();
	sigaction(SIGSEGV, &before, NULL);
	return works;
}

#endif
