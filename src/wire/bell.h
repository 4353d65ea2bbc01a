/* SPDX-License-Identifier: MIT */
/*
 * bell.h - how a program that is connected to one session daemon hears that the other one has come (control.md, registration.md).
 *
 * It sleeps in poll(), where nobody hears the futex of a wait page. A bell is a named pipe through which nothing ever goes:
 *
 *     program                                     the daemon that comes
 *     open to read, without waiting               bind, listen
 *     connect: nobody there                       open to write, close: whoever has it open has POLLHUP
 *     poll, for POLLHUP alone     ◄──────────────
 *
 * A program opens it before it tries to connect: a daemon that comes in between has hung up by the time of the poll(). It costs a descriptor and no
 * more: inotify's instances are few for each user (128), and not ours to use up.
 *
 *     <root's runtime directory>/bells/           root's, 0755
 *         0                                       0644: root's daemon rings it, everybody hears it
 *         UID                                     0600, of that user, whose daemon rings it; made when a program of his registers with root's
 *
 * All stand in root's directory: the user's own comes with his daemon, as a rule is not there while root's alone runs, and is nothing that
 * a program makes.
 */
#ifndef WMK_WIRE_BELL_H
#define WMK_WIRE_BELL_H

#include <sys/types.h>

#define WMK_BELLS_DIR "bells"

/* ── root's daemon ───────────────────────────────────────────────────────────────────────────────────── */

/* The directory, in the runtime directory `rundir_fd`, made if need be: a descriptor, or -errno with a cause chain. */
int wmk_bells_open(int rundir_fd);
/* That user's bell. 1: it is new; 0: it was there; -errno with a cause chain. */
int wmk_bell_make(int bells_fd, uid_t uid);

/* ── who comes, and who waits; `rundir` is root's ────────────────────────────────────────────────────── */

/* The daemon of that user listens. Where there is no bell nobody waits for it. */
void wmk_bell_ring(const char *rundir, uid_t uid);
/* A descriptor to poll for POLLHUP (no events asked for); it has rung once and for all then: open it anew. Or -errno. */
int wmk_bell_open(const char *rundir, uid_t uid);

#endif
