/* SPDX-License-Identifier: MIT */
/*
 * shards.c - threads that run shards, and the reaper (see shards.h).
 */
#include "sessiond/shards.h"

#include "base/error.h"
#include "base/thread.h"
#include "kernel/proc/namespaces.h"
#include "session/apps/shard.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct wmk_shards {
	struct wmk_accept *acceptor;
	const struct wmk_tracing_options *quotas;
	unsigned n;
	struct {
		struct wmk_shard *apps;
		pthread_t thread;
		bool started;
	} shard[WMK_SHARDS_MAX];
};

static int thread_start(pthread_t *thread, void *(*run)(void *), void *data)
{
	int err = wmk_thread_create(thread, NULL, run, data);

	if (err && wmk_kspaces_check_threads() < 0)
		return -err;
	return err ? wmk_error(-err, "cannot start a thread") : 0;
}

/* ── shards ──────────────────────────────────────────────────────────────────────────────────────────── */

unsigned wmk_shards_default(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return cpus < 1 ? 1 : cpus > (long)WMK_SHARDS_MAX ? WMK_SHARDS_MAX : (unsigned)cpus;
}

static void *shard_run(void *data)
{
	struct wmk_shard *apps = data;

	wmk_tracing_thread_begin();
	while (wmk_shard_run_once(apps, -1) != -ESHUTDOWN)
		wmk_error_clear();
	wmk_tracing_thread_end();
	return NULL;
}

int wmk_shards_open(struct wmk_tracing *tracing, unsigned n, struct wmk_shards **out)
{
	const struct wmk_shard_options options = { .size = sizeof(options), .tracing = tracing, .persist = true };
	struct wmk_shards *shards = calloc(1, sizeof(*shards));
	int err = 0;

	if (!shards)
		return wmk_error(-ENOMEM, "no memory for the shards");
	shards->quotas = wmk_tracing_quotas(tracing);
	for (unsigned i = 0; i < n && i < WMK_SHARDS_MAX && err == 0; i++) {
		err = wmk_shard_open(&options, &shards->shard[i].apps);
		if (err < 0)
			break;
		shards->n++;
		err = thread_start(&shards->shard[i].thread, shard_run, shards->shard[i].apps);
		shards->shard[i].started = err == 0;
	}
	if (err < 0) {
		wmk_shards_close(shards);
		return err;
	}
	*out = shards;
	return 0;
}

void wmk_shards_close(struct wmk_shards *shards)
{
	if (!shards)
		return;
	for (unsigned i = 0; i < shards->n; i++)
		if (shards->shard[i].started)
			wmk_shard_stop(shards->shard[i].apps);
	/* join all before closing any: shards pass connections to each other */
	for (unsigned i = 0; i < shards->n; i++)
		if (shards->shard[i].started)
			pthread_join(shards->shard[i].thread, NULL);
	for (unsigned i = 0; i < shards->n; i++)
		wmk_shard_close(shards->shard[i].apps);
	wmk_accept_close(shards->acceptor);
	free(shards);
}

int wmk_shards_take(void *data, unsigned shard, const struct wmk_app_conn *conn)
{
	const struct wmk_shards *shards = data;

	return wmk_shard_take(shards->shard[shard].apps, conn);
}

int wmk_shards_listen(struct wmk_shards *shards, int listener, uid_t only)
{
	const struct wmk_accept_options options = { .size = sizeof(options),
						  .listener = listener,
						  .only = only,
						  .n_shards = shards->n,
						  .max_of_uid = shards->quotas->max_user_apps,
						  .max = shards->quotas->max_apps,
						  .take = wmk_shards_take,
						  .data = shards };
	int err = wmk_accept_open(&options, &shards->acceptor);

	for (unsigned i = 0; i < shards->n && err == 0; i++)
		err = wmk_shard_listen(shards->shard[i].apps, shards->acceptor, i);
	return err;
}

/* ── the reaper ──────────────────────────────────────────────────────────────────────────────────────── */

/*
 * For FINISH_STOP and FINISH_DESTROY, the daemon has already replied to the client before the work is done. The reaper
 * therefore performs items of the kinds FINISH_STOP and FINISH_DESTROY even if the daemon is ending.
 */
enum reaper_work { REAP, TRACE_FULL, METADATA_STALE, SNAPSHOT_REQUESTED, CLOCK_RESTARTED, FINISH_STOP, FINISH_DESTROY };

struct reaper_item {
	struct reaper_item *next;
	enum reaper_work work;
	struct wmk_session *session;     /* a reference; NULL: `path` names the session */
	char *path;                      /* directory of a session */
};

struct wmk_reaper {
	struct wmk_reaper_ops ops;
	pthread_mutex_t lock;            /* protects the fields below */
	pthread_cond_t some;
	struct reaper_item *item;               /* queue, without two equal items */
	bool ending, started;
	pthread_t thread;
};

static void item_free(struct reaper_item *item)
{
	if (item->session)
		wmk_session_put(item->session);
	free(item->path);
	free(item);
}

static void reap(struct wmk_session *session)
{
	if (wmk_session_lock(session) < 0)
		return;
	wmk_session_reap(session);
	wmk_session_unlock(session);
}

static void do_item(const struct wmk_reaper *reaper, const struct reaper_item *item)
{
	const struct wmk_reaper_ops *ops = &reaper->ops;

	if ((item->work == REAP || item->work == SNAPSHOT_REQUESTED) && ops->requested)
		ops->requested(ops->data, item->session, item->path);
	if (item->work == REAP)
		reap(item->session);
	else if (item->work == TRACE_FULL && ops->full)
		ops->full(ops->data, item->path);
	else if (item->work == CLOCK_RESTARTED && ops->restarted)
		ops->restarted(ops->data, item->path);
	else if (item->work == METADATA_STALE && ops->stale)
		ops->stale(ops->data, item->path);
	else if (item->work >= FINISH_STOP && ops->finish)
		ops->finish(ops->data, item->session, item->work == FINISH_DESTROY);
}

/* Remove the next item from the queue. Locked. NULL: it is empty. */
static struct reaper_item *next_item(struct wmk_reaper *reaper)
{
	struct reaper_item **at = &reaper->item, *item;

	while (reaper->ending && *at && (*at)->work < FINISH_STOP)
		at = &(*at)->next;
	item = *at;
	if (item)
		*at = item->next;
	return item;
}

static void *reaper_run(void *data)
{
	struct wmk_reaper *reaper = data;
	struct reaper_item *item;

	wmk_tracing_thread_begin();
	pthread_mutex_lock(&reaper->lock);
	while ((item = next_item(reaper)) || !reaper->ending) {
		if (!item) {
			pthread_cond_wait(&reaper->some, &reaper->lock);
			continue;
		}
		pthread_mutex_unlock(&reaper->lock);
		do_item(reaper, item);
		wmk_error_clear();
		item_free(item);
		pthread_mutex_lock(&reaper->lock);
	}
	pthread_mutex_unlock(&reaper->lock);
	wmk_tracing_thread_end();
	return NULL;
}

int wmk_reaper_open(const struct wmk_reaper_ops *ops, struct wmk_reaper **out)
{
	struct wmk_reaper *reaper = calloc(1, sizeof(*reaper));

	if (!reaper)
		return wmk_error(-ENOMEM, "no memory for the reaper");
	reaper->ops = *ops;
	pthread_mutex_init(&reaper->lock, NULL);
	pthread_cond_init(&reaper->some, NULL);
	*out = reaper;
	return 0;
}

static bool is_same(const struct reaper_item *item, enum reaper_work work, const struct wmk_session *session,
		    const char *path)
{
	return item->work == work && (session ? item->session == session : path && strcmp(item->path, path) == 0);
}

/* Add an item to the queue, unless the queue already has an equal item. True: the queue contains it. */
static bool enqueue(struct wmk_reaper *reaper, enum reaper_work work, struct wmk_session *session, const char *path)
{
	struct reaper_item **at = &reaper->item, *item;

	pthread_mutex_lock(&reaper->lock);
	while (*at && !is_same(*at, work, session, path))
		at = &(*at)->next;
	bool queued = *at != NULL;
	item = queued || reaper->ending ? NULL : calloc(1, sizeof(*item));
	if (item && path && !(item->path = strdup(path))) {
		free(item);
		item = NULL;
	}
	/*
	 * If there is no memory for the item, the session is reaped when the next process ends, or when the session is
	 * destroyed.
	 */
	if (item) {
		item->work = work;
		item->session = session;
		if (session)
			wmk_session_hold(session);
		*at = item;
		queued = true;
		pthread_cond_signal(&reaper->some);
	}
	pthread_mutex_unlock(&reaper->lock);
	return queued;
}

void wmk_reaper_notify(struct wmk_reaper *reaper, struct wmk_session *session)
{
	enqueue(reaper, REAP, session, NULL);
}

void wmk_reaper_notify_full(struct wmk_reaper *reaper, const char *path)
{
	enqueue(reaper, TRACE_FULL, NULL, path);
}

void wmk_reaper_notify_stale(struct wmk_reaper *reaper, const char *path)
{
	enqueue(reaper, METADATA_STALE, NULL, path);
}

void wmk_reaper_notify_requested(struct wmk_reaper *reaper, const char *path)
{
	enqueue(reaper, SNAPSHOT_REQUESTED, NULL, path);
}

void wmk_reaper_notify_restarted(struct wmk_reaper *reaper, const char *path)
{
	enqueue(reaper, CLOCK_RESTARTED, NULL, path);
}

void wmk_reaper_notify_finish(struct wmk_reaper *reaper, struct wmk_session *session, bool gone)
{
	if (!enqueue(reaper, gone ? FINISH_DESTROY : FINISH_STOP, session, NULL) && reaper->ops.finish)
		reaper->ops.finish(reaper->ops.data, session, gone);
}

int wmk_reaper_start(struct wmk_reaper *reaper)
{
	int err = thread_start(&reaper->thread, reaper_run, reaper);
	reaper->started = err == 0;
	return err;
}

void wmk_reaper_end(struct wmk_reaper *reaper)
{
	if (!reaper)
		return;
	pthread_mutex_lock(&reaper->lock);
	reaper->ending = true;
	pthread_cond_signal(&reaper->some);
	pthread_mutex_unlock(&reaper->lock);
	if (reaper->started)
		pthread_join(reaper->thread, NULL);
	reaper->started = false;
	while (reaper->item) {           /* `ending` keeps the queue from growing */
		struct reaper_item *item = reaper->item;

		reaper->item = item->next;
		item_free(item);
	}
}

void wmk_reaper_close(struct wmk_reaper *reaper)
{
	if (!reaper)
		return;
	wmk_reaper_end(reaper);
	pthread_cond_destroy(&reaper->some);
	pthread_mutex_destroy(&reaper->lock);
	free(reaper);
}
