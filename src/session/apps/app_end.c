/* SPDX-License-Identifier: MIT */
/* app_end.c - the end of an application: its process died, or runs another program. Its claims are freed. */
#include "session/apps/app_end.h"

#include "session/apps/app_channels.h"
#include "session/apps/app_conn.h"
#include "session/apps/app_registry.h"
#include "session/apps/shard_watch.h"
#include "session/model/shard_table.h"

/* Call when no thread of the application uses its ring claims any more. */
static void app_ended(struct app *app)
{
	struct wmk_shard *shard = app->shard;

	shard->stats.claims_freed += wmk_app_free_claims(app);
	wmk_slot_release(shard->tracing, app->slot);
	app->slot = 0;
	shard->some_left = true;
	shard->stats.apps_alive--;
	shard->stats.apps_dead++;
	if (app->record)
		app->record->info.alive = false;
	wmk_app_notify(app);
}

void wmk_app_died(struct app *app)
{
	wmk_app_drain(app);
	wmk_shard_unwatch(app->shard, app->pidfd);
	app->pidfd = -1;
	app->dead = true;
	app->shard->some_left = true;
	if (app->slot)
		app_ended(app);
}

void wmk_shard_replaced(struct wmk_shard *shard, const struct app *by)
{
	for (struct app *old = NULL; (old = wmk_registry_process(shard, by->pid, old)) != NULL;) {
		if (old == by || !old->slot || old->dead || !old->image || !by->image ||
		    old->image == by->image)
			continue;
		wmk_app_drain(old);
		app_ended(old);
	}
}
