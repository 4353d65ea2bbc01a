/* SPDX-License-Identifier: MIT */
/*
 * streams.c - groups of streams: added, continued after an earlier consumer, restarted, removed. See streams.h.
 */
#include "consumer/streams.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "consumer/drain.h"
#include "consumer/stream_counts.h"

/* Append to an array of pointers, under streams_lock. */
static int push(void ***array, size_t *n, void *item)
{
	void **grown = realloc(*array, (*n + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	grown[(*n)++] = item;
	*array = grown;
	return 0;
}

static void pull(void **array, size_t *n, const void *item)
{
	size_t i = 0;

	while (i < *n && array[i] != item)
		i++;
	if (i == *n)
		return;
	memmove(&array[i], &array[i + 1], (*n - i - 1) * sizeof(*array));
	(*n)--;
}

struct wmk_group *wmk_streams_find_group(struct wmk_consumer *consumer, const void *from)
{
	for (size_t i = 0; i < consumer->n_groups; i++)
		if (consumer->groups[i]->from == from)
			return consumer->groups[i];
	return NULL;
}

struct wmk_group *wmk_streams_add_group(struct wmk_consumer *consumer, const void *from)
{
	struct wmk_group *group = calloc(1, sizeof(*group));

	if (!group || push((void ***)&consumer->groups, &consumer->n_groups, group) < 0) {
		free(group);
		wmk_error(-ENOMEM, "no memory for another channel");
		return NULL;
	}
	group->from = from;
	group->start_ts = consumer->options.start_ts;
	return group;
}

int wmk_streams_add_source(struct wmk_consumer *consumer, struct wmk_group *group, struct wmk_source *source,
			   const char *name, uint32_t stream_id, uint64_t instance, uint32_t cpu)
{
	struct wmk_stream *stream;

	if (strlen(name) >= sizeof(stream->name))
		return wmk_error(-EINVAL, "stream %.60s: the name has %zu bytes, above the limit of %zu", name,
				 strlen(name), sizeof(stream->name) - 1);
	if (consumer->ended)
		return wmk_error(-ESHUTDOWN, "the consumer has been stopped");
	stream = calloc(1, sizeof(*stream));
	if (!stream || push((void ***)&consumer->streams, &consumer->n_streams, stream) < 0) {
		free(stream);
		return wmk_error(-ENOMEM, "no memory for stream %.60s", name);
	}
	strcpy(stream->name, name);
	stream->group = group;
	stream->source = source;
	stream->stream_id = stream_id;
	stream->instance = instance;
	stream->cpu = cpu;
	return 0;
}

static void close_stream(struct wmk_consumer *consumer, struct wmk_stream *stream)
{
	if (stream->out)
		consumer->options.output->ops->stream_close(stream->out);
	stream->source->ops->close(stream->source);
	free(stream);
}

void wmk_streams_remove_group(struct wmk_consumer *consumer, struct wmk_group *group)
{
	struct wmk_consumer_stats last;
	size_t kept = 0;

	wmk_consumer_sum(consumer, group, &last);
	last.counts.bytes = 0; /* the output counts them */
	wmk_consumer_stats_add(&consumer->gone, &last);
	for (size_t i = 0; i < consumer->n_streams; i++) {
		if (consumer->streams[i]->group == group)
			close_stream(consumer, consumer->streams[i]);
		else
			consumer->streams[kept++] = consumer->streams[i];
	}
	consumer->n_streams = kept;
	pthread_mutex_lock(&consumer->lock);
	pull((void **)consumer->sets, &consumer->n_sets, group->from);
	pthread_mutex_unlock(&consumer->lock);
	pull((void **)consumer->groups, &consumer->n_groups, group);
	if (group->cpus)
		group->close_cpus(group->cpus);
	free(group);
}

/*
 * Open the file of an earlier consumer. 1, 0 or -ENOENT as stream_resume(); -errno: the stream cannot be continued in
 * this file. If the function returns -errno, the file is unchanged.
 */
static int resume_file(struct wmk_consumer *consumer, struct wmk_stream *stream, struct wmk_ctf_packet *last)
{
	const struct wmk_output_trace_ops *ops = consumer->options.output->ops;
	int found = -ENOENT;

	if (ops->stream_resume)
		found = ops->stream_resume(consumer->options.output, stream->name, &stream->group->limits, &stream->out,
					   last);
	if (found == 1 && (last->stream_id != stream->stream_id || last->instance != stream->instance)) {
		ops->stream_close(stream->out);
		stream->out = NULL;
		found = wmk_error(-EPROTO, "stream %.60s belongs to another ring", stream->name);
	}
	return found;
}

int wmk_streams_restart(struct wmk_consumer *consumer, struct wmk_stream *stream)
{
	const struct wmk_output_trace_ops *ops = consumer->options.output->ops;
	int err;

	if (!stream->source->ops->clear || !ops->stream_remove)
		return wmk_error(-ENOTSUP, "stream %.60s cannot be cleared", stream->name);
	if (stream->out)
		ops->stream_close(stream->out);
	stream->out = NULL;
	stream->sequence = stream->taken = stream->written = stream->packet_pos = 0;
	stream->source_lost = stream->lost_written = 0;
	stream->cut = stream->cut_written = stream->bytes = 0;
	memset(stream->causes, 0, sizeof(stream->causes));
	stream->stuck = false;
	/*
	 * The clearing also restarts a stream that ended with an error. If the source is still corrupt, clear() below
	 * fails, and the stream ends again.
	 */
	stream->failed = false;
	/*
	 * Clear the ring first. If this process crashes before the files are removed, the next consumer finds files
	 * older than the ring's start.
	 */
	if (consumer->begins.n || consumer->begins.n_counts) {
		wmk_chunk_journal_free(&consumer->begins);
		ops->begins_remove(consumer->options.output);
	}
	err = stream->source->ops->clear(stream->source, &stream->end_pos, &stream->end_ts);
	if (err < 0)
		wmk_consumer_fail_stream(consumer, stream, "its ring cannot be cleared", err);
	return ops->stream_remove(consumer->options.output, stream->name, &stream->group->limits);
}

void wmk_stream_cut_here(struct wmk_stream *stream)
{
	stream->chunk_cut = (struct wmk_ring_cut){ .pos = stream->end_pos, .ts = stream->end_ts };
	stream->source->ops->chunk_cut_at(stream->source, &stream->chunk_cut);
	stream->has_cut = true;
}

/*
 * A rotation is not finished. If a rotation is not finished, the stream ends at the cut in the journal. If the journal
 * or the cut is missing, the stream ends at the end of its last packet.
 */
static void cut_again(struct wmk_consumer *consumer, struct wmk_stream *stream)
{
	const struct wmk_ring_cut *cut = wmk_chunk_journal_find(&consumer->journal, stream->name);

	if (!consumer->rotating || stream->failed || wmk_stream_is_at_stop_only(stream) ||
	    !stream->source->ops->chunk_cut_at)
		return;
	if (!cut) {
		wmk_stream_cut_here(stream);
		return;
	}
	stream->chunk_cut = *cut;
	stream->has_cut = true;
	stream->chunk_begun = stream->source->ops->chunk_cut_at(stream->source, cut) == 1;
}

static void report_gap(struct wmk_consumer *consumer, struct wmk_stream *stream)
{
	struct wmk_consumer_stats *now = &stream->group->now;
	char words[WMK_STREAM_NAME + 120];

	snprintf(words, sizeof(words),
		 "stream %s: the previous consumer daemon crashed; an unknown number of records was lost",
		 stream->name);
	now->counts.gaps++;
	if (!now->words[0])
		snprintf(now->words, sizeof(now->words), "%.*s", (int)sizeof(now->words) - 1, words);
	if (consumer->options.output->ops->note)
		consumer->options.output->ops->note(consumer->options.output, words);
}

/*
 * If the stream has no file in the open chunk, find the last packet of the stream in the previous chunk. The stream has
 * no file if the application returned the ring only after the previous chunk was closed.
 */
static bool find_before(struct wmk_consumer *consumer, struct wmk_stream *stream, struct wmk_ctf_packet *last)
{
	const struct wmk_output_trace_ops *ops = consumer->options.output->ops;
#ifdef WMK_PLANTED_BUG_TWICE                 /* planted bug: records of the closed chunk are written again */
	return false;
#endif
	const bool found = ops->chunk_last && consumer->closed[0] && stream->source->ops->chunk_begin &&
			   ops->chunk_last(consumer->options.output, consumer->closed, stream->name,
					   &stream->group->limits, last) == 1;

	return found && last->stream_id == stream->stream_id && last->instance == stream->instance;
}

/*
 * A source with records_at does not store the position and the counts that it had at the beginning of the open chunk.
 * Restore its counts. If the open chunk has no packet of the stream, also restore the position of the source. True: the
 * position was restored.
 */
static bool begin_again(struct wmk_consumer *consumer, struct wmk_stream *stream, bool found,
			struct wmk_ctf_packet *last)
{
	const unsigned records_at = stream->source->ops->records_at;
	const struct wmk_ring_cut *begin = wmk_chunk_journal_find(&consumer->begins, stream->name);
	struct wmk_ring_cut same;

	if (!records_at || !begin || !stream->source->ops->chunk_begin)
		return false;
	stream->source->ops->chunk_begin(stream->source, begin->records, &same);
	if (found)
		return false;
	last->ring_position = begin->pos & ((UINT64_C(1) << (records_at - 1)) - 1);
	last->end_ts = begin->ts;
	stream->packet_pos = last->ring_position;
	stream->end_ts = last->end_ts;
	return true;
}

/*
 * Continue in the open chunk. If the source has not restarted its counts at the beginning of the open chunk, restart
 * the counts now.
 */
static void begin_after(struct wmk_stream *stream, const struct wmk_ctf_packet *last)
{
	struct wmk_ring_cut begin;
	const struct wmk_ring_cut end = { .pos = last->ring_position + last->content };

	if (stream->source->ops->chunk_cut_at(stream->source, &end) != 1)
		stream->source->ops->chunk_begin(stream->source, last->lost, &begin);
	stream->source->ops->chunk_cut_at(stream->source, NULL);
	stream->taken = stream->written = 0;
}

/*
 * Continue at the position that an earlier consumer wrote to the trace. Records that the earlier consumer released but
 * did not write are lost. An error ends only this stream.
 */
static void resume_stream(struct wmk_consumer *consumer, struct wmk_stream *stream)
{
	struct wmk_ctf_packet last = { 0 };
	int found = resume_file(consumer, stream, &last), err;
	const bool begun = (found >= 0 || found == -ENOENT) && begin_again(consumer, stream, found == 1, &last);
	const bool before = found == -ENOENT && !begun && find_before(consumer, stream, &last);

	if (found < 0)
		wmk_error_clear();
	if (found < 0 && found != -ENOENT) {
		wmk_consumer_fail_stream(consumer, stream, "cannot resume its file", found);
		return;
	}
	stream->group->now.counts.streams += stream->out != NULL;
	if (found == 1) {
		stream->sequence = last.sequence + 1;
		stream->end_ts = last.end_ts;
		stream->lost_written = stream->source_lost = last.lost;
		stream->packet_pos = last.ring_position;
		stream->cut = stream->cut_written = last.cut;
		stream->group->now.counts.packets += stream->sequence;
	}
	err = stream->source->ops->resume
		      ? stream->source->ops->resume(stream->source, &last, &stream->taken, &stream->end_pos)
		      : 0;
	/*
	 * If the trace lacks released records (err > 0) and has no file of the stream, all records taken so far are
	 * counted as lost.
	 */
	stream->written = err > 0 && found != 1 ? 0 : stream->taken;
	if (before && err >= 0)
		begin_after(stream, &last);
	if (err > 0 && (found == 1 || before || begun))
		report_gap(consumer, stream);
	if (err < 0)
		wmk_consumer_fail_stream(consumer, stream,
					 err == -EIO ? "its ring is corrupt"
						     : "the trace lacks the last data that was read from its ring",
					 err);
}

/*
 * Resume the stream, but discard all earlier records. The file is opened before the records are discarded, so that the
 * bytes of the file are counted.
 */
static void resume_cleared(struct wmk_consumer *consumer, struct wmk_stream *stream)
{
	struct wmk_ctf_packet last;
	int err;

	if (resume_file(consumer, stream, &last) < 0)
		wmk_error_clear();
	err = wmk_streams_restart(consumer, stream);
	if (err < 0)
		wmk_stream_write_failed(stream, err);
}

int wmk_streams_add(struct wmk_consumer *consumer, struct wmk_group *group, struct wmk_source *source,
		    const char *name, uint32_t instance, uint32_t cpu, const struct wmk_consumer_set *how)
{
	int err = wmk_streams_add_source(consumer, group, source, name, how->stream_id, instance, cpu);

	if (err < 0)
		source->ops->close(source);
	else if (how->resume && how->clear)
		resume_cleared(consumer, consumer->streams[consumer->n_streams - 1]);
	else if (how->resume)
		resume_stream(consumer, consumer->streams[consumer->n_streams - 1]);
	if (err >= 0 && group->is_next)
		wmk_stream_cut_here(consumer->streams[consumer->n_streams - 1]);
	else if (err >= 0)
		cut_again(consumer, consumer->streams[consumer->n_streams - 1]);
	return err;
}

struct wmk_group *wmk_streams_add_group_of(struct wmk_consumer *consumer, const void *from,
					   const struct wmk_consumer_set *how)
{
	struct wmk_group *group = wmk_streams_add_group(consumer, from);
	const struct wmk_counts *earlier;

	if (!group)
		return NULL;
	group->at_stop_only = how->at_stop_only;
	group->keep = how->keep;
	group->budget = how->budget;
	group->flush_ns = how->flush_ns;
	group->reclaim_ns = how->reclaim_ns;
	group->start_ts = how->start_ts;
	snprintf(group->channel, sizeof(group->channel), "%s", how->channel);
	earlier = how->resume && !how->clear ? wmk_chunk_journal_find_counts(&consumer->begins, how->channel) : NULL;
	if (earlier)
		group->earlier = *earlier;
	if (how->limits)
		group->limits = *how->limits;
	return group;
}

int wmk_streams_add_set(struct wmk_consumer *consumer, struct waymark_ring_set *set)
{
	int err;

	/* the heartbeat's thread reads the list */
	pthread_mutex_lock(&consumer->lock);
	err = push((void ***)&consumer->sets, &consumer->n_sets, set);
	pthread_mutex_unlock(&consumer->lock);
	return err < 0 ? wmk_error(err, "no memory for another ring set") : 0;
}
