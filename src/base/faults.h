/* SPDX-License-Identifier: MIT */
/*
 * faults.h - signals that libwaymark leaves unblocked in an application, as masks for rt_sigprocmask(2).
 *
 * The processor or a seccomp filter raises the fault signals synchronously. If the thread blocks such a synchronous
 * signal, the kernel kills the process, even if the application has a handler. Garbage collectors (guard pages),
 * debuggers (single steps), and sandboxes that emulate system calls install handlers for fault signals.
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
 * The C library's internal signals to cancel a thread, and to run setuid() in all threads. A thread that waits until
 * all other threads have handled WMK_SIGNAL_CANCEL or WMK_SIGNAL_SETID may hold locks of the C library.
 */
#define WMK_SIGNAL_CANCEL 32
#define WMK_SIGNAL_SETID 33

/*
 * Fill *set with all signals except the fault signals (WMK_SIGNALS_FAULTS). The threads of a daemon block the signals
 * of the set, so that the main thread receives these signals. The fault signals stay unblocked, because the code of
 * ring/file.h handles SIGBUS.
 */
static inline void wmk_signals_of_others(sigset_t *set)
{
	sigfillset(set);
	for (int n = 1; n < 32; n++)
		if (WMK_SIGNALS_FAULTS & WMK_SIGNAL(n))
			sigdelset(set, n);
}

#endif
