/* SPDX-License-Identifier: MIT */
/* world.c - see world.h: the trace output, the shards and their threads, commands. */
#include "session/t/world.h"

#include "session/apps/app.h"
#include "session/apps/app_accept.h"
#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"

/* ── trace output ────────────────────────────────────────────────────────────────────────────────────── */

static int trace_open(void *data, const struct wmk_trace_info *info, void **out)
{
	struct world *w = data;
	struct world_trace *trace = calloc(1, sizeof(*trace));

	if (!trace)
		abort();
	trace->world = w;
	trace->restored = info->restored;
	snprintf(trace->session, sizeof(trace->session), "%s", info->session);
	snprintf(trace->sub, sizeof(trace->sub), "%s", info->sub);
	memcpy(trace->uuid, info->uuid, sizeof(trace->uuid));
	pthread_mutex_lock(&w->lock);
	for (const struct world_trace *old = w->traces; old && !info->restored; old = old->next)
		if (strncmp(info->sub, "ust/pid", 7) == 0 && strcmp(old->session, info->session) == 0 &&
		    strcmp(old->sub, info->sub) == 0) {
			pthread_mutex_unlock(&w->lock);
			free(trace);
			return wmk_error(-EEXIST, "there is a trace %s", info->sub);
		}
	trace->next = w->traces;
	w->traces = trace;
	w->traces_open++;
	pthread_mutex_unlock(&w->lock);
	*out = trace;
	return 0;
}

static int metadata(void *data, const char *text, size_t len)
{
	struct world_trace *trace = data;

	(void)text;
	trace->metadata_len += len;
	return 0;
}

static int rings_open(void *data, const struct wmk_rings_info *info, struct waymark_ring_set *set, void **out)
{
	struct world_trace *trace = data;
	struct world *w = trace->world;
	struct world_rings *rings = calloc(1, sizeof(*rings));
	struct stat st;

	if (!rings)
		abort();
	rings->world = w;
	rings->trace = trace;
	rings->id = info->id;
	rings->restored = info->restored;
	rings->set_fd = dup(waymark_ring_set_fd(set));
	rings->inode = fstat(rings->set_fd, &st) == 0 ? (uint64_t)st.st_ino : 0;
	snprintf(rings->channel, sizeof(rings->channel), "%s", info->channel);
	pthread_mutex_lock(&w->lock);
	int refuse = w->refuse;

	if (refuse == 0) {
		rings->next = w->rings;
		w->rings = rings;
		w->rings_open++;
	}
	pthread_mutex_unlock(&w->lock);
	*out = rings;
	if (refuse) {
		close(rings->set_fd);
		free(rings);
	}
	return refuse ? wmk_error(refuse, "the output refuses") : 0;
}

void world_disk(struct world *w, bool hangs)
{
	pthread_mutex_lock(&w->lock);
	w->disk_hangs = hangs;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

static void at_disk(struct world *w)
{
	pthread_mutex_lock(&w->lock);
	w->at_disk++;
	pthread_cond_broadcast(&w->changed);
	while (w->disk_hangs)
		pthread_cond_wait(&w->changed, &w->lock);
	w->at_disk--;
	pthread_mutex_unlock(&w->lock);
}

/* The disk hangs longer than the timeout: each thread that waits gets -ETIMEDOUT. */
static int in_time(struct world *w, bool wait)
{
	if (!w->silent)
		return 0;
	w->waited += wait;
	w->asked++;
	return wmk_error(-ETIMEDOUT, "the disk does not answer");
}

static int rings_flush(void *data, bool wait)
{
	struct world_rings *rings = data;

	at_disk(rings->world);
	rings->flushed++;
	return in_time(rings->world, wait);
}

static int rings_stop(void *data, bool wait)
{
	struct world_rings *rings = data;

	at_disk(rings->world);
	rings->stopped = true;
	return in_time(rings->world, wait);
}

static int rings_clear(void *data, bool wait)
{
	struct world_rings *rings = data;

	at_disk(rings->world);
	rings->cleared++;
	return in_time(rings->world, wait);
}

/* Ten records for each. */
static int rings_counts(void *data, struct wmk_counts *counts, struct wmk_counts *earlier)
{
	struct world_rings *rings = data;

	(void)earlier;
	at_disk(rings->world);
	rings->world->counted++;
	counts->records += 10;
	counts->lost += 1;
	return strcmp(rings->channel, rings->world->uncounted) == 0 ? rings->world->uncounted_err : 0;
}

static void rings_wake(void *data)
{
	((struct world_rings *)data)->pokes++;
}

static void rings_close(void *data)
{
	struct world_rings *rings = data;
	struct world *w = rings->world;

	pthread_mutex_lock(&w->lock);
	if (!rings->stopped || rings->closed || rings->trace->closed)
		abort();
	rings->closed = true;
	close(rings->set_fd);
	w->rings_open--;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

static void trace_close(void *data)
{
	struct world_trace *trace = data;
	struct world *w = trace->world;

	pthread_mutex_lock(&w->lock);
	if (trace->closed)
		abort();
	trace->closed = true;
	w->traces_open--;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

static const struct wmk_consumer_port_ops consumer_ops = {
	.trace_open = trace_open,
	.metadata = metadata,
	.rings_open = rings_open,
	.rings_flush = rings_flush,
	.rings_stop = rings_stop,
	.rings_clear = rings_clear,
	.rings_counts = rings_counts,
	.rings_wake = rings_wake,
	.rings_close = rings_close,
	.trace_close = trace_close,
};

static int on_id(void *data, struct wmk_session *session, uint64_t rings_id, uint32_t id,
		 const struct wmk_event_class *event)
{
	struct world *w = data;

	(void)session, (void)rings_id, (void)id, (void)event;
	pthread_mutex_lock(&w->lock);
	w->ids_given++;
	pthread_mutex_unlock(&w->lock);
	return 0;
}

static void on_ended(void *data, struct wmk_session *session)
{
	struct world *w = data;

	(void)session;
	pthread_mutex_lock(&w->lock);
	w->ended++;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

static void on_app(void *data, const struct wmk_app_info *info)
{
	struct world *w = data;

	pthread_mutex_lock(&w->lock);
	w->apps_gone += !info->alive && !info->connected;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

struct world_rings *world_rings(struct world *w, const char *session, const char *channel, const char *sub)
{
	struct world_rings *rings;

	pthread_mutex_lock(&w->lock);
	for (rings = w->rings; rings; rings = rings->next)
		if (strcmp(rings->trace->session, session) == 0 && strcmp(rings->channel, channel) == 0 &&
		    strstr(rings->trace->sub, sub))
			break;
	pthread_mutex_unlock(&w->lock);
	return rings;
}

void world_wait(struct world *w, const _Atomic unsigned *counter, unsigned value)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 10;
	pthread_mutex_lock(&w->lock);
	while (*counter != value)
		if (pthread_cond_timedwait(&w->changed, &w->lock, &end) != 0) {
			unsigned is = *counter;

			pthread_mutex_unlock(&w->lock);
			fail_msg("%u instead of %u in 10 s", is, value);
		}
	pthread_mutex_unlock(&w->lock);
}

/* ── shards ──────────────────────────────────────────────────────────────────────────────────────────── */

static void *shard_run(void *data)
{
	struct wmk_shard *apps = data;

	wmk_tracing_thread_begin();
	while (wmk_shard_run_once(apps, -1) >= 0)
		;
	wmk_tracing_thread_end();
	return NULL;
}

static void accepted(struct world *w, int socket)
{
	struct wmk_app_conn conn = { .socket = socket };
	socklen_t len = sizeof(conn.cred);

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &conn.cred, &len) != 0)
		abort();
	pthread_mutex_lock(&w->lock);
	struct wmk_shard *apps = w->shards[(unsigned)conn.cred.pid % w->n_shards];

	if (apps)
		wmk_shard_take(apps, &conn);
	else
		close(socket);
	pthread_mutex_unlock(&w->lock);
}

static void *acceptor_run(void *data)
{
	struct world *w = data;
	struct pollfd fds[2] = { { .fd = w->listener, .events = POLLIN }, { .fd = w->stop[0], .events = POLLIN } };

	while (poll(fds, 2, -1) > 0 && !fds[1].revents) {
		int socket = accept4(w->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (socket >= 0)
			accepted(w, socket);
	}
	return NULL;
}

void world_prepare(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->clocks.of[WMK_CLOCK_MONOTONIC] = (struct wmk_clock){
		.kind = WMK_CLOCK_MONOTONIC, .freq = 1000000000, .name = "monotonic" };
	w->options = (struct wmk_tracing_options){
		.size = sizeof(w->options), .consumer = &consumer_ops, .consumer_data = w, .clocks = &w->clocks,
		.on_id = on_id,
		.on_ended = on_ended, .data = w,
	};
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	strcpy(w->rundir, "/tmp/waymark-test-XXXXXX");
	assert_non_null(mkdtemp(w->rundir));
	strcpy(proc_at(0)->rundir, w->rundir);
}

static void listen_here(struct world *w)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", w->rundir, WMK_APP_SOCKET);
	w->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(w->listener >= 0);
	assert_int_equal(bind(w->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(w->listener, 100), 0);
	assert_int_equal(pipe2(w->stop, O_CLOEXEC), 0);
}

/* A failed test leaves its world open, so the thread registers once. */
static bool registered;

void world_open(struct world *w, unsigned n_shards)
{
	if (!registered)
		wmk_tracing_thread_begin();
	registered = true;
	assert_int_equal(wmk_tracing_open(&w->options, &w->tracing), 0);
	wmk_reattach_init(w->tracing);
	w->n_shards = n_shards;
	for (unsigned i = 0; i < n_shards; i++) {
		const struct wmk_shard_options options = {
			.size = sizeof(options), .tracing = w->tracing, .on_app = on_app, .data = w,
		};

		assert_int_equal(wmk_shard_open(&options, &w->shards[i]), 0);
		assert_int_equal(pthread_create(&w->threads[i], NULL, shard_run, w->shards[i]), 0);
	}
	listen_here(w);
	assert_int_equal(pthread_create(&w->acceptor, NULL, acceptor_run, w), 0);
}

void world_shard_close(struct world *w, unsigned i)
{
	struct wmk_shard *apps;

	pthread_mutex_lock(&w->lock);
	apps = w->shards[i];
	w->shards[i] = NULL;
	pthread_mutex_unlock(&w->lock);
	if (!apps)
		return;
	wmk_shard_stop(apps);
	pthread_join(w->threads[i], NULL);
	wmk_shard_close(apps);
}

void world_close(struct world *w)
{
	char path[128];

	assert_int_equal(write(w->stop[1], "x", 1), 1);
	pthread_join(w->acceptor, NULL);
	for (unsigned i = 0; i < w->n_shards; i++)
		world_shard_close(w, i);
	wmk_tracing_close(w->tracing);
	wmk_tracing_thread_end();
	registered = false;
	close(w->listener);
	close(w->stop[0]);
	close(w->stop[1]);
	snprintf(path, sizeof(path), "%s/%s", w->rundir, WMK_APP_SOCKET);
	unlink(path);
	assert_int_equal(rmdir(w->rundir), 0);
	assert_int_equal(w->rings_open, 0);
	assert_int_equal(w->traces_open, 0);
	for (struct world_rings *rings = w->rings, *next; rings; rings = next) {
		next = rings->next;
		free(rings);
	}
	for (struct world_trace *trace = w->traces, *next; trace; trace = next) {
		next = trace->next;
		free(trace);
	}
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->changed);
}

/* ── commands ────────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_session *world_session(struct world *w, const char *name)
{
	char path[80];
	const struct wmk_session_options options = { .name = name, .path = path, .uid = getuid(), .gid = getgid(),
						     .settings.no_statedump = true };
	struct wmk_session *session;

	snprintf(path, sizeof(path), "/nowhere/%s", name);
	if (wmk_session_create(w->tracing, &options, &session) != 0)
		fail_msg("%s", wmk_error_get(0));
	return session;
}

struct wmk_ctl_channel world_channel_options(const char *name, uint32_t key)
{
	return (struct wmk_ctl_channel){
		.name = name, .settings.subbuf_size = 4096, .settings.n_subbufs = 2, .settings.field_limit = 16 + key
	};
}

struct wmk_session_channel *world_channel(struct wmk_session *session, const struct wmk_ctl_channel *options,
					  const char *pattern)
{
	struct wmk_ctl_rule rule = { .pattern = pattern };
	struct wmk_ctl_channel with = *options;
	struct wmk_session_channel *channel;

	if (pattern)
		with.rules = (struct wmk_list){ &rule, 1 };
	assert_int_equal(wmk_session_lock(session), 0);
	int err = wmk_session_channel_add(session, &with, &channel);

	wmk_session_unlock(session);
	if (err != 0)
		fail_msg("%s", wmk_error_get(0));
	return channel;
}

struct wmk_session_channel *world_add(struct wmk_session *session, const char *name, uint32_t key, const char *pattern)
{
	struct wmk_ctl_channel options = world_channel_options(name, key);

	return world_channel(session, &options, pattern);
}

void world_words(const char *part)
{
	char words[600];

	wmk_error_text(words, sizeof(words));
	if (!strstr(words, part))
		fail_msg("'%s' does not say '%s'", words, part);
}

void world_update(struct world *w, struct wmk_session *session)
{
	struct wmk_list unanswered = { NULL, 0 };
	struct wmk_arena arena = { 0 };

	assert_int_equal(wmk_tracing_update(w->tracing, session, 10000, &unanswered, &arena), 0);
	assert_int_equal(unanswered.n, 0);
	wmk_arena_free(&arena);
}

void world_start(struct world *w, struct wmk_session *session)
{
	assert_int_equal(wmk_session_lock(session), 0);
	assert_int_equal(wmk_session_start(session), 0);
	wmk_session_unlock(session);
	world_update(w, session);
}

void world_stop(struct world *w, struct wmk_session *session)
{
	assert_int_equal(wmk_session_lock(session), 0);
	assert_int_equal(wmk_session_stop(session), 0);
	wmk_session_unlock(session);
	world_update(w, session);
	assert_int_equal(wmk_session_lock(session), 0);
	assert_int_equal(wmk_session_flush(session), 0);
	wmk_session_unlock(session);
}

void world_destroy(struct world *w, struct wmk_session *session)
{
	assert_int_equal(wmk_session_lock(session), 0);
	wmk_session_destroy(session);
	wmk_session_unlock(session);
	world_update(w, session);
	assert_int_equal(wmk_session_finish(session, NULL, NULL), 0);
	wmk_session_put(session);
}
