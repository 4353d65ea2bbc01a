/* SPDX-License-Identifier: MIT */
/*
 * shard.c - the event loop of a shard, and the begin and end of applications (see shard.h, app.h).
 */
#include "session/apps/app.h"
#include "session/apps/app_accept.h"
#include "session/apps/app_barrier.h"
#include "session/apps/app_conn.h"
#include "session/apps/app_end.h"
#include "session/apps/app_reconcile.h"
#include "session/apps/app_registry.h"
#include "session/apps/deferred_close.h"
#include "session/apps/shard_watch.h"

#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77              /* Linux 6.5; the pidfd of the process that connected */
#endif
#define EVENTS_AT_ONCE 64
#define CONNS_AT_ONCE 16
/* no memory, or no free descriptor in the system: an immediate retry would spin */
#define SHUT_MS 100

/* ── begin and end of applications ───────────────────────────────────────────────────────────────────── */

/* A pidfd of the connected process; -1: it has ended, or the kernel cannot provide one. */
static int peer_pidfd(int socket, pid_t pid)
{
	int fd = -1;
	socklen_t len = sizeof(fd);

	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &len) == 0)
		return fd;
	if (errno != ENOPROTOOPT)
		return -1;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	/* Still connected: the pid was not reused before the descriptor was opened. */
	struct pollfd pollfd = { .fd = socket, .events = POLLRDHUP };
	if (fd >= 0 && poll(&pollfd, 1, 0) == 1 && (pollfd.revents & (POLLHUP | POLLRDHUP))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void timer_arm(struct wmk_shard *apps)
{
	uint64_t first = apps->shut_until ? apps->shut_until : UINT64_MAX, now = wmk_clock_ms();
	struct itimerspec when = { 0 };

	for (const struct app *app = apps->app; app; app = app->next)
		if (app->state == APP_SILENT && app->deadline < first)
			first = app->deadline;
	if (first != UINT64_MAX) {
		uint64_t left = first > now ? first - now : 1;

		when.it_value.tv_sec = (time_t)(left / 1000);
		when.it_value.tv_nsec = (long)(left % 1000 * 1000000);
	}
	apps->timer_armed = first != UINT64_MAX;
	timerfd_settime(apps->timer, 0, &when, NULL);
}

static void timer_expired(struct wmk_shard *apps)
{
	uint64_t count, now = wmk_clock_ms();

	if (read(apps->timer, &count, sizeof(count)) < 0)
		return;
	for (struct app *app = apps->app; app; app = app->next)
		if (app->state == APP_SILENT && app->deadline <= now)
			wmk_app_close(app, 0);
	if (apps->shut_until && apps->shut_until <= now && wmk_shard_watch_accept(apps) < 0)
		apps->shut_until = now + SHUT_MS;
	timer_arm(apps);
}

static unsigned connections_of(struct wmk_shard *apps, pid_t pid)
{
	unsigned n = 0;

	for (const struct app *app = NULL; (app = wmk_registry_process(apps, pid, app)) != NULL;)
		n += app->socket >= 0;
	return n;
}

static int app_watch(struct app *app)
{
	int err = wmk_shard_watch(app->apps, app->socket, &app->socket_source, true, false);

	if (err == 0 && app->pidfd >= 0)
		err = wmk_shard_watch(app->apps, app->pidfd, &app->pidfd_source, true, false);
	return err;
}

/* True, with the reason in `words`, if a limit on connections is reached. */
static bool is_refused(struct wmk_shard *apps, const struct wmk_app_conn *conn, char *words, size_t size)
{
	const struct wmk_tracing_options *limits = &apps->tracing->options;
	const unsigned max = apps->options.max_apps;

	if (connections_of(apps, conn->cred.pid) >= PER_PID_MAX)
		wmk_error_said(-EMFILE, "too many connections of one process: the limit is %u", PER_PID_MAX);
	else if (conn->too_many)
		wmk_limit_reached(apps->tracing, -EMFILE, "user-programs",
				  "user %u has too many applications connected: one user may have %u, and %u while "
				  "three quarters of all %u places are taken",
				  (unsigned)conn->cred.uid, limits->max_user_apps, WMK_ACCEPT_RESERVED,
				  limits->max_apps);
	else if (apps->n_apps >= max)
		wmk_limit_reached(apps->tracing, -EMFILE, "programs", "too many applications: the limit is %u",
				  max);
	else
		return false;
	wmk_error_text(words, size);
	wmk_error_clear();
	return true;
}

static void app_new(struct wmk_shard *apps, const struct wmk_app_conn *conn)
{
	struct app *app = calloc(1, sizeof(*app));
	const pid_t pid = conn->cred.pid;
	char words[256];

	if (!app) {
		wmk_deferred_close_socket(conn->socket, conn->cred.uid);
		if (apps->acceptor)
			wmk_accept_closed(apps->acceptor, pid, conn->cred.uid);
		return;
	}
	app->apps = apps;
	app->acceptor = apps->acceptor;
	app->socket_source = (struct shard_source){ SOURCE_SOCKET, app };
	app->pidfd_source = (struct shard_source){ SOURCE_PIDFD, app };
	app->socket = conn->socket;
	app->in.close_fd = wmk_deferred_close_file;
	app->in.whose = conn->cred.uid;
	app->pid = pid;
	app->uid = conn->cred.uid;
	app->gid = conn->cred.gid;
	app->pidfd = peer_pidfd(conn->socket, pid);
	app->dead = app->pidfd < 0;
	app->deadline = wmk_clock_ms() + apps->options.hello_ms;
	const bool too_many = is_refused(apps, conn, words, sizeof(words));

	wmk_registry_enter(apps, app);
	if (too_many)
		wmk_app_refuse(app, 0, -EMFILE, words);
	else if (app_watch(app) < 0)
		wmk_app_close(app, -ENOMEM);
	else
		wmk_app_readable(app);   /* an application sends its registration at once: it is usually here */
	if (app->state == APP_SILENT && !apps->timer_armed)
		timer_arm(apps);         /* (an armed timer expires earlier than this deadline) */
}

int wmk_shard_watch_accept(struct wmk_shard *apps)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLEXCLUSIVE, .data.ptr = &apps->listen_source };

	apps->shut_until = 0;
	if (epoll_ctl(apps->epoll, EPOLL_CTL_ADD, wmk_accept_fd(apps->acceptor), &event) != 0)
		return wmk_error(-errno, "cannot wait for connections of applications");
	return 0;
}

/* Suspend accepting for SHUT_MS. */
static void accept_suspend(struct wmk_shard *apps)
{
	apps->shut_until = wmk_clock_ms() + SHUT_MS;
	timer_arm(apps);
}

/* Become the last waiter of the listener: the kernel then wakes another shard first. */
static void watch_again(struct wmk_shard *apps)
{
	if (epoll_ctl(apps->epoll, EPOLL_CTL_DEL, wmk_accept_fd(apps->acceptor), NULL) == 0 &&
	    wmk_shard_watch_accept(apps) < 0)
		accept_suspend(apps);
}

/* Accept some connections; epoll reports the remaining ones again, to this shard or another. */
static void conns_accept(struct wmk_shard *apps)
{
	struct wmk_app_conn conn;
	int ret = 1;

	for (unsigned i = 0; i < CONNS_AT_ONCE && ret == 1; i++) {
		ret = wmk_accept_next(apps->acceptor, apps->shard, &conn);
		if (ret == 1)
			app_new(apps, &conn);
	}
	if (ret < 0 && epoll_ctl(apps->epoll, EPOLL_CTL_DEL, wmk_accept_fd(apps->acceptor), NULL) == 0)
		accept_suspend(apps);
	else if (ret >= 0 && wmk_accept_is_ahead(apps->acceptor, apps->shard))
		watch_again(apps);
}

/* ── the loop ────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_shard_run_once(struct wmk_shard *apps, int timeout_ms)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	int n = epoll_wait(apps->epoll, events, EVENTS_AT_ONCE, timeout_ms);

	if (n < 0)
		return errno == EINTR ? 0 : wmk_error(-errno, "cannot wait for applications");
	for (int i = 0; i < n; i++) {
		const struct shard_source *source = events[i].data.ptr;

		switch (source->kind) {
		case SOURCE_LISTEN:
			conns_accept(apps);
			break;
		case SOURCE_TIMER:
			timer_expired(apps);
			break;
		case SOURCE_JOBS:
			wmk_shard_jobs_run(apps);
			break;
		case SOURCE_SOCKET:
			if (source->app->socket >= 0 && (events[i].events & EPOLLOUT))
				wmk_app_flush(source->app);
			if (source->app->socket >= 0 && (events[i].events & ~(unsigned)EPOLLOUT))
				wmk_app_readable(source->app);
			break;
		case SOURCE_PIDFD:
			if (source->app->pidfd >= 0)
				wmk_app_died(source->app);
			break;
		}
	}
	wmk_barriers_check(apps);
	wmk_registry_sweep(apps, false);
	return apps->stop ? -ESHUTDOWN : n;
}

int wmk_shard_fd(const struct wmk_shard *apps)
{
	return apps->epoll;
}

/* ── commands ────────────────────────────────────────────────────────────────────────────────────────── */

void wmk_shard_update(struct wmk_shard *apps, struct wmk_session *session)
{
	for (struct app *app = apps->app; app; app = app->next) {
		wmk_reconcile_app(app, session);
		wmk_app_flush(app);
	}
}

static int count_unanswered(const struct wmk_shard *apps)
{
	int n = 0;

	for (const struct app *app = apps->app; app; app = app->next)
		n += !wmk_app_answers(app, apps->sync);
	return n;
}

int wmk_shard_sync(struct wmk_shard *apps, int timeout_ms)
{
	uint64_t end = wmk_clock_ms() + (timeout_ms > 0 ? (unsigned)timeout_ms : 0), now;
	int left;

	apps->sync++;
	for (struct app *app = apps->app; app; app = app->next)
		if (app->state == APP_ADMITTED)
			wmk_app_ask(app, apps->sync);
	while ((left = count_unanswered(apps)) > 0) {
		now = wmk_clock_ms();
		int err = wmk_shard_run_once(apps, timeout_ms < 0 ? -1 : now < end ? (int)(end - now) : 0);

		if (err < 0)
			return err;
		if (timeout_ms >= 0 && now >= end)
			break;           /* also while applications keep sending */
	}
	return count_unanswered(apps);
}

bool wmk_shard_unanswered(const struct wmk_shard *apps, unsigned i, struct wmk_app_info *info)
{
	for (const struct app *app = apps->app; app; app = app->next)
		if (!wmk_app_answers(app, apps->sync) && i-- == 0) {
			if (app->record)
				*info = app->record->info;
			else
				*info = (struct wmk_app_info){
					.pid = app->pid, .uid = app->uid, .name = "?", .connected = true, .alive = true
				};
			return true;
		}
	return false;
}

/* ── from other threads ──────────────────────────────────────────────────────────────────────────────── */

struct take_job {
	struct wmk_shard_job job;
	struct wmk_app_conn conn;
};

static void take_run(struct wmk_shard *apps, struct wmk_shard_job *job)
{
	struct take_job *take = wmk_container_of(job, struct take_job, job);

	app_new(apps, &take->conn);
	free(take);
}

int wmk_shard_take(struct wmk_shard *apps, const struct wmk_app_conn *conn)
{
	struct take_job *take = malloc(sizeof(*take));

	if (!take) {
		wmk_deferred_close_socket(conn->socket, conn->cred.uid);
		return wmk_error(-ENOMEM, "no memory for a connection");
	}
	take->job.run = take_run;
	take->conn = *conn;
	wmk_shard_post(apps, &take->job);
	return 0;
}

struct listen_job {
	struct wmk_shard_job job;
	struct wmk_accept *acceptor;
	unsigned shard;
};

static void listen_run(struct wmk_shard *apps, struct wmk_shard_job *job)
{
	struct listen_job *listen = wmk_container_of(job, struct listen_job, job);

	apps->acceptor = listen->acceptor;
	apps->shard = listen->shard;
	if (wmk_shard_watch_accept(apps) < 0)
		accept_suspend(apps);
	free(listen);
}

int wmk_shard_listen(struct wmk_shard *apps, struct wmk_accept *acceptor, unsigned shard)
{
	struct listen_job *job = malloc(sizeof(*job));

	if (!job)
		return wmk_error(-ENOMEM, "no memory to accept applications");
	*job = (struct listen_job){ .job.run = listen_run, .acceptor = acceptor, .shard = shard };
	wmk_shard_post(apps, &job->job);
	return 0;
}

static void stop_run(struct wmk_shard *apps, struct wmk_shard_job *job)
{
	apps->stop = true;
	free(job);
}

void wmk_shard_stop(struct wmk_shard *apps)
{
	struct wmk_shard_job *job = malloc(sizeof(*job));

	if (!job)
		abort();                 /* the thread cannot end otherwise */
	job->run = stop_run;
	wmk_shard_post(apps, job);
}

void wmk_shard_stats(const struct wmk_shard *apps, struct wmk_shard_stats *stats)
{
	*stats = apps->stats;
	if (apps->own_acceptor) {            /* (a shared one counts for all shards together) */
		struct wmk_accept_stats acceptor;

		wmk_accept_stats(apps->own_acceptor, &acceptor);
		stats->turned_away = acceptor.turned_away;
		stats->apps_refused += acceptor.turned_away;
	}
	stats->events_seen = atomic_load_explicit(&apps->tracing->events_seen, memory_order_relaxed);
	stats->classes_enabled = atomic_load_explicit(&apps->tracing->classes_enabled, memory_order_relaxed);
}

bool wmk_shard_get(const struct wmk_shard *apps, unsigned i, struct wmk_app_info *info)
{
	if (i >= apps->n_records)
		return false;
	*info = apps->records[i]->info;
	return true;
}
