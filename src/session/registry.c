/* SPDX-License-Identifier: MIT */
/*
 * registry.c - the applications of a shard: all of them in a list, those of one process in a bucket, how many each user has.
 *
 * Only the shard's thread comes here (all connections of a process are in the same shard), so nothing of it needs to be lock-free.
 * Registration asks by process four times and by user once, and there may be thousands.
 */
#include "session/internal.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>

struct shard_user {
	struct shard_user *next;
	uid_t uid;
	unsigned n;
};

static struct app **bucket(struct wmk_apps *apps, pid_t pid)
{
	/* numbers of processes follow each other */
	return &apps->by_pid[(unsigned)pid % WMK_PID_BUCKETS];
}

static struct shard_user *user_find(const struct wmk_apps *apps, uid_t uid)
{
	struct shard_user *user = apps->users;

	while (user && user->uid != uid)
		user = user->next;
	return user;
}

int wmk_registry_enter(struct wmk_apps *apps, struct app *app)
{
	struct shard_user *user = user_find(apps, app->uid);
	struct app **at = bucket(apps, app->pid);

	if (!user) {
		user = calloc(1, sizeof(*user));
		if (!user)
			return wmk_error(-ENOMEM, "no memory for an application");
		user->uid = app->uid;
		user->next = apps->users;
		apps->users = user;
	}
	user->n++;
	app->next_of_bucket = *at;
	*at = app;
	app->next = apps->app;
	apps->app = app;
	apps->n_apps++;
	return 0;
}

/* Out of all but the list. */
static void leave(struct wmk_apps *apps, struct app *app)
{
	struct shard_user **user = &apps->users;
	struct app **at = bucket(apps, app->pid);

	while (*at != app)
		at = &(*at)->next_of_bucket;
	*at = app->next_of_bucket;
	while ((*user)->uid != app->uid)
		user = &(*user)->next;
	if (--(*user)->n == 0) {
		struct shard_user *gone = *user;

		*user = gone->next;
		free(gone);
	}
	apps->n_apps--;
}

void wmk_registry_sweep(struct wmk_apps *apps, bool all)
{
	if (!all && !apps->some_left)
		return;
	apps->some_left = false;
	for (struct app **at = &apps->app; *at;) {
		struct app *app = *at;

		if (!all && (app->socket >= 0 || (app->slot && !app->dead))) {
			at = &app->next;
			continue;
		}
		*at = app->next;
		leave(apps, app);
		if (app->slot)
			wmk_slot_give(apps->tracing, app->slot);
		wmk_app_free(app);
	}
}

struct app *wmk_registry_process(struct wmk_apps *apps, pid_t pid, const struct app *after)
{
	struct app *app = after ? after->next_of_bucket : pid ? *bucket(apps, pid) : NULL;

	while (app && app->pid != pid)
		app = app->next_of_bucket;
	return app;
}

unsigned wmk_registry_user(const struct wmk_apps *apps, uid_t uid)
{
	const struct shard_user *user = user_find(apps, uid);

	return user ? user->n : 0;
}
