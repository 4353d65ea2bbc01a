/* SPDX-License-Identifier: MIT */
/*
 * stream_counts.c - counts of records, summed per stream and per group.
 */
#include "consumer/stream_counts.h"

#include <string.h>

uint64_t wmk_stream_lost(struct wmk_stream *stream)
{
	uint64_t lost = stream->failed ? 0 : stream->source->ops->lost(stream->source, stream->causes);

	if (lost > stream->source_lost)
		stream->source_lost = lost;
	return stream->source_lost;
}

void wmk_consumer_stats_add(struct wmk_consumer_stats *sum, const struct wmk_consumer_stats *more)
{
	wmk_counts_add(&sum->counts, &more->counts);
	if (more->output_error)
		sum->output_error = more->output_error;
	sum->stuck |= more->stuck;
	if (!sum->words[0])
		memcpy(sum->words, more->words, sizeof(sum->words));
}

static void sum_stream(struct wmk_stream *stream, const struct wmk_output_trace_ops *ops,
		       struct wmk_consumer_stats *sum)
{
	struct wmk_counts *counts = &sum->counts;
	uint64_t causes = 0, lost = wmk_stream_lost(stream);

	for (unsigned c = 0; c < WAYMARK_LOST_CAUSES; c++)
		causes += stream->causes[c];
#define WMK_COUNT(name)
#define WMK_COUNT_LOST(name, cause) wmk_sum_add(&counts->name, stream->causes[cause]);
#include "wire/counts.def"
	wmk_sum_add(&counts->records, stream->written);
	wmk_sum_add(&counts->dumped, stream->dump ? stream->written : 0);
	wmk_sum_add(&counts->unwritten, wmk_stream_unwritten(stream));
	wmk_sum_add(&counts->overwritten, lost > causes ? lost - causes : 0);
	wmk_sum_add(&counts->lost, lost + wmk_stream_unwritten(stream));
	wmk_sum_add(&counts->cut, stream->cut);
	sum->stuck |= stream->stuck;
	wmk_sum_add(&counts->bytes, stream->out && ops->stream_bytes ? ops->stream_bytes(stream->out) : stream->bytes);
}

void wmk_consumer_sum(struct wmk_consumer *consumer, const struct wmk_group *group, struct wmk_consumer_stats *sum)
{
	*sum = group->now;
	sum->counts.writing_us = group->writing_ns / 1000;
	sum->counts.behind_us = group->behind_ns / 1000;
	for (size_t i = 0; i < consumer->n_streams; i++)
		if (consumer->streams[i]->group == group)
			sum_stream(consumer->streams[i], consumer->options.output->ops, sum);
	sum->earlier = group->earlier;
	wmk_counts_add(&sum->counts, &group->earlier);
}

/*
 * The lost count in a closed chunk is exact. The source continues to count, so the counts of single causes may already
 * include losses of the next chunk. The sum of the counts of all causes is limited to the lost count of the chunk.
 */
void wmk_stream_ended(struct wmk_stream *stream)
{
	struct wmk_counts *counts = &stream->group->ended;
	const uint64_t unwritten = wmk_stream_unwritten(stream);
	uint64_t left = stream->lost_written > unwritten ? stream->lost_written - unwritten : 0;

	wmk_sum_add(&counts->records, stream->written);
	wmk_sum_add(&counts->dumped, stream->dump ? stream->written : 0);
	wmk_sum_add(&counts->unwritten, unwritten);
	wmk_sum_add(&counts->lost, left + unwritten);
	wmk_sum_add(&counts->cut, stream->cut);
	wmk_sum_add(&counts->bytes, stream->bytes);
#define WMK_COUNT(name)
#define WMK_COUNT_LOST(name, cause)                                                                                    \
	const uint64_t name = stream->causes[cause] < left ? stream->causes[cause] : left;                             \
	wmk_sum_add(&counts->name, name);                                                                              \
	left -= name;
#include "wire/counts.def"
	wmk_sum_add(wmk_stream_is_at_stop_only(stream) ? &counts->overwritten : &counts->lost_full, left);
}

void wmk_group_close_counts(const struct wmk_group *group, struct wmk_counts *sum)
{
	*sum = group->now.counts;
	sum->writing_us = group->writing_ns / 1000;
	sum->behind_us = group->behind_ns / 1000;
	wmk_counts_add(sum, &group->ended);
	wmk_counts_add(sum, &group->earlier);
}

void wmk_consumer_publish(struct wmk_consumer *consumer)
{
	struct wmk_consumer_stats all = consumer->gone, one;

	for (size_t i = 0; i < consumer->n_groups; i++) {
		wmk_consumer_sum(consumer, consumer->groups[i], &one);
		wmk_consumer_stats_add(&all, &one);
	}
	if (consumer->options.output && consumer->options.output->ops->bytes)
		all.counts.bytes = consumer->options.output->ops->bytes(consumer->options.output);
	pthread_mutex_lock(&consumer->lock);
	consumer->stats = all;
	pthread_mutex_unlock(&consumer->lock);
}
