/* SPDX-License-Identifier: MIT */
/*
 * notify_fifo.h - how an application learns that a session daemon has started: the FIFO `notify` in the runtime
 * directory of the daemon (registration.md, "When no controller is there, or it goes"). No data goes through it.
 *
 *     application                                 session daemon
 *     open to read, without waiting               bind, listen
 *     connect                                     open to write, close: all that have it open get POLLHUP
 *     poll for POLLHUP            ◄──────────────
 *
 * The application opens the FIFO before it tries to connect: a daemon that starts in between has hung up by the time of
 * the poll(). The FIFO stays when the daemon ends, for the applications that have it open. It costs each a descriptor;
 * inotify would cost an instance, of which a user has 128.
 */
#ifndef WMK_WIRE_NOTIFY_FIFO_H
#define WMK_WIRE_NOTIFY_FIFO_H

#include <sys/types.h>

#define WMK_NOTIFY_FIFO "notify"

/* ── the daemon's side: one at a time, which holds the directory's lock ──────────────────────────────── */

/* Make the FIFO in the directory `rundir_fd`, unless it exists: 0644, whatever the umask is. Replaces other files. */
int wmk_notify_create(int rundir_fd);
/* The daemon accepts connections from here on: wake the applications. */
void wmk_notify_send(int rundir_fd);

/* ── an application's side ───────────────────────────────────────────────────────────────────────────── */

/*
 * Open the FIFO of the directory `rundir`. It must be a FIFO, not reached through a link, of `owner` or root, which no
 * other user can write. Returns a descriptor to poll for POLLHUP (no events requested), which reports one start of a
 * daemon: open it anew then. Or -errno.
 */
int wmk_notify_open(const char *rundir, uid_t owner);

#endif
