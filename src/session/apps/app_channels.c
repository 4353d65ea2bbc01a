/* SPDX-License-Identifier: MIT */
/*
 * app_channels.c - the channels of one application: its rings, the events enabled in them, the filters sent to it.
 */
#include "session/apps/app_channels.h"

#include "base/array.h"
#include "base/error.h"
#include "ring/request.h"
#include "ring/set.h"
#include "session/model/rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool wmk_app_channel_has(const struct app_channel *ch, uint32_t n)
{
	return n / 64 < ch->n_words && ch->enabled[n / 64] >> n % 64 & 1;
}

int wmk_app_channel_set(struct app_channel *ch, uint32_t n)
{
	uint64_t *enabled = wmk_array_reach(ch->enabled, n / 64, &ch->n_words, sizeof(*enabled));

	if (!enabled)
		return wmk_error(-ENOMEM, "no memory for the events of an application");
	ch->enabled = enabled;
	ch->enabled[n / 64] |= 1ull << n % 64;
	return 0;
}

void wmk_app_channel_unset(struct app_channel *ch, uint32_t n)
{
	if (n / 64 < ch->n_words)
		ch->enabled[n / 64] &= ~(1ull << n % 64);
}

uint64_t wmk_app_channel_filter(const struct app_channel *ch, uint32_t n)
{
	return n < ch->n_filters ? ch->filters[n] : 0;
}

int wmk_app_channel_filter_set(struct app_channel *ch, uint32_t n, uint64_t hash)
{
	if (hash) {
		uint64_t *filters = wmk_array_reach(ch->filters, n, &ch->n_filters, sizeof(*filters));

		if (!filters)
			return wmk_error(-ENOMEM, "no memory for the events of an application");
		ch->filters = filters;
	}
	if (n < ch->n_filters)
		ch->filters[n] = hash;
	return 0;
}

bool wmk_app_event_is_enabled(const struct app *app, uint32_t number, uid_t owner)
{
	for (uint32_t i = 0; i < app->n_channels; i++) {
		const struct rings *rings = app->channels[i].rings;

		if (rings && (owner == (uid_t)-1 || rings->session->uid == owner) &&
		    wmk_app_channel_has(&app->channels[i], number))
			return true;
	}
	return false;
}

void wmk_app_event_gone(struct app *app, uint32_t number)
{
	for (uint32_t i = 0; i < app->n_channels; i++)
		wmk_app_channel_unset(&app->channels[i], number);
}

/* Return the channel number of the rings on the connection, or -errno. */
int wmk_app_channel_number(struct app *app, struct rings *rings)
{
	uint32_t at = app->n_channels;

	for (uint32_t i = 0; i < app->n_channels; i++) {
		if (app->channels[i].rings == rings)
			return (int)i;
		if (!app->channels[i].rings && at == app->n_channels)
			at = i;
	}
	if (at == CHANNELS_MAX)
		return wmk_errorx(-EMFILE, "too many channels for one application: the limit is %u", CHANNELS_MAX);
	if (at == app->n_channels) {
		struct app_channel *more = realloc(app->channels, (at + 1) * sizeof(*more));

		if (!more)
			return wmk_error(-ENOMEM, "no memory for an application's channels");
		app->channels = more;
		app->n_channels++;
	}
	app->channels[at] = (struct app_channel){ .rings = rings };
	wmk_rings_get(rings);
	wmk_rings_user(rings, &(struct app_key){ .uid = app->uid, .pid = app->pid, .name = app->name });
	return (int)at;
}

int wmk_app_adopt_rings(struct app *app, struct rings *rings)
{
	int number = wmk_app_channel_number(app, rings);

	if (number < 0)
		return number;
	app->channels[number].returned = true;
	return 0;
}

/*
 * Return the flags of the rings for an application that records into the rings. If the session tracks pids, its rings
 * get the flag WMK_CHANNEL_PRIVATE, like rings that belong to one process. The child of a fork does not record into
 * private rings.
 */
uint8_t wmk_app_channel_flags(const struct rings *rings)
{
	return rings->private || rings->session->trackers.pid ? WMK_CHANNEL_PRIVATE : 0;
}

int wmk_app_channel_send(struct app *app, uint32_t number)
{
	struct app_channel *ch = &app->channels[number];
	const struct rings *rings = ch->rings;
	struct wmk_channel_msg msg = { .channel = number,
				       .field_limit = rings->field_limit,
				       .n_contexts = rings->n_contexts,
				       .flags = wmk_app_channel_flags(rings) };

	if (ch->sent)
		return 0;
	memcpy(msg.contexts, rings->contexts, sizeof(msg.contexts));
	int err = wmk_out_frame(&app->out, WMK_MSG_CHANNEL, 0, &msg, sizeof(msg), waymark_ring_set_fd(rings->set));

	if (err == 0) {
		ch->sent = true;
		ch->flags = (uint8_t)msg.flags;
	}
	return err;
}

/* The session and its rings are being destroyed. */
int wmk_app_channel_drop(struct app *app, uint32_t number)
{
	struct app_channel *ch = &app->channels[number];
	bool must_send = ch->sent && app->socket >= 0;
	int err = must_send ? wmk_out_u32(&app->out, WMK_MSG_CHANNEL_GONE, number) : 0;

	app->sent = app->sent || must_send;
	free(ch->enabled);
	free(ch->filters);
	wmk_rings_put(ch->rings);
	*ch = (struct app_channel){ 0 };
	return err;
}

/* ── the end ─────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * A process leaves the rings. The process's own rings no longer have a writer. Shared rings may hold an incomplete
 * record of the process.
 */
static void rings_left(struct app *app, struct rings *rings, bool freed)
{
	const struct wmk_tracing_options *o = &app->shard->tracing->options;
	struct wmk_session *session = rings->session;
	bool ended = false;

	pthread_mutex_lock(&session->lock);
	if (!rings->closed) {
		ended = rings->trace->pid == app->pid && rings->trace->pid != 0;
		rings->trace->ended = rings->trace->ended || ended;
		if (freed)
			o->consumer->rings_wake(rings->output);
		else
			wmk_ring_set_wake_for(rings->set);
	}
	pthread_mutex_unlock(&session->lock);
	if (ended && o->on_ended)
		o->on_ended(o->data, session);
}

unsigned wmk_app_free_claims(struct app *app)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < app->n_channels; i++) {
		struct rings *rings = app->channels[i].rings;

		if (!rings)
			continue;
		int freed = waymark_ring_set_free_claims(rings->set, app->slot, app->generation);

		n += freed > 0 ? (unsigned)freed : 0;
		wmk_ring_request_abandon(rings->set, app->slot, app->generation);
		rings_left(app, rings, freed > 0);
	}
	return n;
}

void wmk_app_inherit_claims(struct app *app, struct app *old)
{
	for (uint32_t i = 0; i < old->n_channels; i++)
		if (old->channels[i].rings)
			/* on -ENOMEM a claim of the process stays allocated after its end */
			wmk_app_channel_number(app, old->channels[i].rings);
}

void wmk_app_channels_free(struct app *app)
{
	for (uint32_t i = 0; i < app->n_channels; i++) {
		free(app->channels[i].enabled);
		free(app->channels[i].filters);
		wmk_rings_put(app->channels[i].rings);
	}
	free(app->channels);
	app->channels = NULL;
	app->n_channels = 0;
}
