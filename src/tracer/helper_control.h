/* SPDX-License-Identifier: MIT */
/* helper_control.h - start, wake and end the helper thread, also after a fork. */
#ifndef WMK_TRACER_HELPER_CONTROL_H
#define WMK_TRACER_HELPER_CONTROL_H

#include <stdbool.h>

/*
 * True if a session daemon is connected, or if an endpoint has a socket. Returns false if no helper thread may start.
 * Takes a few system calls. Lock held.
 */
bool wmk_helper_has_daemon(void);
/*
 * Start the helper thread, or wake the helper thread if it runs. `daemon_likely` is true if a session daemon was found.
 * Returns 0 or -errno. Lock held.
 */
int wmk_helper_start(bool daemon_likely);
/* Wake the helper thread if the helper thread has work. Lock held. */
void wmk_helper_wake(void);
/*
 * End the helper thread, and wait until the kernel has removed it. KEEPS: enabled events stay enabled, so that the next
 * helper thread can take over; otherwise, enabled events are disabled. USER_CHANGES: the helper thread reports that the
 * process changes its user. Returns whether the thread ran. Without the lock.
 */
enum wmk_helper_halt { WMK_HELPER_ENDS, WMK_HELPER_KEEPS, WMK_HELPER_USER_CHANGES };
bool wmk_helper_halt(enum wmk_helper_halt how);
/*
 * Start the thread again. If this process cannot start a thread, its children start a helper thread: after
 * unshare(CLONE_NEWPID), only children can have threads. Without the lock.
 */
void wmk_helper_resume(void);
/* For waymark_helper_stop(): never start the helper thread again in this process. Lock held. */
void wmk_helper_forbid(void);
/*
 * Called when a thread exits: if the thread is the main thread, end the helper thread permanently. Enabled events stay
 * enabled. Without the lock.
 */
void wmk_main_thread_exits(void);
/*
 * Reset the state of the helper thread in a forked child. Returns whether the parent had a helper thread.
 * *daemon_likely: that thread had a session daemon. Lock held.
 */
bool wmk_helper_after_fork(bool may_free, bool *daemon_likely);

#endif
