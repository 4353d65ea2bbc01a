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
 * The application opens the FIFO before it tries to connect. Therefore poll() also reports a daemon that starts before
 * the application tries to connect. When the daemon ends, the FIFO is not removed, because applications still have the
 * FIFO open. Each application needs one descriptor for the FIFO. With inotify, each application would need one of the
 * 128 inotify instances of its user.
 */
#ifndef WMK_WIRE_NOTIFY_FIFO_H
#define WMK_WIRE_NOTIFY_FIFO_H

#include <sys/types.h>

#define WMK_NOTIFY_FIFO "notify"

/* ── the daemon's side: for the daemon that holds the lock of the directory ──────────────────────────── */

/*
 * Create the FIFO in the directory `rundir_fd` with mode 0644, unless the FIFO already exists. If a file of another
 * type has the name of the FIFO, the FIFO replaces the file.
 */
int wmk_notify_create(int rundir_fd);
/* Notify the applications. Call this function when the daemon accepts connections. */
void wmk_notify_send(int rundir_fd);

/* ── an application's side ───────────────────────────────────────────────────────────────────────────── */

/*
 * Open the FIFO in the directory `rundir`. The file must be a FIFO that belongs to `owner` or root; it must not be a
 * link, and must not be writable by other users. Returns a descriptor, which must be polled without requested events;
 * or -errno. POLLHUP reports one start of a daemon. To detect the next start, open the FIFO again.
 */
int wmk_notify_open(const char *rundir, uid_t owner);

#endif
