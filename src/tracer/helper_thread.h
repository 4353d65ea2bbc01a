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

/* The lock protects all members, except atomic members and `poller`, which only the helper thread uses. */
struct wmk_helper {
	/* set before the thread is started; the thread resets it as its last action under the lock */
	bool running;
	pid_t tid;                 /* 0: the thread does not run yet */
	bool skip_nap;             /* a daemon was found: connect without a nap before */
	bool retry_now;            /* try every endpoint now */
	bool connected;            /* to one session daemon at least */
	bool polls;                /* a signal wakes it; else the futex */
	/* that signal is blocked, so it does not end the process; else: polls every second */
	bool is_signalled;
	bool halt;                 /* end now ... */
	bool keep;                 /* ... and keep channels as orphans */
	bool user_changes;         /* ... because the process changes its user */
	_Atomic(uint32_t) wakeups; /* a futex: counts the wake-ups */
	struct wmk_poller poller;  /* `poller.seen`: the value before this iteration */
	/* wmk_tracer.changes when the endpoints were last tried: later changes are handled in the next iteration */
	uint32_t tried_changes;
	struct wmk_endpoint endpoints[WMK_ENDPOINTS];
	unsigned n_endpoints;
};
extern struct wmk_helper wmk_helper WMK_HIDDEN;

#define wmk_for_each_endpoint(each) \
	for (struct wmk_endpoint *each = wmk_helper.endpoints; each < wmk_helper.endpoints + wmk_helper.n_endpoints; \
	     each++)

/* Main function of the thread. */
void *wmk_helper_thread_main(void *unused);
/*
 * Reset the state in a forked child, in which the helper thread does not exist; with `may_free`, also free the memory
 * of the state. Lock held.
 */
void wmk_helper_thread_after_fork(bool may_free);

#endif
