/* SPDX-License-Identifier: MIT */
/*
 * flush_timer.c - writes parts of sub-buffers, so that each record is in the trace within the flush interval of its
 * channel, even if records are rare.
 *
 * The flush interval of a stream begins at the last pass that found no unread record, so it begins before the first
 * unread record is committed. A ring that fills whole sub-buffers faster than the interval is never flushed. After a
 * long sleep of the consumer's thread, the first record is written at once. A test whether a kernel buffer has unread
 * records is expensive, so the consumer's thread flushes a kernel buffer until the buffer is empty. After the kernel
 * has woken the consumer's thread for a kernel buffer (kernel_sleep.c), the thread flushes the buffer again.
 *
 * While a live reader follows the trace (store/followed.h), the flush interval is 10 ms, or 50 ms if the parts are
 * large. If no record is unread at the end of a pass, the consumer publishes the low-water time. With the low-water
 * time, a reader that merges streams does not wait for streams without records.
 */
#include "consumer/flush_timer.h"

#include "base/clock.h"

#define EARLY 20u                  /* a flush begins 1/EARLY of the interval early, since writing takes time */
/*
 * interval while a live reader follows the trace: the first usually, the second if one part had more than BUSY_RECORDS
 */
#define FOLLOWED_NS 10000000u
#define FOLLOWED_BUSY_NS 50000000u
#define BUSY_RECORDS 1000u
#define COMMIT_NS 1000000u         /* from raise_floor() until all earlier records are committed */

static uint64_t interval_of(const struct wmk_consumer *consumer, const struct wmk_stream *stream)
{
	const uint64_t own = stream->group->flush_ns, followed = consumer->is_busy ? FOLLOWED_BUSY_NS : FOLLOWED_NS;

	return consumer->is_followed && followed < own ? followed : own;
}

/*
 * Return the time at which the unread part of the stream has to be written. Returns WMK_FLUSH_NEVER if the stream has
 * no unread part.
 */
static uint64_t due_of(const struct wmk_consumer *consumer, const struct wmk_stream *stream)
{
	const uint64_t interval = interval_of(consumer, stream);

	return stream->unread_ns && !stream->flushed ? stream->unread_ns + interval - interval / EARLY
						     : WMK_FLUSH_NEVER;
}

/*
 * Set unread_ns of a ring. has_part() derives from the positions of the ring whether a part of a sub-buffer is unread.
 */
static void look(struct wmk_stream *stream, uint64_t last_pass, uint64_t now)
{
	if (!stream->source->ops->has_part(stream->source))
		stream->unread_ns = 0;
	else if (stream->packets)          /* this pass took whole sub-buffers */
		stream->unread_ns = now;
	else if (!stream->unread_ns)
		stream->unread_ns = last_pass;
}

/*
 * A source of the kernel does not report whether it has an unread part. The consumer's thread assumes an unread part
 * until a flush finds no records, and again after the source has woken the thread.
 */
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
	const uint64_t before = stream->taken;
	const bool any = wmk_stream_flush(consumer, stream, pass);

	if (any)
		consumer->fruitless = false;
	pass->flushed |= any;
	consumer->is_busy |= stream->taken - before > BUSY_RECORDS;
	if (stream->source->ops->has_part) {
		stream->unread_ns = stream->source->ops->has_part(stream->source) ? now : 0;
	} else {
		stream->unread_ns = now;
		stream->flushed = !any && !stream->stuck;
	}
}

/* Check all streams. Returns true if the flush interval is over for the unread part of at least one stream. */
static bool look_at_all(struct wmk_consumer *consumer, const struct wmk_drain_result *pass, uint64_t last_pass,
			uint64_t now)
{
	bool is_due = false;

	consumer->flush_least_ns = WMK_FLUSH_NEVER;
	consumer->flushes = false;
	if (pass->packets)
		consumer->fruitless = false;
	for (size_t i = 0; i < consumer->n_streams; i++) {
		struct wmk_stream *stream = consumer->streams[i];

		if (!flushes(stream))
			continue;
		consumer->flushes = true;
		if (interval_of(consumer, stream) < consumer->flush_least_ns)
			consumer->flush_least_ns = interval_of(consumer, stream);
		if (stream->source->ops->has_part)
			look(stream, last_pass, now);
		else
			look_at_kernel(consumer, stream, now);
		is_due |= due_of(consumer, stream) <= now;
	}
	return is_due;
}

/*
 * Raise the floor of each source (the earliest possible time of later records), and return the least floor; 0 if the
 * floor of a source is unknown.
 */
static uint64_t raise_floors(const struct wmk_consumer *consumer)
{
	uint64_t floor = UINT64_MAX;

	for (size_t i = 0; i < consumer->n_streams && floor; i++) {
		struct wmk_source *source = consumer->streams[i]->source;

		if (!flushes(consumer->streams[i]))
			continue;
		const uint64_t one = source->ops->raise_floor ? source->ops->raise_floor(source) : 0;

		floor = one < floor ? one : floor;
	}
	return floor == UINT64_MAX ? 0 : floor;
}

/*
 * Called after a drain pass that has left no record unread. If consumer->floor was raised at least COMMIT_NS ago, the
 * pass has written all records earlier than consumer->floor.
 */
static void publish_low_water(struct wmk_consumer *consumer, uint64_t now)
{
	struct wmk_output_trace *output = consumer->options.output;

	if (consumer->floor && now - consumer->floor_ns >= COMMIT_NS)
		output->ops->low_water(output, consumer->floor);
}

/*
 * With a live reader, if the unread part of one stream is due, the unread parts of all streams are written, so that no
 * ring holds an unwritten record before the low-water time.
 */
void wmk_consumer_flush_due(struct wmk_consumer *consumer, struct wmk_drain_result *pass)
{
	struct wmk_output_trace *output = consumer->options.output;
	const uint64_t now = wmk_clock_monotonic(), last_pass = consumer->pass_ns ? consumer->pass_ns : now;

	consumer->is_followed = output && output->ops->is_followed && output->ops->is_followed(output);
	const bool is_due = look_at_all(consumer, pass, last_pass, now) && !pass->full;
	bool is_low_water = consumer->is_followed && !pass->full;

	consumer->pass_ns = now;
	consumer->flush_at = WMK_FLUSH_NEVER;
	if (is_due)
		consumer->is_busy = false;
	for (size_t i = 0; i < consumer->n_streams; i++) {
		struct wmk_stream *stream = consumer->streams[i];

		if (!flushes(stream)) {
			is_low_water &= stream->failed || wmk_stream_is_at_stop_only(stream) || stream->dump;
			continue;
		}
		const bool flushed = is_due && (consumer->is_followed || due_of(consumer, stream) <= now);

		/* (a flush does not pass the end of a chunk) */
		is_low_water &= !stream->has_cut &&
				(flushed || (stream->source->ops->has_part && !stream->unread_ns));
		if (flushed)
			flush(consumer, stream, now, pass);
		if (due_of(consumer, stream) < consumer->flush_at)
			consumer->flush_at = due_of(consumer, stream);
	}
	consumer->source_woke = false;
	if (is_low_water && pass->err == 0)
		publish_low_water(consumer, now);
	if (!consumer->is_followed) {
		consumer->floor = 0;
	} else if (!consumer->floor || now - consumer->floor_ns >= COMMIT_NS) {
		consumer->floor_ns = wmk_clock_monotonic();
		consumer->floor = raise_floors(consumer);
	}
}
