/* SPDX-License-Identifier: MIT */
/*
 * app_reconcile.c - reconcile an application with the sessions: compare what they require with what the application was
 * sent, and send the difference.
 *
 *     channels of the session that apply to the application, rules ──┐
 *                                                                    ├──► CHANNEL, ENABLE, DISABLE, CHANNEL_GONE
 *     app->channels[]: its rings, the bits of its events           ──┘
 *
 * For a changed session, all events are compared. For an application that registers more events, only the new events
 * are compared. The cost of a registration is therefore proportional to the size of its messages.
 *
 * The functions run in the thread of the shard, and hold the lock of at most one session at a time. The functions queue
 * messages, and never wait for the application.
 */
#include "session/apps/app_reconcile.h"

#include "base/error.h"
#include "ring/set.h"
#include "session/apps/app_channels.h"
#include "session/apps/app_conn.h"
#include "session/apps/tracker.h"
#include "session/model/channel.h"
#include "session/model/channel_options.h"
#include "session/model/class_table.h"
#include "session/model/ring_layout.h"
#include "session/model/rings.h"
#include "session/model/session_report.h"
#include "session/model/unrecorded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SESSION_CHANNELS_MAX (WMK_SESSION_CHANNELS + 1)

/* ── the application's channels ──────────────────────────────────────────────────────────────────────── */

/*
 * Send the flags that `track` and `untrack` change. An application that is not tracked records into none of its shared
 * rings, so a child of the application need not wait for its own rings.
 */
static int flags_apply(struct app *app, const struct wmk_session *session, bool tracked)
{
	int err = 0;

	for (uint32_t i = 0; i < app->n_channels && err == 0; i++) {
		struct app_channel *ch = &app->channels[i];

		if (!ch->sent || ch->rings->session != session)
			continue;
		const struct wmk_channel_flags_msg msg = { i, tracked || ch->rings->private
								      ? wmk_app_channel_flags(ch->rings)
								      : 0 };

		if (ch->flags == msg.flags)
			continue;

		err = wmk_out_frame(&app->out, WMK_MSG_CHANNEL_FLAGS, 0, &msg, sizeof(msg), -1);
		ch->flags = (uint8_t)msg.flags;
		app->sent = true;
	}
	return err;
}

static bool is_earlier(const struct app_channel *ch, const struct wmk_session_channel *channel)
{
	return ch->rings && ch->rings->channel == channel && !wmk_rings_current(ch->rings);
}

/*
 * Move an event to the rings of the current layout. MOVE names the rings of an earlier layout in which the event is
 * enabled. MOVE is also sent for rings that were just reattached, if the event has an id in the reattached rings. The
 * session daemon has no record of the events that an earlier daemon enabled in reattached rings. MOVE has no effect in
 * rings in which the event is not enabled.
 *
 * Returns 1 if ENABLE is not needed, because the event was enabled with filter `hash` in rings of an earlier layout. If
 * the application cannot apply MOVE, it continues to record into the rings of the earlier layout only. Returns 0 if
 * ENABLE must follow, with the filter.
 */
static int earlier_move(struct app *app, const struct wmk_enable_msg *to, uint64_t hash)
{
	const struct rings *rings = app->channels[to->channel].rings;
	const struct class *class = app->events[to->event].class;
	bool known = false;
	int err = 0;

	for (uint32_t i = 0; i < app->n_channels && err == 0; i++) {
		struct app_channel *ch = &app->channels[i];

		if (i == to->channel || !is_earlier(ch, rings->channel) ||
		    !(wmk_app_channel_has(ch, to->event) || (ch->returned && wmk_rings_has_id(ch->rings, class))))
			continue;
		const struct wmk_move_msg move = { to->channel, to->event, to->id, i };

		err = wmk_app_channel_send(app, i);
		if (err == 0)
			err = wmk_out_frame(&app->out, WMK_MSG_MOVE, 0, &move, sizeof(move), -1);
		known |= wmk_app_channel_has(ch, to->event) && wmk_app_channel_filter(ch, to->event) == hash;
		wmk_app_channel_unset(ch, to->event);
	}
	return err < 0 ? err : known;
}

static int event_enable(struct app *app, uint32_t number, uint32_t event)
{
	struct app_channel *ch = &app->channels[number];
	struct app_event *e = &app->events[event];
	uint32_t id = wmk_rings_id(ch->rings, e->class);

	if (id == NO_ID)
		return 0;                /* without an id in the metadata, the event is not enabled */
	const struct class_filter *filter = wmk_channel_filter(ch->rings->channel, e->class);
	const uint64_t hash = filter ? filter->hash : 0;
	const struct wmk_enable_msg msg = { number, event, id };
	int err = wmk_app_channel_send(app, number);

	if (err == 0)
		err = earlier_move(app, &msg, hash);
	if (err == 0)
		err = wmk_out_frame_parts(&app->out, WMK_MSG_ENABLE, &msg, sizeof(msg), filter ? filter->bytes : NULL,
					  filter ? filter->len : 0);
	if (err >= 0)
		err = wmk_app_channel_set(ch, event);
	if (err >= 0)
		err = wmk_app_channel_filter_set(ch, event, hash);
	app->sent = true;
	if (err == 0 && app->record && !e->class->own && !e->counted) {
		app->record->info.enabled++;
		e->counted = true;
	}
	return err;
}

static int event_disable(struct app *app, uint32_t number, uint32_t event)
{
	struct wmk_disable_msg msg = { number, event };
	int err = wmk_out_frame(&app->out, WMK_MSG_DISABLE, 0, &msg, sizeof(msg), -1);

	wmk_app_channel_unset(&app->channels[number], event);
	app->sent = true;
	return err;
}

/* ── one session ─────────────────────────────────────────────────────────────────────────────────────── */

/* An event belongs to the first channel of its domain that selects the event. */
static bool wanted_before(const struct wmk_session *session, const bool *in, unsigned channel,
			  const struct class *class)
{
	for (unsigned i = 0; i < channel; i++)
		if (in[i] && session->channels[i]->is.enabled &&
		    wmk_domain_same(&session->channels[i]->is.domain, &session->channels[channel]->is.domain) &&
		    wmk_channel_selects(session->channels[i], class))
			return true;
	return false;
}

/* Find the current rings of the channel. (Rings that a process got before setuid() may belong to its earlier user.) */
static int find_number(const struct app *app, const struct wmk_session_channel *channel)
{
	for (uint32_t i = 0; i < app->n_channels; i++) {
		const struct rings *rings = app->channels[i].rings;

		if (rings && rings->channel == channel && !rings->closed && wmk_rings_current(rings) &&
		    rings->trace->uid == app->uid)
			return (int)i;
	}
	return -1;
}

static bool enabled_earlier(const struct app *app, const struct wmk_session_channel *channel, uint32_t event)
{
	for (uint32_t i = 0; i < app->n_channels; i++)
		if (is_earlier(&app->channels[i], channel) && wmk_app_channel_has(&app->channels[i], event))
			return true;
	return false;
}

/*
 * Return the index of the rings of the latest layout that the application has reattached, or -1. If the daemon cannot
 * create rings of the channel's current layout for the application, the application continues in its reattached rings.
 */
static int find_returned(const struct app *app, const struct wmk_session_channel *channel)
{
	int found = -1;

	for (uint32_t i = 0; i < app->n_channels; i++) {
		const struct app_channel *ch = &app->channels[i];

		if (ch->returned && is_earlier(ch, channel) && !ch->rings->closed &&
		    (found < 0 || ch->rings->n_contexts > app->channels[found].rings->n_contexts))
			found = (int)i;
	}
	return found;
}

static bool has_earlier(const struct app *app, const struct wmk_session_channel *channel)
{
	for (uint32_t i = 0; i < app->n_channels; i++)
		if (is_earlier(&app->channels[i], channel))
			return true;
	return false;
}

/*
 * Disable an event in the rings of all layouts of the channel. An application still records into rings of an earlier
 * layout if it has no room for later rings, or if its library does not support MOVE.
 */
static int event_end(struct app *app, const struct wmk_session_channel *channel, uint32_t event)
{
	int err = 0;

	for (uint32_t i = 0; i < app->n_channels && err == 0; i++) {
		struct app_channel *ch = &app->channels[i];

		if (ch->rings && ch->rings->channel == channel &&
		    (wmk_app_channel_has(ch, event) || (ch->sent && is_earlier(ch, channel))))
			err = event_disable(app, i, event);
	}
	return err;
}

#define NO_RINGS (-2)

/*
 * Return the channel number of the rings for this application. If the rings cannot be created, return rings that the
 * application has reattached, else NO_RINGS. The session reports the error.
 */
static int number_get(struct app *app, struct wmk_session_channel *channel)
{
	struct app_key key = wmk_app_key(app);

	if (channel->is.settings.buffers == WMK_BUFFERS_PID)
		key.start_time = wmk_app_start_time(app);
	struct rings *rings = wmk_rings_for(channel, &key);
	int number = rings ? wmk_app_channel_number(app, rings) : NO_RINGS;

	if (number < 0 && rings)
		wmk_session_report(channel->session, number,
				   "an application does not record into a channel, or does not record all contexts");
	if (number < 0)
		number = find_returned(app, channel);
	if (number < 0)
		wmk_unrecorded_in(channel->session, &key, WMK_UNRECORDED_RINGS, 0, channel->session->trouble_words);
	return number < 0 ? NO_RINGS : number;
}

static bool event_selected(const struct app *app, const struct wmk_session *session, const bool *in, unsigned index,
			   uint32_t n)
{
	struct wmk_session_channel *channel = session->channels[index];
	const struct class *class = app->events[n].class;

	return session->active && channel->is.enabled && in[index] && class && wmk_channel_selects(channel, class) &&
	       !wanted_before(session, in, index, class);
}

/*
 * Reconcile one event. *number is the channel number of the rings, or -1 until number_get() has returned one. With
 * NO_RINGS, selected events are not enabled, and rings of earlier layouts stay in use. Events that are not selected any
 * more are disabled in any case.
 */
static int event_apply(struct app *app, const struct wmk_session *session, const bool *in, unsigned index, uint32_t n,
		       int *number)
{
	struct wmk_session_channel *channel = session->channels[index];
	bool have = *number >= 0 && wmk_app_channel_has(&app->channels[*number], n);

	if (!event_selected(app, session, in, index, n))
		return have || enabled_earlier(app, channel, n) ? event_end(app, channel, n) : 0;
	if (*number == -1)
		*number = number_get(app, channel);
	if (have) {
		const struct class_filter *filter = wmk_channel_filter(channel, app->events[n].class);

		have = wmk_app_channel_filter(&app->channels[*number], n) == (filter ? filter->hash : 0);
	}
	return have || *number == NO_RINGS ? 0 : event_enable(app, (uint32_t)*number, n);
}

/*
 * Assign the missing ids of all selected events together, because each piece of metadata waits for the disk. An
 * application with its own rings needs all its events declared. On an error, event_apply() tries each event separately,
 * and reports which event fails.
 */
static void declare_ahead(struct app *app, const struct wmk_session *session, const bool *in, unsigned index,
			  bool fresh, int *number)
{
	const uint32_t n = fresh ? app->n_fresh : app->n_events;
	struct class **missing = NULL;
	uint32_t n_missing = 0;

	for (uint32_t i = 0; i < n && *number != NO_RINGS; i++) {
		const uint32_t event = fresh ? app->fresh[i] : i;
		struct class *class = app->events[event].class;

		if (!event_selected(app, session, in, index, event))
			continue;
		if (*number == -1)
			*number = number_get(app, session->channels[index]);
		if (*number == NO_RINGS || wmk_rings_has_id(app->channels[*number].rings, class))
			continue;
		if (!missing && !(missing = malloc(n * sizeof(struct class *))))
			return;
		missing[n_missing++] = class;
	}
	if (n_missing > 1 && wmk_rings_declare(app->channels[*number].rings, missing, n_missing) < 0)
		wmk_error_clear();
	free(missing);
}

/* An application makes a new state dump of its loaded objects if its last dump is older than the latest request. */
static int statedump_apply(struct app *app, const struct wmk_session *session, uint32_t number)
{
	struct app_channel *ch = &app->channels[number];

	if (ch->statedump_round == session->statedump_round || !session->active)
		return 0;
	ch->statedump_round = session->statedump_round;
	app->sent = true;
	return wmk_out_frame(&app->out, WMK_MSG_STATEDUMP, 0, NULL, 0, -1);
}

static int channel_apply(struct app *app, const struct wmk_session *session, const bool *in, unsigned index, bool fresh)
{
	struct wmk_session_channel *channel = session->channels[index];
	int number = find_number(app, channel), err = 0;
	bool known = number >= 0 && app->channels[number].sent;

	if (number < 0 && !has_earlier(app, channel) && !(session->active && channel->is.enabled && in[index]))
		return 0;
	declare_ahead(app, session, in, index, fresh, &number);
	for (uint32_t i = 0; fresh && i < app->n_fresh && err == 0; i++)
		err = event_apply(app, session, in, index, app->fresh[i], &number);
	for (uint32_t n = 0; !fresh && n < app->n_events && err == 0; n++)
		err = event_apply(app, session, in, index, n, &number);
	if (number >= 0 && !known)
		app->channels[number].statedump_round = session->statedump_round;
	return err < 0 ? err : number >= 0 && channel->own ? statedump_apply(app, session, (uint32_t)number) : 0;
}

static int session_leave(struct app *app, const struct wmk_session *session)
{
	int err = 0;

	/* continue after an error: the connection is closed then, and the other rings must be dropped, too */
	for (uint32_t i = 0; i < app->n_channels; i++)
		if (app->channels[i].rings && app->channels[i].rings->session == session) {
			const int dropped = wmk_app_channel_drop(app, i);

			err = err < 0 ? err : dropped;
		}
	return err;
}

static int session_apply(struct app *app, struct wmk_session *session, bool fresh)
{
	bool in[SESSION_CHANNELS_MAX];
	int err = 0;

	if (session->gone)
		return session_leave(app, session);
	bool tracked = wmk_session_tracks(session, app), any = false;

	/* (sent before ENABLE, and for an untracked application after DISABLE: no child records in between) */
	if (tracked)
		err = flags_apply(app, session, true);

	/* all domains are evaluated, also in an inactive session: a descendant is recognized at this time or never */
	for (unsigned i = 0; i < session->n_channels; i++)
		any |= in[i] = wmk_domain_has(session->channels[i], app) && tracked && !session->channels[i]->own;
	for (unsigned i = 0; i < session->n_channels; i++)
		in[i] |= any && session->channels[i]->own;
	/* the tracer's own channel first: objects are dumped before the rest is enabled and main() may start */
	for (int own = 1; own >= 0; own--)
		for (unsigned i = 0; i < session->n_channels && err == 0; i++)
			if (session->channels[i]->own == own)
				err = channel_apply(app, session, in, i, fresh);
	if (!tracked && err == 0)
		err = flags_apply(app, session, false);
	return err;
}

static void apply(struct app *app, struct wmk_session *session, bool fresh)
{
	/*
	 * Events are compared once the application has registered all events. A destroyed session is dropped in any
	 * case, because the object of a closed application may exist for a long time.
	 */
	bool talks = app->state == APP_ADMITTED && app->complete;

	pthread_mutex_lock(&session->lock);
	int err = talks ? session_apply(app, session, fresh) : session->gone ? session_leave(app, session) : 0;

	pthread_mutex_unlock(&session->lock);
	if (err < 0)
		wmk_app_close(app, wmk_error_add(err, "cannot update the application"));
}

void wmk_reconcile_app(struct app *app, struct wmk_session *session)
{
	apply(app, session, false);
}

void wmk_reconcile_fresh_events(struct app *app)
{
	struct wmk_session **all = NULL;
	int n = wmk_session_get_all(app->shard->tracing, &all);

	if (n < 0)
		wmk_app_close(app, n);
	for (int i = 0; i < n; i++) {
		apply(app, all[i], true);
		wmk_session_put(all[i]);
	}
	free(all);
	app->n_fresh = 0;
	for (uint32_t i = 0; i < app->n_channels; i++)
		app->channels[i].returned = false;
}

