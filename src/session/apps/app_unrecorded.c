/* SPDX-License-Identifier: MIT */
/* app_unrecorded.c - note applications that a session selects but does not record (see unrecorded.h). */
#include "session/apps/app.h"
#include "session/apps/tracker.h"
#include "session/model/process_stat.h"
#include "session/model/unrecorded.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* True if the session's channels and trackers select the application. Locked. */
static bool wants(struct wmk_session *session, struct app *app)
{
	bool any = false;

	if (session->gone || !session->active || !wmk_session_tracks(session, app))
		return false;
	for (unsigned i = 0; i < session->n_channels && !any; i++) {
		struct wmk_session_channel *channel = session->channels[i];

		any = !channel->own && channel->is.enabled && wmk_domain_has(channel, app);
	}
	return any;
}

static void each_session(struct app *app, void (*one)(struct wmk_session *session, struct app *app, const void *data),
			 const void *data)
{
	struct wmk_session **all = NULL;
	const int n = wmk_session_get_all(app->shard->tracing, &all);

	for (int i = 0; i < n; i++) {
		pthread_mutex_lock(&all[i]->lock);
		one(all[i], app, data);
		pthread_mutex_unlock(&all[i]->lock);
		wmk_session_put(all[i]);
	}
	free(all);
	wmk_error_clear();
}

struct unrecorded_report {
	enum wmk_unrecorded reason;
	int err;
	const char *words;
};

static void give(struct wmk_session *session, struct app *app, const void *data)
{
	const struct unrecorded_report *is = data;
	const struct app_key key = wmk_app_key(app);

	if (wants(session, app))
		wmk_unrecorded_in(session, &key, is->reason, is->err, is->words);
}

void wmk_unrecorded_app(struct app *app, enum wmk_unrecorded reason, int err, const char *words)
{
	each_session(app, give, &(struct unrecorded_report){ reason, err, words });
}

int wmk_unrecorded_take(struct app *app, const struct wmk_unrecorded_msg *msg)
{
	struct rings *rings = msg->channel < app->n_channels ? app->channels[msg->channel].rings : NULL;
	const struct app_key key = wmk_app_key(app);

	if (msg->channel == UINT32_MAX) {
		wmk_unrecorded_app(app, msg->reason, (int)msg->err, NULL);
	} else if (rings) {
		pthread_mutex_lock(&rings->session->lock);
		wmk_unrecorded_in(rings->session, &key, msg->reason, (int)msg->err, NULL);
		pthread_mutex_unlock(&rings->session->lock);
	}
	return 0;
}

static void forget_user(struct wmk_session *session, struct app *app, const void *data)
{
	(void)data;
	wmk_unrecorded_forget_user(session, app->pid);
}

void wmk_unrecorded_admitted(struct app *app)
{
	struct wmk_tracing *tracing = app->shard->tracing;

	pthread_mutex_lock(&tracing->lock);
	struct app_slot *slot = &tracing->slots[app->slot - 1];

	slot->pid = app->pid;
	slot->uid = app->uid;
	snprintf(slot->name, sizeof(slot->name), "%.15s", app->name);
	pthread_mutex_unlock(&tracing->lock);
	if (wmk_unrecorded_any_user())
		each_session(app, forget_user, NULL);
}

static void came_late(struct wmk_session *session, struct app *app, const void *data)
{
	const struct app_key key = wmk_app_key(app);

	(void)data;
	if (wmk_unrecorded_is_restored(session) && wants(session, app))
		wmk_unrecorded_in(session, &key, WMK_UNRECORDED_DAEMON, 0, NULL);
}

/*
 * The daemon makes no note for an application that has reattached rings, because the earlier daemon recorded this
 * application.
 */
void wmk_unrecorded_complete(struct app *app)
{
	uint64_t began = 0;
	pid_t parent;
	char state;

	if (!wmk_unrecorded_is_restored(NULL))
		return;
	for (uint32_t i = 0; i < app->n_channels; i++)
		if (app->channels[i].returned)
			return;
	if (wmk_app_start_time(app) && wmk_process_stat(getpid(), &parent, &began, &state) &&
	    wmk_app_start_time(app) < began)
		each_session(app, came_late, NULL);
}
