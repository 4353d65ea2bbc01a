/* SPDX-License-Identifier: MIT */
/*
 * helper_control.h - the helper thread as the other files see it: started, woken, ended, absent after a fork.
 */
#ifndef WMK_TRACER_HELPER_CONTROL_H
#define WMK_TRACER_HELPER_CONTROL_H

#include <stdbool.h>

/* Does an endpoint have a socket? A few system calls. Lock held. */
bool wmk_helper_has_daemon(void);
/* Start the thread, or wake it if it runs; `daemon_likely`: a daemon was found. 0 or -errno. Lock held. */
int wmk_helper_start(bool daemon_likely);
/* Lock held. */
void wmk_helper_wake(void);
/*
 * End it, and wait until the kernel has removed the thread. KEEPS: what is enabled stays in force, for the next helper
 * thread to take over; else it is disabled. USER_CHANGES: it reports that the process is another user's now. True: it
 * ran. Without the lock.
 */
enum wmk_helper_halt { WMK_HELPER_ENDS, WMK_HELPER_KEEPS, WMK_HELPER_USER_CHANGES };
bool wmk_helper_halt(enum wmk_helper_halt how);
/*
 * Start what was halted. If no thread can be made (in a new pid namespace only children can), children start one.
 * Without the lock.
 */
void wmk_helper_resume(void);
/* waymark_helper_stop(): from now on none is started. Lock held. */
void wmk_helper_forbid(void);
/*
 * If the calling thread is the first one: it ends, and so does the helper thread, for good in this process; what is
 * enabled stays so. Without the lock.
 */
void wmk_main_thread_exits(void);
/* In the child of a fork. True: the parent had a helper thread. *daemon_likely: with a daemon. Lock held. */
bool wmk_helper_after_fork(bool may_free, bool *daemon_likely);

#endif
