/* SPDX-License-Identifier: MIT */
/*
 * rotation.c - close a chunk of the trace and begin the next one (see rotation.h).
 */
#include "consumer/rotation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/testpoint.h"
#include "consumer/clock_restart.h"
#include "consumer/clock_sync.h"
#include "consumer/drain.h"
#include "consumer/stream_counts.h"
#include "consumer/streams.h"

#define CUT_NS 1000000000u         /* a rotation follows its cuts within this time */
/* attempts in one pass to read up to a cut, as fast writers may fill the ring meanwhile */
#define FLUSHES 4

/* ── cut ─────────────────────────────────────────────────────────────────────────────────────────────── */

static void lift(struct wmk_consumer *consumer)
{
	for (size_t i = 0; i < consumer->n_streams; i++) {
		struct wmk_stream *stream = consumer->streams[i];

		if (stream->group->is_next)
			continue;
		if (stream->has_cut)
			stream->source->ops->chunk_cut_at(stream->source, NULL);
		stream->has_cut = false;
	}
	consumer->cut_ns = 0;
}

void wmk_consumer_cut_expire(struct wmk_consumer *consumer, bool now)
{
	if (consumer->cut_ns && !consumer->rotating && (now || wmk_clock_monotonic() - consumer->cut_ns > CUT_NS))
		lift(consumer);
	wmk_clock_restart_expire(consumer, now);
}

static int check_sources(const struct wmk_consumer *consumer)
{
	if (!consumer->options.output || !consumer->options.output->ops->rotate)
		return wmk_errorx(-ENOTSUP, "this trace output cannot be rotated");
	for (size_t i = 0; i < consumer->n_streams; i++)
		if (!consumer->streams[i]->source->ops->chunk_begin)
			return wmk_errorx(-ENOTSUP, "stream %.60s cannot be rotated", consumer->streams[i]->name);
	return 0;
}

static int do_cut(void *data)
{
	struct wmk_consumer *consumer = data;
	int err = check_sources(consumer);

	if (err < 0 || consumer->rotating)
		return err;
	for (size_t i = 0; i < consumer->n_streams; i++) {
		struct wmk_stream *stream = consumer->streams[i];

		if (stream->group->is_next)
			continue;
		const uint64_t now = wmk_group_kernel_now(stream->group);

		/* If the source has no cut, the stream ends at the position where the source was last read. */
		stream->has_cut = !stream->failed && !wmk_stream_is_at_stop_only(stream) &&
				  stream->source->ops->chunk_cut(stream->source, &stream->chunk_cut) == 0;
		if (now)
			stream->chunk_cut.ts = now;
	}
	wmk_error_clear();
	consumer->cut_ns = wmk_clock_monotonic();
	return 0;
}

int wmk_consumer_cut(struct wmk_consumer *consumer)
{
	return wmk_consumer_run_work(consumer, do_cut, consumer);
}

/* ── rotate ──────────────────────────────────────────────────────────────────────────────────────────── */

struct rotation {
	struct wmk_consumer *consumer;
	const char *closed;
	uint64_t number;
};

static bool has_group(const struct wmk_consumer *consumer, const char *channel)
{
	for (size_t i = 0; i < consumer->n_groups; i++)
		if (strcmp(consumer->groups[i]->channel, channel) == 0)
			return true;
	return false;
}

/*
 * Keep the stored counts of channels that have no rings in this consumer. After a crash, applications may not have
 * returned the rings of such a channel yet.
 */
static int journal_absent(const struct wmk_consumer *consumer, const struct wmk_chunk_journal *from, char **text)
{
	int err = 0;

	for (size_t i = 0; i < from->n_counts && err == 0; i++)
		if (!has_group(consumer, from->counts[i].channel) &&
		    (from == &consumer->journal ||
		     !wmk_chunk_journal_find_counts(&consumer->journal, from->counts[i].channel)))
			err = wmk_chunk_journal_counts(text, from->counts[i].channel, &from->counts[i].counts);
	return err;
}

/*
 * The sums over all chunks. If an earlier consumer has stored the sums over all chunks, the stored sums are used. After
 * an earlier consumer has stored the sums, the rings may already have restarted their counts.
 */
static int journal_counts(const struct wmk_consumer *consumer, char **text)
{
	int err = 0;

	for (size_t i = 0; i < consumer->n_groups && err == 0; i++) {
		const struct wmk_group *group = consumer->groups[i];
		const struct wmk_counts *stored = wmk_chunk_journal_find_counts(&consumer->journal, group->channel);
		struct wmk_counts sum;

		wmk_group_close_counts(group, &sum);
		if (group->channel[0])
			err = wmk_chunk_journal_counts(text, group->channel, stored ? stored : &sum);
	}
	if (err == 0)
		err = journal_absent(consumer, &consumer->journal, text);
	return err < 0 ? err : journal_absent(consumer, &consumer->begins, text);
}

static int journal(const struct rotation *rotation, bool is_last)
{
	struct wmk_consumer *consumer = rotation->consumer;
	char *text = NULL;
	int err = wmk_chunk_journal_begin(&text, rotation->number, rotation->closed);

	for (size_t i = 0; i < consumer->n_streams && err == 0; i++) {
		struct wmk_stream *stream = consumer->streams[i];

		if (!stream->has_cut && !stream->failed && !wmk_stream_is_at_stop_only(stream))
			wmk_stream_cut_here(stream);
		if (stream->has_cut)
			err = wmk_chunk_journal_add(&text, stream->name, &stream->chunk_cut);
	}
	if (err == 0 && is_last)
		err = journal_counts(consumer, &text);
	if (err == 0)
		err = wmk_chunk_journal_end(&text);
	if (err < 0)
		wmk_error(err, "no memory for the journal of a rotation");
#ifndef WMK_PLANTED_BUG_NO_JOURNAL           /* planted bug: the cuts are not stored */
	else
		err = consumer->options.output->ops->journal(consumer->options.output, text, strlen(text));
#endif
	free(text);
	consumer->journaled = err == 0;
	consumer->rotating |= err == 0;
	return err;
}

/* Write the records up to the cuts of all sources. -EAGAIN: some are not written yet. */
static int drain(struct wmk_consumer *consumer)
{
	struct wmk_drain_result seen = { 0 };
	bool ready = true;

	for (size_t i = 0; i < consumer->n_streams; i++) {
		struct wmk_stream *stream = consumer->streams[i];
		int tries = 0;

		if (stream->failed || stream->chunk_begun || (!stream->has_cut && !wmk_stream_is_at_stop_only(stream)))
			continue;
		do {
			wmk_stream_flush(consumer, stream, &seen);
		} while (seen.err == 0 && ++tries < FLUSHES && !stream->failed &&
			 !stream->source->ops->chunk_ready(stream->source));
		ready &= stream->failed || stream->source->ops->chunk_ready(stream->source);
	}
	return seen.err < 0 ? seen.err
	       : ready	    ? 0
			    : wmk_error(-EAGAIN, "the records before the end of the chunk are not written yet");
}

/* Write the final counts of the stream and close its file. Each stream ends only once, even if a later stream fails. */
static int end_stream(struct wmk_consumer *consumer, struct wmk_stream *stream)
{
	const struct wmk_output_trace_ops *ops = consumer->options.output->ops;

	if (stream->chunk_ended)
		return 0;
	/* A stream that waits for the next chunk has no records in the chunk that is being closed. */
	stream->chunk_begun |= stream->group->is_next;
	/* (the causes; the end of the chunk has the exact sum) */
	wmk_stream_lost(stream);
	int err = stream->failed || stream->chunk_begun ? 0 : wmk_stream_end_chunk(consumer, stream);

	if (err < 0)
		return err;
	if (stream->out) {
		stream->bytes = ops->stream_bytes ? ops->stream_bytes(stream->out) : 0;
		ops->stream_close(stream->out);
	}
	stream->out = NULL;
	wmk_stream_ended(stream);
	stream->chunk_ended = true;
	return 0;
}

/* Let the sources with records_at, or the sources without records_at, restart their counts. */
static void begin_sources(struct wmk_consumer *consumer, bool with_records_at)
{
	for (size_t i = 0; i < consumer->n_streams; i++) {
		struct wmk_stream *stream = consumer->streams[i];

		if (stream->failed || stream->chunk_begun ||
		    (stream->source->ops->records_at != 0) != with_records_at)
			continue;
		stream->source->ops->chunk_begin(stream->source, stream->lost_written - wmk_stream_unwritten(stream),
						 &stream->chunk_cut);
		stream->has_cut |= with_records_at;
		stream->chunk_begun = true;
	}
}

/*
 * Kernel sources do not store the position at which their next chunk begins, so the last journal of the rotation
 * contains these positions. The last journal also contains the counts, because a ring loses its counts when its next
 * chunk begins. When the next chunk is open, the last journal becomes a file of the next chunk. A later consumer reads
 * the positions and the counts from this file of the next chunk.
 */
static int count_anew(const struct rotation *rotation)
{
	begin_sources(rotation->consumer, true);
	int err = journal(rotation, true);

	WMK_TESTPOINT(rotation_summed);
	if (err == 0)
		begin_sources(rotation->consumer, false);
	return err;
}

static void load_begins(struct wmk_consumer *consumer, uint64_t number)
{
	struct wmk_output_trace *output = consumer->options.output;
	char *text = NULL;

	wmk_chunk_journal_free(&consumer->begins);
	if (number && output->ops->begins_read(output, consumer->closed, &text) == 0)
		wmk_chunk_journal_parse(text, number, &consumer->begins);
	free(text);
	wmk_error_clear();
}

/*
 * Restart the counts of all streams for the chunk that the rotation has opened. If a position contains the number of
 * records in the chunk (records_at), this number restarts at 0.
 */
static void begin_streams(struct wmk_consumer *consumer)
{
	for (size_t i = 0; i < consumer->n_streams; i++) {
		struct wmk_stream *stream = consumer->streams[i];

		const unsigned records_at = stream->source->ops->records_at;

		stream->source->ops->chunk_cut_at(stream->source, NULL);
		if (records_at && stream->has_cut) {
			stream->packet_pos &= (UINT64_C(1) << (records_at - 1)) - 1;
			stream->end_pos = stream->chunk_cut.pos;
		}
		stream->sequence = stream->taken = stream->written = 0;
		stream->source_lost = stream->lost_written = 0;
		stream->cut = stream->cut_written = stream->bytes = 0;
		memset(stream->causes, 0, sizeof(stream->causes));
		stream->stuck = stream->has_cut = stream->chunk_begun = stream->chunk_ended = false;
	}
	for (size_t i = 0; i < consumer->n_groups; i++) {
		struct wmk_group *group = consumer->groups[i];
		const struct wmk_counts *stored = wmk_chunk_journal_find_counts(&consumer->journal, group->channel);
		struct wmk_counts sum;

		wmk_group_close_counts(group, &sum);
		group->earlier = stored ? *stored : sum;
		memset(&group->now, 0, sizeof(group->now));
		memset(&group->ended, 0, sizeof(group->ended));
		group->writing_ns = group->behind_ns = 0;
	}
	consumer->floor = 0;
}

static void sync_clock(struct wmk_consumer *consumer)
{
	consumer->clock.is_due = true;
	wmk_clock_sync(consumer, 0);
}

/*
 * The rings restart their counts before the chunk is moved. If the consumer crashes after the restart and before the
 * move, the next consumer finds the journal and the restarted counts (chunk_begun).
 */
static int do_rotate(void *data)
{
	const struct rotation *rotation = data;
	struct wmk_consumer *consumer = rotation->consumer;
	struct wmk_output_trace *output = consumer->options.output;
	int err = check_sources(consumer);

	if (err == 0 && !consumer->journaled)
		err = journal(rotation, false);
	WMK_TESTPOINT(rotation_journaled);
	if (err == 0)
		err = drain(consumer);
	WMK_TESTPOINT(rotation_drained);
	for (size_t i = 0; i < consumer->n_streams && err == 0; i++)
		err = end_stream(consumer, consumer->streams[i]);
	if (err == 0)
		err = count_anew(rotation);
	WMK_TESTPOINT(rotation_counted);
	/* Each chunk has sync points of the clock at its beginning and at its end. */
	if (err == 0)
		sync_clock(consumer);
	if (err == 0)
		err = output->ops->rotate(output, rotation->closed, rotation->number);
	if (err < 0)
		return err;
	wmk_clock_restart_end(consumer);
	sync_clock(consumer);
	begin_streams(consumer);
	consumer->cut_ns = 0;
	consumer->journaled = consumer->rotating = false;
	wmk_chunk_journal_free(&consumer->journal);
	snprintf(consumer->closed, sizeof(consumer->closed), "%s", rotation->closed);
	load_begins(consumer, rotation->number);
	return 0;
}

int wmk_consumer_rotate(struct wmk_consumer *consumer, const char *closed, uint64_t number)
{
	struct rotation rotation = { .consumer = consumer, .closed = closed, .number = number };

	return wmk_consumer_run_work(consumer, do_rotate, &rotation);
}

bool wmk_consumer_chunk_restore(struct wmk_consumer *consumer, const char *closed, uint64_t number)
{
	struct wmk_output_trace *output = consumer->options.output;
	char *text = NULL;

	snprintf(consumer->closed, sizeof(consumer->closed), "%s", closed);
	if (output->ops->chunk)
		load_begins(consumer, output->ops->chunk(output));
	if (!output->ops->chunk || output->ops->chunk(output) >= number)
		return false;
	if (output->ops->journal_read(output, &text) == 0 &&
	    wmk_chunk_journal_parse(text, number, &consumer->journal) == 0)
		consumer->journaled = true;
	free(text);
	wmk_error_clear();
	consumer->rotating = true;
	return true;
}
