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

/* Return a pidfd of the connected process; -1: the process has ended, or the kernel cannot provide a pidfd. */
static int peer_pidfd(int socket, pid_t pid)
{
	int fd = -1;
	socklen_t len = sizeof(fd);

	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &len) == 0)
		return fd;
	if (errno != ENOPROTOOPT)
		return -1;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	/* A peer that is still connected keeps its pid, so the pid was not reused before the descriptor was opened. */
	struct pollfd pollfd = { .fd = socket, .events = POLLRDHUP };
	if (fd >= 0 && poll(&pollfd, 1, 0) == 1 && (pollfd.revents & (POLLHUP | POLLRDHUP))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void timer_arm(struct wmk_shard *shard)
{
	uint64_t first = shard->shut_until ? shard->shut_until : UINT64_MAX, now = wmk_clock_ms();
	struct itimerspec when = { 0 };

	for (const struct app *app = shard->app; app; app = app->next)
		if (app->state == APP_SILENT && app->deadline < first)
			first = app->deadline;
	if (first != UINT64_MAX) {
		uint64_t left = first > now ? first - now : 1;

		when.it_value.tv_sec = (time_t)(left / 1000);
		when.it_value.tv_nsec = (long)(left % 1000 * 1000000);
	}
	shard->timer_armed = first != UINT64_MAX;
	timerfd_settime(shard->timer, 0, &when, NULL);
}

static void timer_expired(struct wmk_shard *shard)
{
	uint64_t count, now = wmk_clock_ms();

	if (read(shard->timer, &count, sizeof(count)) < 0)
		return;
	for (struct app *app = shard->app; app; app = app->next)
		if (app->state == APP_SILENT && app->deadline <= now)
			wmk_app_close(app, 0);
	if (shard->shut_until && shard->shut_until <= now && wmk_shard_watch_accept(shard) < 0)
		shard->shut_until = now + SHUT_MS;
	timer_arm(shard);
}

static unsigned connections_of(struct wmk_shard *shard, pid_t pid)
{
	unsigned n = 0;

	for (const struct app *app = NULL; (app = wmk_registry_process(shard, pid, app)) != NULL;)
		n += app->socket >= 0;
	return n;
}

static int app_watch(struct app *app)
{
	int err = wmk_shard_watch(app->shard, app->socket, &app->socket_source, true, false);

	if (err == 0 && app->pidfd >= 0)
		err = wmk_shard_watch(app->shard, app->pidfd, &app->pidfd_source, true, false);
	return err;
}

/* Returns true, and the reason in `words`, if a limit on connections is reached. */
static bool is_refused(struct wmk_shard *shard, const struct wmk_app_conn *conn, char *words, size_t size)
{
	const struct wmk_tracing_options *limits = &shard->tracing->options;
	const unsigned max = shard->options.max_apps;

	if (connections_of(shard, conn->cred.pid) >= PER_PID_MAX)
		wmk_errorx(-EMFILE, "too many connections of one process: the limit is %u", PER_PID_MAX);
	else if (conn->too_many)
		wmk_limit_reached(shard->tracing, -EMFILE, "user-programs",
				  "user %u has too many applications connected: the limit of one user is %u (%u if "
				  "more than three quarters of all %u connections are in use)",
				  (unsigned)conn->cred.uid, limits->max_user_apps, WMK_ACCEPT_RESERVED,
				  limits->max_apps);
	else if (shard->n_apps >= max)
		wmk_limit_reached(shard->tracing, -EMFILE, "programs", "too many applications: the limit is %u",
				  max);
	else
		return false;
	wmk_error_text(words, size);
	wmk_error_clear();
	return true;
}

static void app_new(struct wmk_shard *shard, const struct wmk_app_conn *conn)
{
	struct app *app = calloc(1, sizeof(*app));
	const pid_t pid = conn->cred.pid;
	char words[256];

	if (!app) {
		wmk_deferred_close_socket(conn->socket, conn->cred.uid);
		if (shard->acceptor)
			wmk_accept_closed(shard->acceptor, pid, conn->cred.uid);
		return;
	}
	app->shard = shard;
	app->acceptor = shard->acceptor;
	app->socket_source = (struct shard_source){ SOURCE_SOCKET, app };
	app->pidfd_source = (struct shard_source){ SOURCE_PIDFD, app };
	app->socket = conn->socket;
	app->in.close_fd = wmk_deferred_close_file;
	app->in.sender_uid = conn->cred.uid;
	app->pid = pid;
	app->uid = conn->cred.uid;
	app->gid = conn->cred.gid;
	app->pidfd = peer_pidfd(conn->socket, pid);
	app->dead = app->pidfd < 0;
	app->deadline = wmk_clock_ms() + shard->options.hello_ms;
	const bool too_many = is_refused(shard, conn, words, sizeof(words));

	wmk_registry_enter(shard, app);
	if (too_many)
		wmk_app_refuse(app, 0, -EMFILE, words);
	else if (app_watch(app) < 0)
		wmk_app_close(app, -ENOMEM);
	else
		/* an application sends its registration at once, so the registration has usually arrived already */
		wmk_app_readable(app);
	if (app->state == APP_SILENT && !shard->timer_armed)
		timer_arm(shard);         /* (an armed timer expires earlier than this deadline) */
}

int wmk_shard_watch_accept(struct wmk_shard *shard)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLEXCLUSIVE, .data.ptr = &shard->listen_source };

	shard->shut_until = 0;
	if (epoll_ctl(shard->epoll, EPOLL_CTL_ADD, wmk_accept_fd(shard->acceptor), &event) != 0)
		return wmk_error(-errno, "cannot wait for connections of applications");
	return 0;
}

/* Suspend accepting for SHUT_MS. */
static void accept_suspend(struct wmk_shard *shard)
{
	shard->shut_until = wmk_clock_ms() + SHUT_MS;
	timer_arm(shard);
}

/* Become the last waiter of the listener: the kernel then wakes another shard first. */
static void watch_again(struct wmk_shard *shard)
{
	if (epoll_ctl(shard->epoll, EPOLL_CTL_DEL, wmk_accept_fd(shard->acceptor), NULL) == 0 &&
	    wmk_shard_watch_accept(shard) < 0)
		accept_suspend(shard);
}

/* Accept some connections; epoll reports the remaining connections again, to this shard or another shard. */
static void conns_accept(struct wmk_shard *shard)
{
	struct wmk_app_conn conn;
	int ret = 1;

	for (unsigned i = 0; i < CONNS_AT_ONCE && ret == 1; i++) {
		ret = wmk_accept_next(shard->acceptor, shard->index, &conn);
		if (ret == 1)
			app_new(shard, &conn);
	}
	if (ret < 0 && epoll_ctl(shard->epoll, EPOLL_CTL_DEL, wmk_accept_fd(shard->acceptor), NULL) == 0)
		accept_suspend(shard);
	else if (ret >= 0 && wmk_accept_is_ahead(shard->acceptor, shard->index))
		watch_again(shard);
}

/* ── the loop ────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_shard_run_once(struct wmk_shard *shard, int timeout_ms)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	int n = epoll_wait(shard->epoll, events, EVENTS_AT_ONCE, timeout_ms);

	if (n < 0)
		return errno == EINTR ? 0 : wmk_error(-errno, "cannot wait for applications");
	for (int i = 0; i < n; i++) {
		const struct shard_source *source = events[i].data.ptr;

		switch (source->kind) {
		case SOURCE_LISTEN:
			conns_accept(shard);
			break;
		case SOURCE_TIMER:
			timer_expired(shard);
			break;
		case SOURCE_JOBS:
			wmk_shard_jobs_run(shard);
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
	wmk_barriers_check(shard);
	wmk_registry_sweep(shard, false);
	return shard->stop ? -ESHUTDOWN : n;
}

int wmk_shard_fd(const struct wmk_shard *shard)
{
	return shard->epoll;
}

/* ── commands ────────────────────────────────────────────────────────────────────────────────────────── */

void wmk_shard_update(struct wmk_shard *shard, struct wmk_session *session)
{
	for (struct app *app = shard->app; app; app = app->next) {
		wmk_reconcile_app(app, session);
		wmk_app_flush(app);
	}
}

static int count_unanswered(const struct wmk_shard *shard)
{
	int n = 0;

	for (const struct app *app = shard->app; app; app = app->next)
		n += !wmk_app_answers(app, shard->sync);
	return n;
}

int wmk_shard_sync(struct wmk_shard *shard, int timeout_ms)
{
	uint64_t end = wmk_clock_ms() + (timeout_ms > 0 ? (unsigned)timeout_ms : 0), now;
	int left;

	shard->sync++;
	for (struct app *app = shard->app; app; app = app->next)
		if (app->state == APP_ADMITTED)
			wmk_app_ask(app, shard->sync);
	while ((left = count_unanswered(shard)) > 0) {
		now = wmk_clock_ms();
		int err = wmk_shard_run_once(shard, timeout_ms < 0 ? -1 : now < end ? (int)(end - now) : 0);

		if (err < 0)
			return err;
		if (timeout_ms >= 0 && now >= end)
			break;           /* also while applications keep sending */
	}
	return count_unanswered(shard);
}

bool wmk_shard_unanswered(const struct wmk_shard *shard, unsigned i, struct wmk_app_info *info)
{
	for (const struct app *app = shard->app; app; app = app->next)
		if (!wmk_app_answers(app, shard->sync) && i-- == 0) {
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

static void take_run(struct wmk_shard *shard, struct wmk_shard_job *job)
{
	struct take_job *take = wmk_container_of(job, struct take_job, job);

	app_new(shard, &take->conn);
	free(take);
}

int wmk_shard_take(struct wmk_shard *shard, const struct wmk_app_conn *conn)
{
	struct take_job *take = malloc(sizeof(*take));

	if (!take) {
		wmk_deferred_close_socket(conn->socket, conn->cred.uid);
		return wmk_error(-ENOMEM, "no memory for a connection");
	}
	take->job.run = take_run;
	take->conn = *conn;
	wmk_shard_post(shard, &take->job);
	return 0;
}

struct listen_job {
	struct wmk_shard_job job;
	struct wmk_accept *acceptor;
	unsigned index;
};

static void listen_run(struct wmk_shard *shard, struct wmk_shard_job *job)
{
	struct listen_job *listen = wmk_container_of(job, struct listen_job, job);

	shard->acceptor = listen->acceptor;
	shard->index = listen->index;
	if (wmk_shard_watch_accept(shard) < 0)
		accept_suspend(shard);
	free(listen);
}

int wmk_shard_listen(struct wmk_shard *shard, struct wmk_accept *acceptor, unsigned index)
{
	struct listen_job *job = malloc(sizeof(*job));

	if (!job)
		return wmk_error(-ENOMEM, "no memory to accept applications");
	*job = (struct listen_job){ .job.run = listen_run, .acceptor = acceptor, .index = index };
	wmk_shard_post(shard, &job->job);
	return 0;
}

static void stop_run(struct wmk_shard *shard, struct wmk_shard_job *job)
{
	shard->stop = true;
	free(job);
}

void wmk_shard_stop(struct wmk_shard *shard)
{
	struct wmk_shard_job *job = malloc(sizeof(*job));

	if (!job)
		abort();                 /* the thread cannot end otherwise */
	job->run = stop_run;
	wmk_shard_post(shard, job);
}

void wmk_shard_stats(const struct wmk_shard *shard, struct wmk_shard_stats *stats)
{
	*stats = shard->stats;
	/* (an acceptor that several shards share counts for all of them together) */
	if (shard->own_acceptor) {
		struct wmk_accept_stats acceptor;

		wmk_accept_stats(shard->own_acceptor, &acceptor);
		stats->turned_away = acceptor.turned_away;
		stats->apps_refused += acceptor.turned_away;
	}
	stats->events_seen = atomic_load_explicit(&shard->tracing->events_seen, memory_order_relaxed);
	stats->classes_enabled = atomic_load_explicit(&shard->tracing->classes_enabled, memory_order_relaxed);
}

bool wmk_shard_get(const struct wmk_shard *shard, unsigned i, struct wmk_app_info *info)
{
	if (i >= shard->n_records)
		return false;
	*info = shard->records[i]->info;
	return true;
}
