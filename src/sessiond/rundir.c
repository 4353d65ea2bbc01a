/* SPDX-License-Identifier: MIT */
/*
 * rundir.c - the runtime directory of a session daemon (see rundir.h).
 *
 * The daemon takes the lock before it opens the sockets. The daemon replaces existing sockets without a check, because
 * no daemon without the lock accepts connections on these sockets. When a daemon is killed, the kernel releases its
 * lock before it closes its sockets.
 */
#include "sessiond/rundir.h"

#include "base/error.h"
#include "session/apps/deferred_close.h"
#include "session/apps/runtime_directory.h"
#include "wire/ctl.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define LOCK_TRIES 16
#define LOCK_WAIT_MS 5000            /* for a daemon that starts or ends */
#define LOCK_INHERITED_MS 15000         /* for a session daemon that this daemon has terminated */
#define LOCK_PAUSE_MS 10

static const char *const socket_names[WMK_SESSIOND_SOCKETS] = { WMK_APP_SOCKET, WMK_CTL_SOCKET };

static int dir_open(struct wmk_sessiond_rundir *place)
{
	place->dir = wmk_runtime_directory_open(place->path, place->for_all_users, &place->made_dir);
	if (place->dir >= 0 && place->made_dir && place->for_all_users && fchmod(place->dir, 0755) != 0)
		return wmk_error(-errno, "cannot set mode 0755 of the runtime directory %s", place->path);
	return place->dir < 0 ? place->dir : 0;
}

/* ── the lock ────────────────────────────────────────────────────────────────────────────────────────── */

static long holder_of(int fd)
{
	char text[24] = "";
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	return n > 0 ? strtol(text, NULL, 10) : 0;
}

static int lock_refused(const struct wmk_sessiond_rundir *place, int fd)
{
	const long pid = holder_of(fd);

	if (pid > 0)
		return wmk_errorx(-EBUSY, "a session daemon of this user runs in %s already: process %ld",
				  place->path, pid);
	return wmk_errorx(-EBUSY, "a session daemon of this user is starting in %s", place->path);
}

/*
 * True if the daemon that holds the lock accepts commands. False means that the daemon that holds the lock is starting
 * or ending.
 */
static bool is_listening(const struct wmk_sessiond_rundir *place)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int n = snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", place->path,
			 socket_names[WMK_SESSIOND_CTL]);
	int fd = n > 0 && (size_t)n < sizeof(address.sun_path)
			 ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)
			 : -1;

	if (fd < 0)
		return true;
	bool listens = connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ||
		       (errno != ENOENT && errno != ECONNREFUSED);
	close(fd);
	return listens;
}

/*
 * True if the process that the lock file names is running. A session daemon may be killed while it starts a consumer
 * daemon. The child process of the killed session daemon may hold the lock and the sockets until it calls execve(), but
 * it does not accept connections. The child process calls execve() soon, which releases the lock and the sockets.
 */
static bool holder_runs(int fd)
{
	const long pid = holder_of(fd);
	int process = pid > 0 ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1;
	struct pollfd ended = { .fd = process, .events = POLLIN };

	if (process < 0)
		return pid <= 0 || errno != ESRCH;
	const bool runs = poll(&ended, 1, 0) == 0;      /* a zombie has ended */
	close(process);
	return runs;
}

/* Terminate the process that the lock file names, if the process is a session daemon. */
static bool holder_ends(int fd)
{
	const long pid = holder_of(fd);
	char path[40], name[16] = "", ours[16] = "";
	int comm = -1;

	snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
	if (pid > 0)
		comm = open(path, O_RDONLY | O_CLOEXEC);
	const bool known = comm >= 0 && read(comm, name, sizeof(name) - 1) > 0;
	if (comm >= 0)
		close(comm);
	name[strcspn(name, "\n")] = '\0';
	return known && prctl(PR_GET_NAME, ours) == 0 && strcmp(name, ours) == 0 && kill((pid_t)pid, SIGTERM) == 0;
}

/* Returns 0, or returns -1 and sets errno, as fcntl() does. */
static int lock_wait(const struct wmk_sessiond_rundir *place, int fd)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_MS * 1000000 };
	const int most = place->inherited ? LOCK_INHERITED_MS : LOCK_WAIT_MS;
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	bool terminated = false;
	int rc = -1;

	for (int ms = 0;
	     (rc = fcntl(fd, F_OFD_SETLK, &whole)) != 0 && (errno == EAGAIN || errno == EACCES) && ms < most;
	     ms += LOCK_PAUSE_MS) {
		if (place->inherited) {
			/* (the file may not contain a pid yet) */
			terminated = terminated || holder_ends(fd);
		} else if (is_listening(place) && holder_runs(fd)) {
			errno = EAGAIN;
			break;
		}
		nanosleep(&pause, NULL);
	}
	return rc;
}

/* 1: locked; 0: the owner removed the file before it was locked, try again; -errno. */
static int lock_try(struct wmk_sessiond_rundir *place)
{
	struct stat st, there;
	int fd =
		openat(place->dir, WMK_SESSIOND_PID_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

	if (fd < 0 || fstat(fd, &st) != 0) {
		int err = wmk_error(-errno, "cannot open %s/%s", place->path, WMK_SESSIOND_PID_FILE);

		if (fd >= 0)
			close(fd);
		return err;
	}
	int err = 0;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink > 1)
		err = wmk_errorx(-EACCES, "%s/%s is not a regular file of yours: remove it", place->path,
				 WMK_SESSIOND_PID_FILE);
	else if (lock_wait(place, fd) != 0)
		err = errno == EAGAIN || errno == EACCES
			      ? lock_refused(place, fd)
			      : wmk_error(-errno, "cannot lock %s/%s", place->path, WMK_SESSIOND_PID_FILE);
	if (err == 0 && fstatat(place->dir, WMK_SESSIOND_PID_FILE, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	    there.st_ino == st.st_ino && there.st_dev == st.st_dev) {
		place->lock = fd;
		return 1;
	}
	close(fd);
	return err;
}

static int lock_take(struct wmk_sessiond_rundir *place)
{
	char text[24];
	int err = 0;

	for (int i = 0; i < LOCK_TRIES && err == 0; i++)
		err = lock_try(place);
	if (err == 0)
		err = wmk_errorx(-EBUSY, "cannot lock %s/%s: other processes keep removing it", place->path,
				 WMK_SESSIOND_PID_FILE);
	if (err < 0)
		return err;
	int n = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
	if (fchmod(place->lock, 0600) != 0 || ftruncate(place->lock, 0) != 0 ||
	    pwrite(place->lock, text, (size_t)n, 0) != n)
		return wmk_error(-errno, "cannot write %s/%s", place->path, WMK_SESSIOND_PID_FILE);
	return 0;
}

/* ── the sockets ─────────────────────────────────────────────────────────────────────────────────────── */

/* -1: no such group. */
static gid_t control_group(void)
{
	struct group group, *found = NULL;
	char buf[16384];

	return getgrnam_r(WMK_SESSIOND_GROUP, &group, buf, sizeof(buf), &found) == 0 && found ? found->gr_gid
											      : (gid_t)-1;
}

/* Called between bind() and listen(), so that no process can connect before the mode is set. */
static int socket_modes(const struct wmk_sessiond_rundir *place, enum wmk_sessiond_socket which)
{
	const char *name = socket_names[which];
	gid_t group = which == WMK_SESSIOND_CTL && place->for_all_users ? control_group() : (gid_t)-1;
	mode_t mode = 0600;

	if (which == WMK_SESSIOND_APP && place->for_all_users)
		mode = 0666;
	if (group != (gid_t)-1) {
		/* EINVAL means that the group has no id in this user namespace, so the group has no members here. */
		if (fchownat(place->dir, name, (uid_t)-1, group, AT_SYMLINK_NOFOLLOW) == 0)
			mode = 0660;
		else if (errno != EINVAL)
			return wmk_error(-errno, "cannot give %s/%s to the group %s", place->path, name,
					 WMK_SESSIOND_GROUP);
	}
	if (fchmodat(place->dir, name, mode, 0) != 0)
		return wmk_error(-errno, "cannot set the mode of %s/%s", place->path, name);
	return 0;
}

static int socket_open(struct wmk_sessiond_rundir *place, enum wmk_sessiond_socket which)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int n = snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", place->path, socket_names[which]);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	place->sockets[which] = fd;
	if (fd < 0)
		return wmk_error(-errno, "cannot create a socket");
	if (n < 0 || (size_t)n >= sizeof(address.sun_path))
		return wmk_error(-ENAMETOOLONG, "the runtime directory's path %.80s is too long for a socket",
				 place->path);
	unlinkat(place->dir, socket_names[which], 0);
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		return wmk_error(-errno, "cannot listen on %s", address.sun_path);
	struct stat st;
	if (fstatat(place->dir, socket_names[which], &st, AT_SYMLINK_NOFOLLOW) == 0)
		place->made[which] = st.st_ino;
	int err = socket_modes(place, which);
	if (err == 0 && listen(fd, SOMAXCONN) != 0)
		err = wmk_error(-errno, "cannot listen on %s", address.sun_path);
	return err;
}

int wmk_sessiond_rundir_open(const char *rundir, const int inherited[WMK_SESSIOND_SOCKETS],
			     struct wmk_sessiond_rundir *place)
{
	size_t len = strlen(rundir);

	memset(place, 0, sizeof(*place));
	place->dir = place->lock = -1;
	for (unsigned i = 0; i < WMK_SESSIOND_SOCKETS; i++)
		place->sockets[i] = inherited[i];
	place->inherited = inherited[WMK_SESSIOND_APP] >= 0 || inherited[WMK_SESSIOND_CTL] >= 0;
	place->for_all_users = geteuid() == 0;
	int err = 0;
	if (len >= sizeof(place->path))
		err = wmk_error(-ENAMETOOLONG, "the runtime directory's path %.80s is too long", rundir);
	else
		memcpy(place->path, rundir, len + 1);
	if (err == 0)
		err = dir_open(place);
	if (err == 0)
		err = lock_take(place);
	for (unsigned i = 0; i < WMK_SESSIOND_SOCKETS && err == 0; i++)
		if (place->sockets[i] < 0)
			err = socket_open(place, i);
	if (err < 0)
		wmk_sessiond_rundir_close(place);
	return err;
}

void wmk_sessiond_rundir_hide(struct wmk_sessiond_rundir *place)
{
	struct stat st;

	for (unsigned i = 0; i < WMK_SESSIOND_SOCKETS; i++) {
		if (place->made[i] && fstatat(place->dir, socket_names[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    st.st_ino == place->made[i])
			unlinkat(place->dir, socket_names[i], 0);
		place->made[i] = 0;
	}
}

void wmk_sessiond_rundir_close(struct wmk_sessiond_rundir *place)
{
	wmk_sessiond_rundir_hide(place);
	if (place->lock >= 0) {
		/* unlink while the lock is held: a process that waits for the lock then checks the file again */
		unlinkat(place->dir, WMK_SESSIOND_PID_FILE, 0);
		close(place->lock);
	}
	/*
	 * Close the sockets after releasing the lock, because the close discards the data of pending connections and so
	 * may block (deferred_close.h).
	 */
	for (unsigned i = 0; i < WMK_SESSIOND_SOCKETS; i++) {
		if (place->sockets[i] >= 0)
			wmk_deferred_close_file(place->sockets[i], (unsigned)-1);
		place->sockets[i] = -1;
	}
	if (place->dir >= 0)
		close(place->dir);
	if (place->made_dir)
		rmdir(place->path);
	place->lock = place->dir = -1;
	place->made_dir = false;
}
