/* SPDX-License-Identifier: MIT */
/*
 * restore.c - a session as an earlier daemon had it: told to whoever keeps it (each), and made again from that (restore).
 *
 * Rings are mapped from their descriptors (rings.c), with the numbers and ids that they had: programs that still record into them, and
 * the trace files that a consumer goes on with, agree with us from the first moment.
 */
#include "session/internal.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int wmk_session_each_channel(struct wmk_session *session, int (*one)(void *data, const struct wmk_ctl_channel *is, uint32_t stream_id, bool own),
			     void *data)
{
	int err = 0;

	for (unsigned i = 0; i < session->n_channels && err == 0; i++)
		err = one(data, &session->channels[i]->is, session->channels[i]->index, session->channels[i]->own);
	return err;
}

int wmk_session_restore(struct wmk_tracing *tracing, const struct wmk_session_options *options, const struct wmk_ctl_session *is,
			struct wmk_session **out)
{
	struct wmk_session *session;
	int err = wmk_session_make(tracing, options, &session);

	if (err < 0)
		return err;
	session->created = is->created;
	session->active = is->active;
	session->started = is->started || is->active;
	pthread_mutex_lock(&session->lock);
	const struct wmk_list *const lists[] = { &is->trackers.pids, &is->trackers.uids, &is->trackers.gids };
	const bool narrowed[] = { is->trackers.pid, is->trackers.uid, is->trackers.gid };

	for (uint32_t kind = 0; kind < 3 && err == 0; kind++)
		if (narrowed[kind])
			err = wmk_session_track(session, &(struct wmk_ctl_track){ .kind = kind, .all = lists[kind]->n == 0, .ids = *lists[kind] },
						lists[kind]->n > 0);     /* narrowed to nobody: as by untrack --all */
	if (err < 0) {
		pthread_mutex_unlock(&session->lock);
		wmk_session_unmake(session);
		return err;
	}
	*out = session;
	return 0;
}

int wmk_session_restore_channel(struct wmk_session *session, const struct wmk_ctl_channel *is, uint32_t stream_id, bool own)
{
	struct wmk_session_channel *channel;
	int err;

	if (stream_id >= 64 || wmk_session_channel_by_index(session, stream_id))
		return wmk_error(-EINVAL, "a channel '%.60s' with number %u", is->name, stream_id);
	err = own ? wmk_session_add_own_channel(session) : wmk_session_channel_add(session, is, &channel);
	if (err < 0)
		return err;
	channel = session->channels[session->n_channels - 1];
	channel->index = stream_id;
	channel->is.enabled = is->enabled || own;
	/* rules were added enabled */
	for (uint32_t i = 0; !own && i < channel->is.rules.n && i < is->rules.n; i++)
		((struct wmk_ctl_rule *)channel->is.rules.items)[i].enabled = ((struct wmk_ctl_rule *)is->rules.items)[i].enabled;
	return 0;
}

int wmk_session_restore_id(struct wmk_session *session, uint64_t rings_id, uint32_t id, struct wmk_event_class *event)
{
	struct class *class = wmk_class_intern(session->tracing, event);

	if (!class)
		return -ENOMEM;
	for (struct rings *rings = session->rings; rings; rings = rings->next)
		if (rings->id == rings_id)
			return wmk_rings_id_restore(rings, class, id);
	return wmk_error_said(-ENOENT, "no rings have number %llu", (unsigned long long)rings_id);
}

int wmk_session_restore_end(struct wmk_session *session)
{
	int err = wmk_session_enter(session->tracing, session);

	if (err < 0)
		session->gone = true;            /* nobody finds it; its rings end with it */
	else
		wmk_traces_look(session);        /* processes whose end nobody saw */
	pthread_mutex_unlock(&session->lock);
	if (err < 0)
		wmk_session_finish(session, NULL, NULL);
	return err;
}
