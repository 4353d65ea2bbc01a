/* SPDX-License-Identifier: MIT */
/*
 * server_rundir.c - the consumer daemon's files in the runtime directory: its lock file with its pid, and its socket.
 */
#include "consumer/server_rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/proc/own_pids.h"

#define LOCK_FILE "consumer.pid"
#define KERNEL_LOCK_FILE "consumer-kernel.pid"
#define COMM "waymark-consume"        /* name of the process, truncated by the kernel */

static int check_rundir(const char *path)
{
	struct stat st;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return wmk_error(-errno, "cannot make the runtime directory %.240s: %s", path, strerror(errno));
	if (lstat(path, &st) < 0)
		return wmk_error(-errno, "cannot stat %.240s", path);
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
		return wmk_error(-EPERM,
				 "runtime directory %.200s: must be a directory of user %u that no other user can "
				 "write to",
				 path, (unsigned)geteuid());
	return 0;
}

unsigned wmk_server_own_pids(void *data, pid_t *pids)
{
	const struct wmk_consumer_server *server = data;
	char path[sizeof(server->socket_path)];
	unsigned n = 0;

	pids[n++] = getpid();
	/* relaxed: no other data depends on this number */
	pids[n] = atomic_load_explicit(&server->daemon, memory_order_relaxed);
	n += pids[n] > 0;
	if (!server->options.rundir)
		return n;
	snprintf(path, sizeof(path), "%s/%s", server->options.rundir,
		 server->options.kernel ? LOCK_FILE : KERNEL_LOCK_FILE);
	pids[n] = wmk_kown_of_file(path, COMM);
	return n + (pids[n] > 0);
}

/* The process holds the lock until the process ends. */
static int lock_rundir(struct wmk_consumer_server *server)
{
	char path[sizeof(server->socket_path)], number[16];
	int len;

	snprintf(path, sizeof(path), "%s/%s", server->options.rundir,
		 server->options.kernel ? KERNEL_LOCK_FILE : LOCK_FILE);
	server->lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (server->lock < 0)
		return wmk_error(-errno, "cannot open %.240s: %s", path, strerror(errno));
	if (flock(server->lock, LOCK_EX | LOCK_NB) < 0)
		return wmk_error(errno == EWOULDBLOCK ? -EADDRINUSE : -errno,
				 "another waymark-consumerd runs in %.240s", server->options.rundir);
	len = snprintf(number, sizeof(number), "%d\n", (int)getpid());
	if (ftruncate(server->lock, 0) < 0 || pwrite(server->lock, number, (size_t)len, 0) != len)
		return wmk_error(-EIO, "cannot write %.240s", path);
	return 0;
}

static int listen_on_socket(struct wmk_consumer_server *server)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	mode_t before;
	int rc;

	memcpy(address.sun_path, server->socket_path, sizeof(server->socket_path));
	server->listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (server->listening < 0)
		return wmk_error(-errno, "no socket");
	/* This process has the lock, so the process that created the socket has ended. Remove the old socket. */
	unlink(address.sun_path);
	before = umask(0177);
	rc = bind(server->listening, (const struct sockaddr *)&address, sizeof(address));
	umask(before);
	if (rc < 0 || listen(server->listening, 8) < 0)
		return wmk_error(-errno, "cannot listen on %.240s: %s", address.sun_path, strerror(errno));
	return 0;
}

int wmk_server_rundir_open(struct wmk_consumer_server *server)
{
	const char *rundir = server->options.rundir;
	int len, err;

	if (!rundir)
		return 0;
	len = snprintf(server->socket_path, sizeof(server->socket_path), "%s/%s", rundir,
		       server->options.kernel ? WMK_CONSUMERD_KERNEL_SOCKET : WMK_CONSUMERD_SOCKET);
	if (rundir[0] != '/' || len >= (int)sizeof(server->socket_path))
		return wmk_error(-EINVAL, "runtime directory %.200s: must be an absolute path of at most %zu bytes",
				 rundir, sizeof(server->socket_path) - sizeof("/" WMK_CONSUMERD_KERNEL_SOCKET));
	err = check_rundir(rundir);
	if (err >= 0)
		err = lock_rundir(server);
	return err < 0 ? err : listen_on_socket(server);
}
