/* SPDX-License-Identifier: MIT */
/*
 * ring_layout.c - the stream class and the name of a channel's rings in a trace.
 *
 *     channel "app", index 1 ──► rings  app_0, app_1 ...     stream class 1       contexts: vpid
 *     add-context -t vtid    ──► rings  app~2_0 ...          stream class 65      contexts: vpid, vtid
 *
 * In CTF, a stream class has one list of contexts, and a stream has one stream class. If a client adds a context to a
 * channel that has recorded, the channel gets new rings of another stream class. The old rings stay as long as the
 * session, because a stopped application may be about to record into the old rings. Contexts are only appended, so
 * rings with fewer contexts have an earlier layout. If the counter of the clock restarts, a channel gets new rings of
 * another stream class with the same contexts (wmk_session_clock_restarted()).
 *
 * All functions run under the session's lock.
 */
#include "session/model/ring_layout.h"

#include "ctf/writer.h"
#include "session/model/quota.h"

#include <stdio.h>
#include <string.h>

int wmk_rings_text(const struct rings *rings, struct wmk_ctf_text_buffer *text)
{
	const struct wmk_field *contexts[WMK_WIRE_CONTEXTS_MAX];

	for (unsigned i = 0; i < rings->n_contexts; i++)
		contexts[i] = &wmk_ctf_context(rings->contexts[i])->field;
	return wmk_ctf_stream_text(text, wmk_session_version(rings->session), rings->stream_id, contexts,
				   rings->n_contexts);
}

void wmk_rings_name(const struct wmk_session_channel *channel, uint32_t stream_id, char name[WMK_RINGS_NAME])
{
	const uint32_t before = stream_id / WMK_CHANNEL_STREAMS;

	if (before)
		snprintf(name, WMK_RINGS_NAME, "%s~%u", channel->is.name, before + 1);
	else
		snprintf(name, WMK_RINGS_NAME, "%s", channel->is.name);
}

static bool is_taken(const struct rings *list, const struct trace *trace, uint32_t stream_id, const char *name)
{
	char other[WMK_RINGS_NAME];

	for (const struct rings *rings = list; rings; rings = rings->next) {
		if (rings->trace != trace)
			continue;
		wmk_rings_name(rings->channel, rings->stream_id, other);
		if (rings->stream_id == stream_id || strcmp(name, other) == 0)
			return true;
	}
	return false;
}

/*
 * Return the channel's stream class. If rings of the trace already use the channel's stream class, return the next free
 * stream class of the channel. Awaited rings count, too.
 */
uint32_t wmk_rings_stream_new(const struct wmk_session_channel *channel, const struct trace *trace)
{
	const struct wmk_session *session = channel->session;
	uint32_t id = channel->first_stream;
	char name[WMK_RINGS_NAME];

	wmk_rings_name(channel, id, name);
	while (is_taken(session->rings, trace, id, name) || is_taken(session->awaited, trace, id, name) ||
	       (id >= WMK_CHANNEL_STREAMS && id <= channel->spent_stream)) {
		id += WMK_CHANNEL_STREAMS;
		wmk_rings_name(channel, id, name);
	}
	return id;
}

bool wmk_rings_current(const struct rings *rings)
{
	return rings->n_contexts == rings->channel->n_contexts && rings->stream_id >= rings->channel->first_stream;
}

static uint32_t stream_last(const struct rings *list, const struct wmk_session_channel *channel, uint32_t last)
{
	for (; list; list = list->next)
		if (list->channel == channel && list->stream_id > last)
			last = list->stream_id;
	return last;
}

int wmk_rings_new_layout(struct wmk_session_channel *channel)
{
	const struct wmk_session *session = channel->session;
	uint64_t bytes = 0;

	for (const struct rings *rings = session->rings; rings; rings = rings->next)
		if (rings->channel == channel && !rings->trace->ended && wmk_rings_current(rings))
			bytes += rings->bytes;
	/* Check the quota before anything changes. The rings are created when there is something to record. */
	int err = wmk_quota_rings_charge(session->tracing, session->uid, bytes, false);
	if (err < 0)
		return err;
	wmk_quota_rings_uncharge(session->tracing, session->uid, bytes);
	uint32_t last = channel->spent_stream > channel->index ? channel->spent_stream : channel->index;
	last = stream_last(session->awaited, channel, stream_last(session->rings, channel, last));
	channel->first_stream = last + WMK_CHANNEL_STREAMS;
	return 0;
}
