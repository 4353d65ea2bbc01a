/* SPDX-License-Identifier: MIT */
/*
 * consumer_link_start.c - connect to a running waymark-consumerd, or start one (see consumer_link_request.h).
 */
#include "sessiond/consumer_link_request.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"

#define CONNECTION_FD 3

static void watch(struct wmk_consumer_link *link, pid_t pid)
{
	if (link->pidfd >= 0)
		close(link->pidfd);
	link->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
}

pid_t wmk_link_connect(struct wmk_consumer_link *link)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct ucred peer;
	socklen_t len = sizeof(peer);
	int err;

	if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", link->rundir,
			     link->options.kernel ? WMK_CONSUMERD_KERNEL_SOCKET : WMK_CONSUMERD_SOCKET) >=
	    sizeof(address.sun_path))
		return wmk_error(-ENAMETOOLONG, "%.240s is too long for a socket's path", link->rundir);
	link->sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (link->sock < 0)
		return wmk_error(-errno, "no socket: %s", strerror(errno));
	if (connect(link->sock, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
	    getsockopt(link->sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0) {
		/*
		 * The process that listens on the socket receives the rings of all applications, so it must run as the
		 * daemon's user.
		 */
		if (peer.uid == geteuid()) {
			watch(link, peer.pid);
			return peer.pid;
		}
		errno = EPERM;
	}
	err = wmk_error(-errno, "cannot connect to %.240s: %s", address.sun_path, strerror(errno));
	close(link->sock);
	link->sock = -1;
	return err;
}

/* 0 or a positive errno. */
static int spawn(struct wmk_consumer_link *link, int connection, pid_t *child)
{
	char number[12], reserve[40], rundir[] = "--rundir", there[] = "--connection", kernel[] = "--kernel",
				      keep[] = "--keep", *more[4] = { NULL };
	unsigned n = 0;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int err;

	snprintf(number, sizeof(number), "%d", CONNECTION_FD);
	snprintf(reserve, sizeof(reserve), "--disk-reserve=%llu", (unsigned long long)link->options.keep_free);
	if (link->options.kernel)
		more[n++] = kernel;
	if (link->options.keep_free)
		more[n++] = reserve;
	if (link->options.keep)
		more[n++] = keep;
	char *const argv[] = { link->program, rundir, link->rundir, there, number, more[0], more[1], more[2], NULL };
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attr);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, connection, CONNECTION_FD);
	/*
	 * The consumer daemon is started in its own process session, so that signals to the session daemon's process
	 * group do not reach it.
	 */
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	err = posix_spawn(child, link->program, &files, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return err;
}

struct spawning {
	struct wmk_consumer_link *link;
	int connection, err;
};

/*
 * Start the consumer daemon from a thread that has its own descriptor table. A child process gets a copy of the
 * descriptor table, and this table contains descriptors that applications have sent. execve() closes the copies. Each
 * close() of a descriptor of a FUSE file waits for the FUSE server, even if the file is still open in another table.
 * The FUSE server may never reply (fuse_flush()). The thread therefore unshares its descriptor table, and closes all
 * descriptors except stdin, stdout and stderr. After unsharing the table, the thread copies the connection from the
 * shared descriptor table with pidfd_getfd(). If the kernel lacks pidfd_getfd() or close_range() (before Linux 5.9),
 * the child process gets a copy of every descriptor.
 */
static void *spawn_apart(void *data)
{
	struct spawning *s = data;
	const int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	int connection = self >= 0 ? (int)syscall(SYS_pidfd_getfd, self, s->connection, 0) : -1;

	if (connection >= 0)
		close(connection);
	if (self >= 0)
		close(self);
	if (connection < 0 || syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, CLOSE_RANGE_UNSHARE) != 0) {
		s->err = spawn(s->link, s->connection, &s->link->child);
		return NULL;
	}
	/* (the descriptors below are closed with the table, when this thread ends) */
	const int again = (int)syscall(SYS_pidfd_open, getpid(), 0);

	connection = again >= 0 ? (int)syscall(SYS_pidfd_getfd, again, s->connection, 0) : -1;
	s->err = connection < 0 ? errno : spawn(s->link, connection, &s->link->child);
	return NULL;
}

static int spawn_one(struct wmk_consumer_link *link, int connection)
{
	struct spawning s = { link, connection, 0 };
	pthread_t thread;
	int err = pthread_create(&thread, NULL, spawn_apart, &s);

	if (err)
		return wmk_error(-err, "cannot create a thread to start %.120s", link->program);
	pthread_join(thread, NULL);
	return s.err ? wmk_error(-s.err, "cannot start %.120s: %s", link->program, strerror(s.err)) : 0;
}

pid_t wmk_link_start(struct wmk_consumer_link *link)
{
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return wmk_error(-errno, "no sockets: %s", strerror(errno));
	err = spawn_one(link, pair[1]);
	close(pair[1]);
	if (err < 0) {
		link->child = 0;
		close(pair[0]);
		return err;
	}
	link->sock = pair[0];
	watch(link, link->child);
	return link->child;
}
