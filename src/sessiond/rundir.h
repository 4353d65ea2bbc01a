/* SPDX-License-Identifier: MIT */
/*
 * rundir.h - the runtime directory of a session daemon: the lock that allows one daemon per user, its two sockets, and
 * the notification of the process that started it.
 *
 *     <rundir>/            of root: 0755, applications of all users connect here; of a user: 0700
 *         sessiond.pid     pid of the daemon, and the lock, which is held until the process ends. Mode 0600, because
 *                          any reader of a file can lock it, and so keep the daemon from starting
 *         app.sock         registration of applications: 0666 or 0600
 *         ctl.sock         commands: 0660 with group `tracing` if it exists, or 0600
 *
 * systemd may pass either socket (LISTEN_FDS; names `app` and `ctl`). Errors are -errno with a cause chain. One thread.
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
	bool for_all_users;                  /* a daemon of root, for all users */
	bool made_dir;
	bool inherited;                  /* at least one socket was passed by systemd */
	/*
	 * inodes of the sockets created here, 0: none; a socket is removed at the end if its name still has this inode
	 */
	ino_t made[WMK_SESSIOND_SOCKETS];
};

/*
 * Create the runtime directory, or use an existing directory that no other user can change. The function then takes the
 * lock of the directory and opens the sockets. `inherited` contains listening sockets from systemd, or -1
 * (wmk_sessiond_rundir_inherited()). `place` takes ownership of the sockets from systemd, even after an error.
 *
 * -EBUSY: a daemon runs there (the message contains its pid). A daemon that is starting or ending does not accept
 * commands, and the function waits up to 5 s for this daemon. If systemd passes a socket, clients cannot reach the
 * running daemon, because the new socket has replaced its socket. If systemd passes a socket, the function terminates
 * the running daemon, and waits up to 15 s. Recording continues, and the new daemon takes over the recording.
 */
int wmk_sessiond_rundir_open(const char *rundir, const int inherited[WMK_SESSIOND_SOCKETS],
			     struct wmk_sessiond_rundir *place);
/*
 * Remove the sockets from the directory; established connections stay open. A daemon that ends calls
 * wmk_sessiond_rundir_hide() as its first step.
 */
void wmk_sessiond_rundir_hide(struct wmk_sessiond_rundir *place);
/* Remove the files and directories that the daemon created, except a directory that is not empty. */
void wmk_sessiond_rundir_close(struct wmk_sessiond_rundir *place);

/*
 * Get the sockets that systemd passes in LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES, and remove these variables from the
 * environment. Each passed socket must be a listening AF_UNIX stream socket with the name "app" or "ctl". 0 (also
 * without sockets), -EINVAL.
 */
int wmk_sessiond_rundir_inherited(int inherited[WMK_SESSIOND_SOCKETS]);

/*
 * Notify the process that started the daemon. The descriptor $WAYMARK_READY_FD receives the byte '+' when the daemon
 * listens, or '!' and a message if the daemon has failed (`failure` is not NULL). wmk_sd_notify() closes the descriptor
 * after it has written to the descriptor. $NOTIFY_SOCKET (systemd) receives `state`, "READY=1" or "STOPPING=1".
 * wmk_sessiond_rundir_starter() removes the variables from the environment, so that child processes do not use them.
 * Call wmk_sessiond_rundir_starter() before any thread starts.
 */
struct wmk_sessiond_rundir_starter {
	int ready;                       /* -1: none */
	char notify[108];                /* "": none */
};
void wmk_sessiond_rundir_starter(struct wmk_sessiond_rundir_starter *starter);
void wmk_sd_notify(struct wmk_sessiond_rundir_starter *starter, const char *state, const char *failure);

#endif
