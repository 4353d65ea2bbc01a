/* SPDX-License-Identifier: MIT */
/*
 * shard_open.c - open and close a wmk_shard: the runtime directory, its socket, the limits.
 */
#include "session/apps/app.h"
#include "session/apps/app_accept.h"
#include "session/apps/app_barrier.h"
#include "session/apps/app_registry.h"
#include "session/apps/shard_watch.h"
#include "session/model/shard_table.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

static int options_take(struct wmk_shard *apps, const struct wmk_shard_options *given)
{
	struct wmk_shard_options *o = &apps->options;

	if (given->size != sizeof(*given) || !given->tracing)
		return wmk_error(-EINVAL, "invalid shard options: structure size, or no tracing object");
	*o = *given;
	o->max_apps = o->max_apps ? o->max_apps : 16384;
	o->max_events = o->max_events ? o->max_events : 65536;
	o->max_bytes = o->max_bytes ? o->max_bytes : 64u << 20;
	o->max_queue = o->max_queue ? o->max_queue : 8u << 20;
	o->max_kept = o->max_kept ? o->max_kept : 256u << 20;
	o->hello_ms = o->hello_ms ? o->hello_ms : 5000;
	apps->rundir = given->rundir ? strdup(given->rundir) : NULL;
	apps->records = given->keep ? calloc(RECORDS_MAX, sizeof(struct app_record *)) : NULL;
	if ((given->rundir && !apps->rundir) || (given->keep && !apps->records))
		return wmk_error(-ENOMEM, "no memory for a shard of applications");
	return 0;
}

/* The directory must be ours and closed to others: another user with write access could replace the socket. */
static int rundir_open(struct wmk_shard *apps)
{
	struct stat st;

	apps->made_rundir = mkdir(apps->rundir, 0700) == 0;
	if (!apps->made_rundir && errno != EEXIST)
		return wmk_error(-errno, "cannot create the runtime directory %s", apps->rundir);
	apps->rundir_fd = open(apps->rundir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (apps->rundir_fd < 0 || fstat(apps->rundir_fd, &st) != 0)
		return wmk_error(-errno, "cannot open the runtime directory %s", apps->rundir);
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return wmk_error(-EACCES,
				 "the runtime directory %s belongs to user %u and has mode %04o: it must be yours, "
				 "with mode 0700",
				 apps->rundir, (unsigned)st.st_uid, (unsigned)st.st_mode & 07777);
	return 0;
}

static bool is_listening(const struct sockaddr_un *address)
{
	int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool answered = probe >= 0 &&
			(connect(probe, (const struct sockaddr *)address, sizeof(*address)) == 0 || errno == EAGAIN);

	if (probe >= 0)
		close(probe);
	return answered;
}

static int listener_open(struct wmk_shard *apps)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int n = snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", apps->rundir, WMK_APP_SOCKET);

	if (n < 0 || (size_t)n >= sizeof(address.sun_path))
		return wmk_error(-ENAMETOOLONG, "the runtime directory's path %.80s is too long for a socket",
				 apps->rundir);
	apps->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (apps->listener < 0)
		return wmk_error(-errno, "cannot create a socket");
	if (bind(apps->listener, (const struct sockaddr *)&address, sizeof(address)) != 0) {
		if (errno != EADDRINUSE)
			return wmk_error(-errno, "cannot listen on %s", address.sun_path);
		if (is_listening(&address))
			return wmk_error(-EADDRINUSE, "a process listens on %s already", address.sun_path);
		unlinkat(apps->rundir_fd, WMK_APP_SOCKET, 0);
		if (bind(apps->listener, (const struct sockaddr *)&address, sizeof(address)) != 0)
			return wmk_error(-errno, "cannot listen on %s", address.sun_path);
	}
	apps->bound = true;
	if (fchmodat(apps->rundir_fd, WMK_APP_SOCKET, 0600, 0) != 0 || listen(apps->listener, SOMAXCONN) != 0)
		return wmk_error(-errno, "cannot listen on %s", address.sun_path);
	return 0;
}

static int loop_open(struct wmk_shard *apps)
{
	apps->epoll = epoll_create1(EPOLL_CLOEXEC);
	apps->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	apps->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (apps->epoll < 0 || apps->timer < 0 || apps->wake < 0)
		return wmk_error(-errno, "cannot create the descriptors of the event loop");
	apps->listen_source.kind = SOURCE_LISTEN;
	apps->timer_source.kind = SOURCE_TIMER;
	apps->jobs_source.kind = SOURCE_JOBS;
	int err = wmk_shard_watch(apps, apps->timer, &apps->timer_source, true, false);

	return err < 0 ? err : wmk_shard_watch(apps, apps->wake, &apps->jobs_source, true, false);
}

/* For a shard with its own socket. */
static int acceptor_open(struct wmk_shard *apps)
{
	const struct wmk_accept_options options = {
		.size = sizeof(options), .listener = apps->listener, .only = (uid_t)-1, .n_shards = 1
	};
	int err = wmk_accept_open(&options, &apps->own_acceptor);

	apps->acceptor = apps->own_acceptor;
	return err < 0 ? err : wmk_shard_watch_accept(apps);
}

int wmk_shard_open(const struct wmk_shard_options *options, struct wmk_shard **out)
{
	struct wmk_shard *apps = calloc(1, sizeof(*apps));
	int err;

	if (!apps)
		return wmk_error(-ENOMEM, "no memory for a shard of applications");
	apps->rundir_fd = apps->epoll = apps->listener = apps->timer = apps->wake = -1;
	apps->tracing = options->tracing;
	cds_wfcq_init(&apps->jobs_head, &apps->jobs_tail);
	err = options_take(apps, options);
	if (err == 0 && apps->rundir)
		err = rundir_open(apps);
	if (err == 0 && apps->rundir)
		err = listener_open(apps);
	if (err == 0)
		err = loop_open(apps);
	if (err == 0 && apps->rundir)
		err = acceptor_open(apps);
	if (err == 0)
		err = wmk_tracing_shard_add(apps->tracing, apps);
	if (err < 0) {
		wmk_shard_close(apps);
		return wmk_error_add(err, "cannot accept applications");
	}
	*out = apps;
	return 0;
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* Complete what other threads wait for. */
static void jobs_end(struct wmk_shard *apps)
{
	if (!apps->tracing || apps->wake < 0)
		return;
	wmk_tracing_shard_remove(apps->tracing, apps);
	wmk_shard_jobs_run(apps);
	wmk_barriers_abandon(apps);
	/* a check of a barrier may have been posted in between; none follows the reports */
	wmk_shard_jobs_run(apps);
}

void wmk_shard_close(struct wmk_shard *apps)
{
	if (!apps)
		return;
	jobs_end(apps);
	wmk_registry_sweep(apps, true);
	wmk_accept_close(apps->own_acceptor);
	close_if_open(apps->epoll);
	close_if_open(apps->listener);
	close_if_open(apps->timer);
	close_if_open(apps->wake);
	if (apps->bound)
		unlinkat(apps->rundir_fd, WMK_APP_SOCKET, 0);
	close_if_open(apps->rundir_fd);
	if (apps->made_rundir)
		rmdir(apps->rundir);
	for (unsigned i = 0; i < apps->n_records; i++)
		free(apps->records[i]);
	free(apps->records);
	free(apps->rundir);
	free(apps);
}
