/* SPDX-License-Identifier: MIT */
/*
 * faults.h - signals that stay open wherever the library blocks signals in a program's process: masks for
 * rt_sigprocmask(2).
 *
 * The processor or a seccomp filter raises them on account of what a thread does at that moment. If the thread blocks
 * them, the kernel kills it, whatever handler the program has: for a garbage collector's guard pages, a debugger's
 * single steps, a sandbox that answers system calls by itself.
 */
#ifndef WMK_BASE_FAULTS_H
#define WMK_BASE_FAULTS_H

#include <signal.h>
#include <stdint.h>

#define WMK_SIGNAL(n) (1ull << ((n) - 1))
#define WMK_SIGNALS_FAULTS                                                                                             \
	(WMK_SIGNAL(SIGSEGV) | WMK_SIGNAL(SIGBUS) | WMK_SIGNAL(SIGFPE) | WMK_SIGNAL(SIGILL) | WMK_SIGNAL(SIGTRAP) |    \
	 WMK_SIGNAL(SIGSYS))
/*
 * By which the C library cancels a thread, and makes all threads act (setuid): who waits for that may hold its locks.
 */
#define WMK_SIGNAL_CANCEL 32
#define WMK_SIGNAL_SETID 33

/* What a daemon's threads leave to its main thread: all others (ring/file.h has a handler for one of the faults). */
static inline void wmk_signals_of_others(sigset_t *set)
{
	sigfillset(set);
	for (int n = 1; n < 32; n++)
		if (WMK_SIGNALS_FAULTS & WMK_SIGNAL(n))
			sigdelset(set, n);
}

#endif
