/* SPDX-License-Identifier: MIT */
/*
 * restore.c - describe a session for the state file (each_...), and restore a session of an earlier daemon
 * (restore_...).
 *
 * Rings are mapped from their descriptors, with their old numbers and ids. A restored session therefore uses the same
 * numbers and ids as before. Applications that still record, and the stream files that the consumer daemon continues,
 * use the old numbers and ids. For rings without a descriptor, the session waits until an application reattaches the
 * rings (reattach.c).
 */
#include "session/control/ring_requests.h"
#include "session/control/session.h"
#include "session/kernel/kernel_channel.h"
#include "session/kernel/kernel_restore.h"
#include "session/model/channel.h"
#include "session/model/class_table.h"
#include "session/model/regenerate.h"
#include "session/model/ring_layout.h"
#include "session/model/rings.h"
#include "session/model/session_model.h"
#include "session/model/session_report.h"
#include "session/model/session_table.h"
#include "session/model/stale_claims.h"
#include "session/model/unrecorded.h"
#include "session/recovery/reattach.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int wmk_session_each_channel(struct wmk_session *session,
			     int (*one)(void *data, const struct wmk_ctl_channel *is, uint32_t stream_id, bool own),
			     void *data)
{
	int err = 0;

	for (unsigned i = 0; i < session->n_channels && err == 0; i++) {
		struct wmk_ctl_channel is = session->channels[i]->is;

		is.counts = wmk_channel_past(session->channels[i]);
		err = one(data, &is, session->channels[i]->index, session->channels[i]->own);
	}
	return err;
}

int wmk_session_restore(struct wmk_tracing *tracing, const struct wmk_session_options *options,
			const struct wmk_ctl_session *is, struct wmk_session **out)
{
	struct wmk_session *session;

	tracing->restoring = true;
	int err = wmk_session_make(tracing, options, &session);

	if (err < 0) {
		tracing->restoring = false;
		return err;
	}
	session->created = is->created;
	wmk_session_activate(session, is->active);
	session->started = is->started || is->active;
	session->full = is->full;
	session->uncounted = true;
	pthread_mutex_lock(&session->lock);
	const struct wmk_list *const lists[] = { &is->trackers.pids, &is->trackers.uids, &is->trackers.gids,
						 &is->trackers.kernel_pids };
	const bool narrowed[] = { is->trackers.pid, is->trackers.uid, is->trackers.gid, is->trackers.kernel_pid };

	for (uint32_t kind = 0; kind < WMK_TRACK_KINDS && err == 0; kind++)
		if (narrowed[kind])
			err = wmk_session_track(session,
						&(struct wmk_ctl_track){
							.kind = kind, .all = lists[kind]->n == 0, .ids = *lists[kind] },
						/* an empty list tracks nothing, as after untrack --all */
						lists[kind]->n > 0);
	if (err < 0) {
		tracing->restoring = false;
		wmk_session_activate(session, false);
		pthread_mutex_unlock(&session->lock);
		wmk_session_unmake(session);
		return err;
	}
	*out = session;
	return 0;
}

int wmk_session_restore_channel(struct wmk_session *session, const struct wmk_ctl_channel *is, uint32_t stream_id,
				bool own)
{
	struct wmk_session_channel *channel;
	int err;

	if (stream_id >= 64 || wmk_session_channel_by_index(session, stream_id))
		return wmk_error(-EINVAL, "channel '%.60s' has number %u, which is taken or above 63", is->name,
				 stream_id);
	err = own ? wmk_session_add_own_channel(session) : wmk_session_channel_add(session, is, &channel);
	if (err < 0)
		return err;
	channel = session->channels[session->n_channels - 1];
	channel->index = channel->first_stream = stream_id;
	channel->is.enabled = is->enabled || own;
	channel->past = is->counts;
	memset(&channel->is.counts, 0, sizeof(channel->is.counts));
	/* rules were added enabled */
	for (uint32_t i = 0; !own && i < channel->is.rules.n && i < is->rules.n; i++)
		((struct wmk_ctl_rule *)channel->is.rules.items)[i].enabled =
			((struct wmk_ctl_rule *)is->rules.items)[i].enabled;
	return 0;
}

int wmk_session_restore_gone(struct wmk_session *session, const uint8_t trace_uuid[16], uint32_t stream_id,
			     wmk_rings_gone *gone, void *data)
{
	struct wmk_session_channel *channel = wmk_session_channel_by_index(session, stream_id % WMK_CHANNEL_STREAMS);
	struct wmk_counts counts = { 0 };
	char name[WMK_RINGS_NAME];

	if (!channel)
		return -ENOENT;
	wmk_rings_name(channel, stream_id, name);
	int err = gone(data, trace_uuid, name, &counts);
	if (err == 0)
		wmk_counts_add(&channel->past, &counts);
	return err;
}

/* ── rings ───────────────────────────────────────────────────────────────────────────────────────────── */

/* Find or create the trace; the function does not open the trace. */
static struct trace *trace_restore(struct wmk_session *session, const struct wmk_restored_rings *is)
{
	struct trace *trace;

	for (trace = session->traces; trace; trace = trace->next)
		if (memcmp(trace->uuid, is->uuid, sizeof(trace->uuid)) == 0)
			return trace;
	const bool kernel = strcmp(is->sub, WMK_SUB_KERNEL) == 0;

	if (strlen(is->sub) >= sizeof(trace->sub) || (!kernel && strncmp(is->sub, "ust/", 4) != 0) ||
	    strstr(is->sub, "..")) {
		wmk_error(-EINVAL, "invalid subdirectory of a trace: '%.60s'", is->sub);
		return NULL;
	}
	trace = calloc(1, sizeof(*trace));
	if (!trace) {
		wmk_error(-ENOMEM, "no memory for a trace");
		return NULL;
	}
	trace->session = session;
	trace->uid = is->uid;
	trace->pid = is->pid;
	trace->start_time = is->start_time;
	memcpy(trace->uuid, is->uuid, sizeof(trace->uuid));
	strcpy(trace->sub, is->sub);
	trace->kernel = kernel;
	trace->restored = true;
	trace->next = session->traces;
	session->traces = trace;
	return trace;
}

/* True if the list has rings of this number, or of the same streams. */
static bool is_there(const struct rings *list, const struct trace *trace, const struct wmk_restored_rings *is)
{
	while (list && list->id != is->id && (list->trace != trace || list->stream_id != is->stream_id))
		list = list->next;
	return list != NULL;
}

/*
 * Two ring sets of one channel and one trace may have the same contexts. If the contexts are the same, the later ring
 * set was created after a restart of the clock, or while the session waited for the earlier ring set. The ring set with
 * the higher stream id is current.
 */
static void later_layout(struct wmk_session_channel *channel, const struct rings *list, const struct rings *rings)
{
	for (; list; list = list->next) {
		const uint32_t id = list->stream_id > rings->stream_id ? list->stream_id : rings->stream_id;

		if (list->channel == channel && list->trace == rings->trace && list->n_contexts == rings->n_contexts &&
		    id > channel->first_stream)
			channel->first_stream = id;
	}
}

int wmk_session_restore_rings(struct wmk_session *session, const struct wmk_restored_rings *is, int fd)
{
	struct wmk_session_channel *channel =
		wmk_session_channel_by_index(session, is->stream_id % WMK_CHANNEL_STREAMS);
	struct trace *trace = channel ? trace_restore(session, is) : NULL;

	if (trace && (is_there(session->rings, trace, is) || is_there(session->awaited, trace, is)))
		return wmk_error(-EEXIST, "rings %llu are listed twice", (unsigned long long)is->id);
	struct rings *rings = trace ? wmk_rings_alloc(channel, trace, is->stream_id) : NULL;

	if (!channel)
		return wmk_errorx(-ENOENT, "there is no channel with number %u", is->stream_id);
	if (!rings)
		return wmk_error_number() < 0 ? wmk_error_number() : -ENOMEM;
	if (is->n_contexts > channel->n_contexts) {
		wmk_rings_put(rings);
		return wmk_error(-EINVAL, "rings have %u contexts, but their channel has %u", is->n_contexts,
				 channel->n_contexts);
	}
	rings->n_contexts = is->n_contexts;
	rings->id = is->id;
	rings->inode = is->inode;
	memcpy(rings->uuid, is->set_uuid, sizeof(rings->uuid));
	if (is->stream_id < WMK_CHANNEL_STREAMS)
		trace->declared |= 1ull << is->stream_id;
	later_layout(channel, session->rings, rings);
	later_layout(channel, session->awaited, rings);
	const bool current = wmk_rings_current(rings);

	if (!current && is->stream_id >= channel->first_stream)
		channel->first_stream = is->stream_id + WMK_CHANNEL_STREAMS;
	if (trace->kernel != wmk_channel_is_kernel(channel)) {
		wmk_rings_put(rings);
		return wmk_error(-EINVAL, "a channel has both rings of applications and rings of the kernel");
	}
	if (trace->kernel) {
		int err = wmk_kernel_restore(rings);

		if (err < 0)
			wmk_rings_put(rings);
		else
			wmk_rings_link(&session->rings, rings);
		return err;
	}
	wmk_rings_link(&session->awaited, rings);
	if (fd >= 0)
		return wmk_rings_reattach(rings, fd);
	int err = wmk_rings_reattach_file(rings);
	rings->spent = err == -ENOENT && session->recovered && trace->uid == geteuid();
	return err == -ENOENT ? 0 : err;
}

static int each(const struct rings *list, int (*one)(void *data, const struct wmk_restored_rings *is), void *data)
{
	int err = 0;

	for (const struct rings *rings = list; rings && err == 0; rings = rings->next) {
		const struct trace *trace = rings->trace;
		struct wmk_restored_rings is = { .id = rings->id,
						 .stream_id = rings->stream_id,
						 .uid = trace->uid,
						 .pid = trace->pid,
						 .start_time = trace->start_time,
						 .sub = trace->sub,
						 .inode = rings->inode,
						 .n_contexts = rings->n_contexts };

		memcpy(is.uuid, trace->uuid, sizeof(is.uuid));
		memcpy(is.set_uuid, rings->uuid, sizeof(is.set_uuid));
		/* rings of an ended process are included until their records are written and counted */
		err = one(data, &is);
	}
	return err;
}

int wmk_session_each_rings(struct wmk_session *session, int (*one)(void *data, const struct wmk_restored_rings *is),
			   void *data)
{
	int err = each(session->rings, one, data);

	if (err == 0)
		err = each(session->awaited, one, data);
	return err == 0 ? each(session->ending, one, data) : err;
}

static struct rings *by_id(struct rings *list, uint64_t id)
{
	while (list && list->id != id)
		list = list->next;
	return list;
}

int wmk_session_restore_id(struct wmk_session *session, uint64_t rings_id, uint32_t id, struct wmk_event_class *event)
{
	struct class *class = wmk_class_intern(session->tracing, event);
	struct rings *rings = by_id(session->rings, rings_id);

	if (!class)
		return -ENOMEM;
	if (!rings)
		rings = by_id(session->awaited, rings_id);
	return rings ? wmk_rings_id_restore(rings, class, id)
		     : wmk_errorx(-ENOENT, "there are no rings with number %llu", (unsigned long long)rings_id);
}

/*
 * A session daemon writes an id to the state and declares the id in the metadata, in either order. An earlier daemon
 * that was killed may therefore have left an id only in the state or only in the metadata.
 */
static void declare_again(struct wmk_session *session)
{
	if (!session->tracing->options.consumer->metadata_replace)
		return;
	for (struct trace *trace = session->traces; trace; trace = trace->next)
		if (trace->output && wmk_trace_restore_metadata(trace) < 0)
			wmk_error_clear();
}

int wmk_session_restore_end(struct wmk_session *session)
{
	session->tracing->restoring = false;
	wmk_session_kernel_restored(session);
	/* everything that was enabled is sent and switched on again */
	if (wmk_session_kernel_update(session) < 0)
		wmk_session_report(session, wmk_error_number(), NULL);
	declare_again(session);
	int err = wmk_session_enter(session->tracing, session);

	if (err < 0) {
		wmk_session_activate(session, false);
		session->gone = true;            /* the session is not in the table; its rings end with the session */
	} else {
		wmk_session_free_stale_claims(session);        /* claims of processes that ended while no daemon ran */
		wmk_unrecorded_restored(session);
	}
	pthread_mutex_unlock(&session->lock);
	if (err < 0)
		wmk_session_finish(session, NULL, NULL);
	return err;
}
