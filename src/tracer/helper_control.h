/* SPDX-License-Identifier: MIT */
/* helper_control.h - start, wake and end the helper thread, also after a fork. */
#ifndef WMK_TRACER_HELPER_CONTROL_H
#define WMK_TRACER_HELPER_CONTROL_H

#include <stdbool.h>

/*
 * Whether a session daemon is connected, or an endpoint has a socket. False if no helper thread may start. Takes a few
 * system calls. Lock held.
 */
bool wmk_helper_has_daemon(void);
/*
 * Start the thread, or wake it if it runs. `daemon_likely`: a session daemon was found. Returns 0 or -errno. Lock held.
 */
int wmk_helper_start(bool daemon_likely);
/* Wake the thread if it has work. Lock held. */
void wmk_helper_wake(void);
/*
 * End the thread, and wait until the kernel has removed it. KEEPS: enabled events stay enabled, for the next helper
 * thread to take over; otherwise they are disabled. USER_CHANGES: the thread reports that the process changes its user.
 * Returns whether the thread ran. Without the lock.
 */
enum wmk_helper_halt { WMK_HELPER_ENDS, WMK_HELPER_KEEPS, WMK_HELPER_USER_CHANGES };
bool wmk_helper_halt(enum wmk_helper_halt how);
/*
 * Start the thread again. If this process cannot start a thread, its children start one: after unshare(CLONE_NEWPID),
 * only children can have threads. Without the lock.
 */
void wmk_helper_resume(void);
/* For waymark_helper_stop(): never start the thread again in this process. Lock held. */
void wmk_helper_forbid(void);
/*
 * Called when a thread exits: if it is the main thread, end the helper thread permanently. Enabled events stay enabled.
 * Without the lock.
 */
void wmk_main_thread_exits(void);
/*
 * Reset the state in a forked child. Returns whether the parent had a helper thread. *daemon_likely: that thread had a
 * session daemon. Lock held.
 */
bool wmk_helper_after_fork(bool may_free, bool *daemon_likely);

#endif
