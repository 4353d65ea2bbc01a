/* SPDX-License-Identifier: MIT */
/*
 * helper_control.h - the helper thread, as the rest of libwaymark sees it: started, woken, halted, forgotten after a
 * fork.
 */
#ifndef WMK_TRACER_HELPER_CONTROL_H
#define WMK_TRACER_HELPER_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

/* Is there anybody to talk to? Looks for sockets, a few system calls. Lock held. */
bool wmk_helper_has_daemon(void);
/*
 * Start the thread, or wake it where it runs; `daemon_likely`: a daemon was found. 0 or -errno. Lock held.
 */
int wmk_helper_start(bool daemon_likely);
/* Lock held. */
void wmk_helper_wake(void);
/*
 * End it, and wait until the kernel has forgotten the thread. KEEPS: what is enabled stays in force, for the next
 * helper to take over; else it is disabled. PARTS: it reports that the process is another user's now. True: it ran. Not
 * locked.
 */
enum wmk_helper_halt { WMK_HELPER_ENDS, WMK_HELPER_KEEPS, WMK_HELPER_USER_CHANGES };
bool wmk_helper_halt(enum wmk_helper_halt how);
/*
 * Start again what was halted. Where no thread can be made (in a new pid namespace there is none but for children),
 * children start one. Lock not held.
 */
void wmk_helper_resume(void);
/* waymark_helper_stop(): none is started any more. Lock held. */
void wmk_helper_forbid(void);
/*
 * The first thread leaves: the helper ends, what is enabled stays, none is started in this process any more. Lock not
 * held.
 */
void wmk_helper_main_exits(void);

/* ── first.c ── */
/* wmk_helper_main_exits(), if this is the first thread. Lock not held. */
void wmk_main_thread_exits(void);
/*
 * A helper runs: it is to end with the first thread. Known only where that is the one that asks for the helper. Lock
 * held.
 */
void wmk_main_thread_watch(void);

/* ── helper_thread.c ── */
/*
 * In the child of a fork, where the thread is not: what it held is given up, its memory too if `may_free`. True: the
 * parent had one. *daemon_likely: it had a controller, or what one gave. Lock held.
 */
bool wmk_helper_after_fork(bool may_free, bool *daemon_likely);

#endif
