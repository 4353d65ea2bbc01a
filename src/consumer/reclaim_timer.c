/* SPDX-License-Identifier: MIT */
/*
 * reclaim_timer.c - gives the memory of idle rings back to the system (ring/reclaim.c).
 *
 * The idle time of a ring begins with the first pass that finds no new record. The consumer's thread sleeps until the
 * idle time of a ring is over; afterwards, the ring causes no further wake until the ring has a record.
 */
#include "consumer/reclaim_timer.h"

#include <errno.h>

#include "base/clock.h"

/* If the ring has a new record, restart the idle time of the ring. */
static void look(struct wmk_stream *stream, uint64_t now)
{
	const uint64_t position = stream->source->ops->head(stream->source);

	if (stream->idle_ns && position == stream->idle_pos)
		return;
	stream->idle_pos = position;
	stream->idle_ns = now;
	stream->reclaimed = false;
}

static int64_t reclaim(struct wmk_stream *stream, uint64_t now)
{
	const int64_t bytes = stream->source->ops->reclaim(stream->source);

	/* A ring with unread sub-buffers keeps its memory, so the idle time of such a ring begins again. */
	if (bytes == -EAGAIN)
		stream->idle_ns = now;
	else
		stream->reclaimed = true;
	return bytes == -EAGAIN ? 0 : bytes;
}

void wmk_consumer_reclaim_due(struct wmk_consumer *consumer)
{
	const uint64_t now = wmk_clock_monotonic();

	consumer->reclaim_at = WMK_RECLAIM_NEVER;
	for (size_t i = 0; i < consumer->n_streams; i++) {
		struct wmk_stream *stream = consumer->streams[i];
		const uint64_t after = stream->group->reclaim_ns;

		if (!stream->source->ops->reclaim || stream->failed)
			continue;
		look(stream, now);
		if (!after || stream->reclaimed)
			continue;
		if (now - stream->idle_ns >= after)
			reclaim(stream, now);
		if (!stream->reclaimed && stream->idle_ns + after < consumer->reclaim_at)
			consumer->reclaim_at = stream->idle_ns + after;
	}
}

int wmk_group_reclaim(struct wmk_consumer *consumer, const struct wmk_group *group, uint64_t idle_ns)
{
	const uint64_t now = wmk_clock_monotonic();
	int first = 0;

	for (size_t i = 0; i < consumer->n_streams; i++) {
		struct wmk_stream *stream = consumer->streams[i];

		if (stream->group != group || !stream->source->ops->reclaim || stream->failed)
			continue;
		look(stream, now);
		const int64_t bytes = now - stream->idle_ns < idle_ns ? 0 : reclaim(stream, now);

		if (bytes < 0 && first == 0)
			first = (int)bytes;
	}
	return first;
}
