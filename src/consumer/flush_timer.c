/* SPDX-License-Identifier: MIT */
/*
 * flush_timer.c - writes parts of sub-buffers, so that each record is in the trace within the flush interval of its
 * channel, even if records are rare.
 *
 * The interval of a stream begins at the last pass that found nothing unread, so it begins before the record. A ring
 * that fills whole sub-buffers faster than the interval is never flushed. After a long sleep, the first record is
 * written at once. A test whether a buffer of the kernel has records is expensive. So these buffers are flushed until
 * they have none, and again after they have woken the thread (kernel_sleep.c).
 */
#include "consumer/flush_timer.h"

#include "base/clock.h"

#define EARLY 20u                  /* a flush begins 1/EARLY of the interval early, since writing takes time */

/* The time at which the stream's part has to be written; WMK_FLUSH_NEVER if it has none. */
static uint64_t due_of(const struct wmk_stream *stream)
{
	const uint64_t interval = stream->group->flush_ns;

	return stream->unread_ns && !stream->flushed ? stream->unread_ns + interval - interval / EARLY
						     : WMK_FLUSH_NEVER;
}

/* The positions of a ring show whether it has a part. */
static void look(struct wmk_stream *stream, uint64_t last_pass, uint64_t now)
{
	if (!stream->source->ops->has_part(stream->source))
		stream->unread_ns = 0;
	else if (stream->packets)          /* this pass took whole sub-buffers */
		stream->unread_ns = now;
	else if (!stream->unread_ns)
		stream->unread_ns = last_pass;
}

/* A source of the kernel may have a part until a flush finds none, and again after it has woken the thread. */
static void look_at_kernel(const struct wmk_consumer *consumer, struct wmk_stream *stream, uint64_t now)
{
	if (stream->packets || !stream->unread_ns)
		stream->unread_ns = now;
	if (stream->packets || consumer->source_woke)
		stream->flushed = false;
}

static bool flushes(const struct wmk_stream *stream)
{
	const struct wmk_source_ops *ops = stream->source->ops;

	return stream->group->flush_ns && !stream->failed && (ops->has_part || ops->arm) &&
	       !wmk_stream_is_at_stop_only(stream);
}

static void flush(struct wmk_consumer *consumer, struct wmk_stream *stream, uint64_t now, struct wmk_drain_result *pass)
{
	const bool any = wmk_stream_flush(consumer, stream, pass);

	if (any)
		consumer->fruitless = false;
	if (stream->source->ops->has_part) {
		stream->unread_ns = stream->source->ops->has_part(stream->source) ? now : 0;
	} else {
		stream->unread_ns = now;
		stream->flushed = !any && !stream->stuck;
	}
}

void wmk_consumer_flush_due(struct wmk_consumer *consumer, struct wmk_drain_result *pass)
{
	const uint64_t now = wmk_clock_monotonic(), last_pass = consumer->pass_ns ? consumer->pass_ns : now;

	consumer->pass_ns = now;
	consumer->flush_at = WMK_FLUSH_NEVER;
	consumer->flush_least_ns = WMK_FLUSH_NEVER;
	consumer->flushes = false;
	if (pass->packets)
		consumer->fruitless = false;
	for (size_t i = 0; i < consumer->n_streams; i++) {
		struct wmk_stream *stream = consumer->streams[i];

		if (!flushes(stream))
			continue;
		consumer->flushes = true;
		if (stream->group->flush_ns < consumer->flush_least_ns)
			consumer->flush_least_ns = stream->group->flush_ns;
		if (stream->source->ops->has_part)
			look(stream, last_pass, now);
		else
			look_at_kernel(consumer, stream, now);
		if (due_of(stream) <= now && !pass->full)
			flush(consumer, stream, now, pass);
		if (due_of(stream) < consumer->flush_at)
			consumer->flush_at = due_of(stream);
	}
	consumer->source_woke = false;
}
