/* SPDX-License-Identifier: MIT */
/*
 * shard_open.c - open and close a wmk_shard: the runtime directory, its socket, the limits.
 */
#include "session/apps/app.h"
#include "session/apps/app_accept.h"
#include "session/apps/app_barrier.h"
#include "session/apps/app_registry.h"
#include "session/apps/runtime_directory.h"
#include "session/apps/shard_watch.h"
#include "session/model/shard_table.h"

#include "base/error.h"

#include <errno.h>
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

static int options_take(struct wmk_shard *shard, const struct wmk_shard_options *given)
{
	struct wmk_shard_options *o = &shard->options;

	if (given->size != sizeof(*given) || !given->tracing)
		return wmk_error(-EINVAL, "invalid shard options: structure size, or no tracing object");
	*o = *given;
	o->max_apps = o->max_apps ? o->max_apps : 16384;
	o->max_events = o->max_events ? o->max_events : 65536;
	o->max_bytes = o->max_bytes ? o->max_bytes : 64u << 20;
	o->max_queue = o->max_queue ? o->max_queue : 8u << 20;
	o->max_kept = o->max_kept ? o->max_kept : 256u << 20;
	o->hello_ms = o->hello_ms ? o->hello_ms : 5000;
	shard->rundir = given->rundir ? strdup(given->rundir) : NULL;
	shard->records = given->keep ? calloc(RECORDS_MAX, sizeof(struct app_record *)) : NULL;
	if ((given->rundir && !shard->rundir) || (given->keep && !shard->records))
		return wmk_error(-ENOMEM, "no memory for a shard of applications");
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

static int listener_open(struct wmk_shard *shard)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int n = snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", shard->rundir, WMK_APP_SOCKET);

	if (n < 0 || (size_t)n >= sizeof(address.sun_path))
		return wmk_error(-ENAMETOOLONG, "the runtime directory's path %.80s is too long for a socket",
				 shard->rundir);
	shard->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (shard->listener < 0)
		return wmk_error(-errno, "cannot create a socket");
	if (bind(shard->listener, (const struct sockaddr *)&address, sizeof(address)) != 0) {
		if (errno != EADDRINUSE)
			return wmk_error(-errno, "cannot listen on %s", address.sun_path);
		if (is_listening(&address))
			return wmk_error(-EADDRINUSE, "a process listens on %s already", address.sun_path);
		unlinkat(shard->rundir_fd, WMK_APP_SOCKET, 0);
		if (bind(shard->listener, (const struct sockaddr *)&address, sizeof(address)) != 0)
			return wmk_error(-errno, "cannot listen on %s", address.sun_path);
	}
	shard->bound = true;
	if (fchmodat(shard->rundir_fd, WMK_APP_SOCKET, 0600, 0) != 0 || listen(shard->listener, SOMAXCONN) != 0)
		return wmk_error(-errno, "cannot listen on %s", address.sun_path);
	return 0;
}

static int loop_open(struct wmk_shard *shard)
{
	shard->epoll = epoll_create1(EPOLL_CLOEXEC);
	shard->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	shard->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (shard->epoll < 0 || shard->timer < 0 || shard->wake < 0)
		return wmk_error(-errno, "cannot create the descriptors of the event loop");
	shard->listen_source.kind = SOURCE_LISTEN;
	shard->timer_source.kind = SOURCE_TIMER;
	shard->jobs_source.kind = SOURCE_JOBS;
	int err = wmk_shard_watch(shard, shard->timer, &shard->timer_source, true, false);

	return err < 0 ? err : wmk_shard_watch(shard, shard->wake, &shard->jobs_source, true, false);
}

/* Used by a shard that has its own socket. */
static int acceptor_open(struct wmk_shard *shard)
{
	const struct wmk_accept_options options = {
		.size = sizeof(options), .listener = shard->listener, .only = (uid_t)-1, .n_shards = 1
	};
	int err = wmk_accept_open(&options, &shard->own_acceptor);

	shard->acceptor = shard->own_acceptor;
	return err < 0 ? err : wmk_shard_watch_accept(shard);
}

int wmk_shard_open(const struct wmk_shard_options *options, struct wmk_shard **out)
{
	struct wmk_shard *shard = calloc(1, sizeof(*shard));
	int err;

	if (!shard)
		return wmk_error(-ENOMEM, "no memory for a shard of applications");
	shard->rundir_fd = shard->epoll = shard->listener = shard->timer = shard->wake = -1;
	shard->tracing = options->tracing;
	cds_wfcq_init(&shard->jobs_head, &shard->jobs_tail);
	err = options_take(shard, options);
	if (err == 0 && shard->rundir) {
		shard->rundir_fd = wmk_runtime_directory_open(shard->rundir, false, &shard->made_rundir);
		err = shard->rundir_fd < 0 ? shard->rundir_fd : 0;
	}
	if (err == 0 && shard->rundir)
		err = listener_open(shard);
	if (err == 0)
		err = loop_open(shard);
	if (err == 0 && shard->rundir)
		err = acceptor_open(shard);
	if (err == 0)
		err = wmk_tracing_shard_add(shard->tracing, shard);
	if (err < 0) {
		wmk_shard_close(shard);
		return wmk_error_add(err, "cannot accept applications");
	}
	*out = shard;
	return 0;
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* Run the remaining jobs, and report the barriers for which other threads wait. */
static void jobs_end(struct wmk_shard *shard)
{
	if (!shard->tracing || shard->wake < 0)
		return;
	wmk_tracing_shard_remove(shard->tracing, shard);
	wmk_shard_jobs_run(shard);
	wmk_barriers_abandon(shard);
	/* a barrier's check may have been posted meanwhile; no check is posted after all barriers were reported */
	wmk_shard_jobs_run(shard);
}

void wmk_shard_close(struct wmk_shard *shard)
{
	if (!shard)
		return;
	jobs_end(shard);
	wmk_registry_sweep(shard, true);
	wmk_accept_close(shard->own_acceptor);
	close_if_open(shard->epoll);
	close_if_open(shard->listener);
	close_if_open(shard->timer);
	close_if_open(shard->wake);
	if (shard->bound)
		unlinkat(shard->rundir_fd, WMK_APP_SOCKET, 0);
	close_if_open(shard->rundir_fd);
	if (shard->made_rundir)
		rmdir(shard->rundir);
	for (unsigned i = 0; i < shard->n_records; i++)
		free(shard->records[i]);
	free(shard->records);
	free(shard->rundir);
	free(shard);
}
