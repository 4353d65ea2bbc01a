/* SPDX-License-Identifier: MIT */
/*
 * app_registry.c - the applications of a shard: all in a list, and by pid in buckets.
 *
 * Only the thread of the shard uses the registry, so the registry needs no lock: all connections of a process are in
 * one shard. A registration searches by process four times, and a shard may have thousands of applications.
 */
#include "session/apps/app_registry.h"

#include "session/apps/app_accept.h"
#include "session/apps/app_conn.h"
#include "session/model/shard_table.h"

static struct app **bucket(struct wmk_shard *shard, pid_t pid)
{
	/* pids are assigned in ascending order: the remainder spreads them evenly */
	return &shard->by_pid[(unsigned)pid % WMK_PID_BUCKETS];
}

void wmk_registry_enter(struct wmk_shard *shard, struct app *app)
{
	struct app **at = bucket(shard, app->pid);

	app->next_of_bucket = *at;
	*at = app;
	app->next = shard->app;
	shard->app = app;
	shard->n_apps++;
}

/* Remove the application from its bucket and from the count. */
static void leave(struct wmk_shard *shard, struct app *app)
{
	struct app **at = bucket(shard, app->pid);

	while (*at != app)
		at = &(*at)->next_of_bucket;
	*at = app->next_of_bucket;
	shard->n_apps--;
}

void wmk_registry_sweep(struct wmk_shard *shard, bool all)
{
	if (!all && !shard->some_left)
		return;
	shard->some_left = false;
	for (struct app **at = &shard->app; *at;) {
		struct app *app = *at;

		if (!all && (app->socket >= 0 || (app->slot && !app->dead))) {
			at = &app->next;
			continue;
		}
		*at = app->next;
		leave(shard, app);
		if (app->slot)
			wmk_slot_release(shard->tracing, app->slot);
		struct wmk_accept *acceptor = app->acceptor;
		const pid_t pid = app->pid;
		const uid_t uid = app->uid;

		wmk_app_free(app);
		if (acceptor)
			wmk_accept_closed(acceptor, pid, uid);
	}
}

struct app *wmk_registry_process(struct wmk_shard *shard, pid_t pid, const struct app *after)
{
	struct app *app = after ? after->next_of_bucket : pid ? *bucket(shard, pid) : NULL;

	while (app && app->pid != pid)
		app = app->next_of_bucket;
	return app;
}
