/* SPDX-License-Identifier: MIT */
/*
 * rundir.h - where a session daemon is met: the runtime directory, the lock that keeps it one daemon for each user, its
 * two sockets, and the word to whoever started it that it listens.
 *
 *     <rundir>/            root's: 0755, everybody's programs come here; a user's: 0700
 *         sessiond.pid     the number of the process, and the lock (held as long as the process lives, however it ends). 0600: who can
 *                          read a file can lock it, and keep the daemon from starting
 *         app.sock         programs register: 0666 or 0600
 *         ctl.sock         commands: 0660 and group `tracing`, where there is one, or 0600
 *
 * Either socket may be handed over by systemd (LISTEN_FDS; names `app` and `ctl`). Errors are -errno with a cause
 * chain. One thread.
 */
#ifndef WMK_SESSIOND_RUNDIR_H
#define WMK_SESSIOND_RUNDIR_H

#include <stdbool.h>
#include <sys/types.h>

#define WMK_SESSIOND_PID_FILE "sessiond.pid"
#define WMK_SESSIOND_GROUP "tracing"

enum wmk_sessiond_socket { WMK_SESSIOND_APP, WMK_SESSIOND_CTL, WMK_SESSIOND_SOCKETS };

struct wmk_sessiond_rundir {
	char path[128];                  /* of the runtime directory */
	int dir, lock;
	int sockets[WMK_SESSIOND_SOCKETS];  /* listening, non-blocking */
	bool everybody;                  /* it is root's */
	bool made_dir;
	bool handed;                     /* one of them was */
	/* not handed over: removed at the end, if it is what is there then. 0: none */
	ino_t made[WMK_SESSIOND_SOCKETS];
};

/*
 * Make the directory, or take the one that is there if nobody else can change it; lock; open the sockets. -EBUSY: a
 * daemon runs there (the words say which process); one that does not take commands, because it is about to end, is
 * waited for, 5 s at most. `handed`: sockets that somebody listens on already, -1 for none (see
 * wmk_sessiond_rundir_handed()); taken over in any case. Where there is one it stands in the place of the socket of a
 * daemon that runs there: nobody finds that daemon any more, so it is told to end (what records goes on, and is this
 * one's then) and waited for, 15 s at most.
 */
int wmk_sessiond_rundir_open(const char *rundir, const int handed[WMK_SESSIOND_SOCKETS],
			     struct wmk_sessiond_rundir *place);
/* Nobody finds the sockets any more; who has connected is heard. The first thing of an end. */
void wmk_sessiond_rundir_hide(struct wmk_sessiond_rundir *place);
/* Removes what was made, but for the directory when something is left in it. */
void wmk_sessiond_rundir_close(struct wmk_sessiond_rundir *place);

/*
 * Sockets from systemd: LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES; the variables are removed from the environment. Each
 * must be a listening stream socket of AF_UNIX with one of the two names. 0 (also when there is none), -EINVAL.
 */
int wmk_sessiond_rundir_handed(int handed[WMK_SESSIOND_SOCKETS]);

/*
 * Tell who started us: $WAYMARK_READY_FD, a descriptor: one byte '+' when all listens, '!' and words when it failed
 * (`failure` not NULL); then closed. And $NOTIFY_SOCKET (systemd), for which `state` is "READY=1" or "STOPPING=1".
 * Takes the variables out of the environment (wmk_sessiond_rundir_starter(), called first, before any thread), so that
 * nothing that is started from here answers as well.
 */
struct wmk_sessiond_rundir_starter {
	int ready;                       /* -1: none */
	char notify[108];                /* "": none */
};
void wmk_sessiond_rundir_starter(struct wmk_sessiond_rundir_starter *starter);
void wmk_sd_notify(struct wmk_sessiond_rundir_starter *starter, const char *state, const char *failure);

#endif
