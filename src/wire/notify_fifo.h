/* SPDX-License-Identifier: MIT */
/*
 * notify_fifo.h - notifies applications that a session daemon has started: the FIFO `notify` in the runtime directory
 * of the daemon (docs/registration.md). No process writes data to the FIFO.
 *
 *     application                                 session daemon
 *     open to read, without waiting               bind, listen
 *     connect                                     open to write, close: readers get POLLHUP
 *     poll for POLLHUP            ◄──────────────
 *
 * The application opens the FIFO before it tries to connect, so that poll() also reports a daemon that starts in
 * between. The FIFO remains when the daemon ends, for the applications that have it open. Each application needs one
 * descriptor; inotify would need one of the user's 128 instances.
 */
#ifndef WMK_WIRE_NOTIFY_FIFO_H
#define WMK_WIRE_NOTIFY_FIFO_H

#include <sys/types.h>

#define WMK_NOTIFY_FIFO "notify"

/* ── the daemon's side: for the daemon that holds the lock of the directory ──────────────────────────── */

/* Create the FIFO in the directory `rundir_fd` with mode 0644, unless it exists. Replaces a file of another type. */
int wmk_notify_create(int rundir_fd);
/* Notify the applications. Call it when the daemon accepts connections. */
void wmk_notify_send(int rundir_fd);

/* ── an application's side ───────────────────────────────────────────────────────────────────────────── */

/*
 * Open the FIFO in the directory `rundir`. The file must be a FIFO of `owner` or root, not a link, and not writable by
 * other users. Returns a descriptor for poll() with no events, or -errno. POLLHUP reports one start of a daemon; open
 * the FIFO again for the next start.
 */
int wmk_notify_open(const char *rundir, uid_t owner);

#endif
