/* SPDX-License-Identifier: MIT */
/*
 * helper_thread.h - the helper thread itself. helper_control.h starts, wakes and ends it.
 */
#ifndef WMK_TRACER_HELPER_THREAD_H
#define WMK_TRACER_HELPER_THREAD_H

#include <sys/types.h>

#include "tracer/endpoint.h"
#include "tracer/helper_poll.h"
#include "tracer/tracer.h"

/* Under the lock, except atomic members, and `poller`, which only the thread uses. */
struct wmk_helper {
	bool running;              /* set before it is started; it resets this as its last action under the lock */
	pid_t tid;                 /* 0: it has not begun */
	bool skip_nap;             /* a daemon was found: connect without a nap before */
	bool retry_now;            /* try every endpoint now */
	bool connected;            /* to one session daemon at least */
	bool polls;                /* a signal wakes it; else the futex */
	bool is_signalled;         /* that signal is blocked, or it would end the process; else: polls every second */
	bool halt;                 /* end now ... */
	bool keep;                 /* ... and keep channels as orphans */
	bool user_changes;         /* ... as the process is another user's now */
	_Atomic(uint32_t) wakeups; /* a futex: counts the wake-ups */
	struct wmk_poller poller;  /* with its value before this turn */
	/* wmk_tracer.changes when the endpoints were tried: later ones wait for the next turn */
	uint32_t tried_changes;
	struct wmk_endpoint endpoints[WMK_ENDPOINTS];
	unsigned n_endpoints;
};
extern struct wmk_helper wmk_helper WMK_HIDDEN;

/* What the thread runs. */
void *wmk_helper_thread_main(void *unused);
/* In the child of a fork, which has no such thread: give up what it held, its memory too if `may_free`. Lock held. */
void wmk_helper_thread_after_fork(bool may_free);

#endif
