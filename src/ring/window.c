/* SPDX-License-Identifier: MIT */
/* window.c - test points inside the restartable sequence; see window.h. Empty in other builds. */
#include "ring/window.h"

#if defined(WMK_TESTPOINTS) && defined(__x86_64__)

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ring/record_header.h"

unsigned char wmk_seq_window[WMK_SEQ_WINDOWS * 4096] __attribute__((aligned(4096)));

static int number = -2; /* -2: the environment has not been read; -1: the environment arms no window */
static int wanted; /* a window is armed, or will be armed */
static int kills;
static long left;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	unsigned char *at = info->si_addr;

	(void)context;
	if (at < wmk_seq_window || at >= wmk_seq_window + sizeof(wmk_seq_window)) {
		signal(sig, SIG_DFL); /* the fault was elsewhere: the fault repeats with the default action */
		return;
	}
	if (kills)
		kill(getpid(), SIGKILL);
	mprotect(wmk_seq_window, sizeof(wmk_seq_window), PROT_READ);
	kill(getpid(), SIGSTOP);
}

static void read_environment(void)
{
	const char *s = getenv("WMK_SEQ_POINT");
	char action[8] = "";
	int n = -1;

	number = -1;
	if (s && sscanf(s, "%d:%7[a-z]:%ld", &n, action, &left) >= 2 && n >= 0 && n < WMK_SEQ_WINDOWS) {
		kills = strcmp(action, "kill") == 0;
		number = n;
		wanted = 1;
	}
}

/*
 * Any thread can fault in the window, and a fault in a thread that blocks SIGSEGV ends the process without a call of
 * the handler.
 */
static void unblock(void)
{
	static __thread int done __attribute__((tls_model("initial-exec")));
	sigset_t fault;

	if (done)
		return;
	done = 1;
	sigemptyset(&fault);
	sigaddset(&fault, SIGSEGV);
	pthread_sigmask(SIG_UNBLOCK, &fault, NULL);
}

void wmk_ring_window_count(void)
{
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	if (number == -2)
		read_environment();
	if (wanted)
		unblock();
	if (number < 0 || left-- > 0)
		return;
	sigaction(SIGSEGV, &sa, NULL);
	mprotect(wmk_seq_window + number * 4096, 4096, PROT_NONE);
	number = -1;
}

#else
typedef int wmk_ring_window_unused; /* a translation unit needs at least one declaration */
#endif
