/* SPDX-License-Identifier: MIT */
/*
 * drain.c - a drain pass over all streams: takes packets from sources, passes them to the output, and counts every
 * loss.
 *
 * The lost count of a packet has two parts: losses of the source, and unwritten records. The losses of the source are
 * counted up to the end of the packet. The unwritten records are earlier records that could not be written. So no
 * packet includes a loss that happened after the end of the packet. Every stream begins with 0 and ends with the final
 * count. If no packet with records reports a count, an empty packet reports this count.
 *
 * Every stream of a kernel channel begins with an empty packet that has the time of the start, and ends with an empty
 * packet that has the time of the stop. So all streams of a kernel trace have the same begin and end, also those of
 * CPUs without records: babeltrace and lttng-analyses can select the time range that all streams of a trace share.
 */
#include "consumer/drain.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/testpoint.h"
#include "consumer/stream_counts.h"
#include "kernel/channel/channel_reader.h"

/* Limits of the packets and bytes of one stream, after which the next stream is drained. */
#define TURN 4
#define TURN_BYTES (1u << 20)
/* percentage of a source that waits to be drained, above which the disk is too slow */
#define BEHIND 50u
#define TURNS 16                   /* limit of turns in one pass; then the thread carries out commands */
/* A claim of an anonymous process is retired if the claim does not change for STILL_NS. */
#define STILL_NS 1000000000u

void wmk_stream_write_failed(struct wmk_stream *stream, int err)
{
	struct wmk_consumer_stats *now = &stream->group->now;

	stream->stuck = true;
	now->counts.sink_errors++;
	now->output_error = err;
	if (!now->words[0])
		wmk_error_text(now->words, sizeof(now->words));
	wmk_error_clear();
}

static int put_packet(struct wmk_consumer *consumer, struct wmk_stream *stream, const struct wmk_packet *packet,
		      uint64_t lost)
{
	const unsigned records_at = stream->source->ops->records_at;
	const uint64_t unwritten = records_at ? wmk_stream_unwritten(stream) << (records_at - 1) : 0;
	const struct wmk_ctf_packet head = {
		.stream_id = stream->stream_id,
		.instance = stream->instance,
		.begin_ts = packet->begin_ts,
		.end_ts = packet->end_ts,
		.content = packet->len,
		.sequence = stream->sequence,
		.lost = lost,
		.cpu = stream->cpu,
		.cut = (uint32_t)packet->cut,
		.ring_position = packet->position - unwritten,
	};
	const uint64_t start = wmk_clock_monotonic();
	uint64_t took;
	int err;

	WMK_TESTPOINT(consumer_before_write);
	err = consumer->options.output->ops->write(stream->out, &head, packet);
	took = wmk_clock_monotonic() - start;
	stream->group->writing_ns += took;
	if (packet->pressure > BEHIND) {
		stream->group->behind_ns += took;
		stream->group->now.counts.behind_bytes += err < 0 ? 0 : packet->len;
	}
	WMK_TESTPOINT(consumer_after_write);
	if (err < 0)
		return err;
	stream->sequence++;
	stream->lost_written = lost;
	stream->cut_written = packet->cut;
	/*
	 * The empty packet at the beginning of a stream also sets end_ts, because no later packet may have an earlier
	 * time than the empty packet. The empty packet sets end_ts even if the output has no room for the next packet.
	 */
	if (stream->end_ts < packet->end_ts)
		stream->end_ts = packet->end_ts;
	stream->stuck = false;
	stream->group->now.counts.packets++;
	return 0;
}

static int put_empty(struct wmk_consumer *consumer, struct wmk_stream *stream, uint64_t ts, uint64_t lost)
{
	const uint64_t position = stream->source->ops->records_at ? stream->packet_pos : stream->end_pos;
	const struct wmk_packet packet = { .begin_ts = ts, .end_ts = ts, .position = position, .end = position,
					   .cut = stream->cut };

	return put_packet(consumer, stream, &packet, lost);
}

/* The time of an empty packet directly after the packets that were written. */
static uint64_t end_of(const struct wmk_stream *stream)
{
	return stream->end_ts ? stream->end_ts : stream->group->start_ts;
}

/*
 * Open the file if the stream has none. If the first packet with records has a lost count other than 0, write an empty
 * packet with count 0 before it. A later consumer that finds only the empty packet continues before the packet with
 * records. `ts`: the begin of the next packet. A stream of a kernel channel always begins with an empty packet.
 */
static int open_stream(struct wmk_consumer *consumer, struct wmk_stream *stream, uint64_t ts, uint64_t lost)
{
	const bool is_kernel = stream->group->cpus != NULL;
	int err = 0;

	if (!stream->out) {
		err = consumer->options.output->ops->stream_open(consumer->options.output, stream->name,
								 &stream->group->limits, &stream->out);
		if (err < 0)
			return err;
		stream->group->now.counts.streams++;
	}
	if (stream->sequence == 0 && (lost || is_kernel))
		err = put_empty(consumer, stream, is_kernel && end_of(stream) < ts ? end_of(stream) : ts, 0);
	return err;
}

static int write_packet(struct wmk_consumer *consumer, struct wmk_stream *stream, const struct wmk_packet *packet)
{
	uint64_t lost = packet->lost + wmk_stream_unwritten(stream);
	int err;

	/*
	 * Lost counts never decrease in a stream. An earlier empty packet may have a greater lost count than this
	 * packet.
	 */
	if (lost < stream->lost_written)
		lost = stream->lost_written;
	err = open_stream(consumer, stream, packet->begin_ts, lost);
	if (err >= 0)
		err = put_packet(consumer, stream, packet, lost);
	stream->group->settled = false;
	return err;
}

void wmk_consumer_fail_stream(struct wmk_consumer *consumer, struct wmk_stream *stream, const char *what, int err)
{
	char words[WMK_STREAM_NAME + WMK_ERROR_LEN + 100], why[WMK_ERROR_LEN];

	wmk_error_text(why, sizeof(why));
	wmk_error_clear();
	stream->failed = true;
	stream->stuck = false;
	stream->group->now.counts.errors++;
	snprintf(words, sizeof(words), "stopped writing stream %s: %s: %s", stream->name, what,
		  *why ? why : strerror(-err));
	if (!stream->group->now.words[0])
		snprintf(stream->group->now.words, sizeof(stream->group->now.words), "%.*s",
			 (int)sizeof(stream->group->now.words) - 1, words);
	if (consumer->options.output->ops->note)
		consumer->options.output->ops->note(consumer->options.output, words);
}

void wmk_consumer_maintain(struct wmk_consumer *consumer)
{
	const uint64_t now = wmk_clock_monotonic();
	const bool is_time = now - consumer->claims_ns >= STILL_NS;

	consumer->unbacked = false;
	for (size_t i = 0; i < consumer->n_sets; i++) {
		if (is_time)
			waymark_ring_set_retire_claims(consumer->sets[i]);
		consumer->unbacked |= waymark_ring_set_back(consumer->sets[i]) < 0;
		waymark_ring_set_heartbeat(consumer->sets[i]);
	}
	if (is_time)
		consumer->claims_ns = now;
	atomic_store_explicit(&consumer->alive_ns, wmk_clock_monotonic(), memory_order_relaxed);
}

/* Take one packet. 1: taken; 0: none; -errno of the output: the packet stays in the source. */
static int take_packet(struct wmk_consumer *consumer, struct wmk_stream *stream, enum wmk_drain_mode mode)
{
	struct wmk_packet packet;
	uint64_t fresh;
	int ret, err;

	stream->has_pending = false;
	if (stream->failed)
		return 0;
	ret = stream->source->ops->next(stream->source, mode != WMK_DRAIN_WHOLE, &packet);
	if (ret < 0) {
		wmk_stream_lost(stream); /* if it fails, `causes` keeps the last valid counts */
		wmk_consumer_fail_stream(consumer, stream, "its ring is corrupt", ret);
	}
	if (ret <= 0)
		return 0;
	stream->has_pending = packet.len != 0;
	err = packet.len && consumer->options.ready ? consumer->options.ready(consumer->options.data) : 0;
	if (err == -EAGAIN && mode != WMK_DRAIN_END)
		return 0;
	if (err >= 0 && packet.len)
		err = write_packet(consumer, stream, &packet);
	if (err < 0) {
		wmk_stream_write_failed(stream, err);
		if (mode != WMK_DRAIN_END || (stream->group->keep && !(err == -EDQUOT && stream->group->budget)))
			return err;
	}
	stream->has_pending = false;
	consumer->clock.is_due |= packet.len != 0;
	fresh = packet.records > stream->taken ? packet.records - stream->taken : 0;
	stream->taken += fresh;
	if (err >= 0)
		stream->written += fresh;
	if (packet.lost > stream->source_lost)
		stream->source_lost = packet.lost;
	stream->cut = packet.cut;
	stream->end_ts = packet.end_ts;
	stream->end_pos = packet.end;
	stream->packet_pos = packet.position;
	WMK_TESTPOINT(consumer_before_release);
	stream->source->ops->release(stream->source, &packet);
	wmk_consumer_maintain(consumer);
	return 1;
}

/* Load the number of cut fields that were counted after the last packet, or in a stream that has no packets. */
static void update_cut(struct wmk_stream *stream)
{
	if (!stream->failed && stream->source->ops->cut)
		stream->cut = stream->source->ops->cut(stream->source);
}

/*
 * Write the counts in an empty packet, unless the last packet already has the same counts. `at`: the stream ends at
 * this time, or later (0: unknown). If the last packet ends earlier, write an empty packet with this time.
 */
static int put_counts(struct wmk_consumer *consumer, struct wmk_stream *stream, uint64_t lost, uint64_t at)
{
	const uint64_t end = end_of(stream);
	const bool is_due = lost != stream->lost_written || stream->cut != stream->cut_written;
	int err = 0;

	if (is_due || (at > stream->end_ts && !stream->failed)) {
		err = open_stream(consumer, stream, end, lost);
		if (err >= 0)
			err = put_empty(consumer, stream, at > end ? at : end, lost);
	}
	if (err < 0 && is_due)
		wmk_stream_write_failed(stream, err);
	else if (err < 0)
		wmk_error_clear();     /* the trace lacks no record and no count */
	return is_due ? err : 0;
}

/* A pending packet has earlier times than the stop, so the stream does not end yet. */
static int write_counts(struct wmk_consumer *consumer, struct wmk_stream *stream)
{
	update_cut(stream);
	return put_counts(consumer, stream, wmk_stream_lost(stream) + wmk_stream_unwritten(stream),
			  stream->has_pending ? 0 : stream->group->stop_ts);
}

int wmk_stream_end_chunk(struct wmk_consumer *consumer, struct wmk_stream *stream)
{
	const bool is_kernel = stream->group->cpus != NULL;
	uint64_t lost, cut;

	stream->source->ops->chunk_end(stream->source, &lost, &cut);
	stream->cut = cut;
	lost += wmk_stream_unwritten(stream);
	return put_counts(consumer, stream, lost > stream->lost_written ? lost : stream->lost_written,
			  is_kernel && stream->has_cut ? stream->chunk_cut.ts : 0);
}

uint64_t wmk_group_kernel_now(const struct wmk_group *group)
{
	return group->cpus ? wmk_kreader_now(group->from) : 0;
}

/*
 * Set the time at which the streams of kernel channels end. Call this function before the last records are taken, so
 * that no later record is earlier than this time. If the streams have no record since the last stop, they have ended
 * already, and mode END writes no further packet.
 */
static void set_stop(struct wmk_consumer *consumer, enum wmk_drain_mode mode)
{
	for (size_t i = 0; i < consumer->n_groups; i++) {
		struct wmk_group *group = consumer->groups[i];

		group->stop_ts = mode == WMK_DRAIN_END && group->settled ? 0 : wmk_group_kernel_now(group);
	}
}

/*
 * Check whether another process has removed the file of the stream during recording. If the file was removed, the
 * records in the file are lost. No further packet of the stream can report this loss.
 */
static void check_file(struct wmk_consumer *consumer, struct wmk_stream *stream)
{
	const struct wmk_output_trace_ops *ops = consumer->options.output->ops;
	char what[100];
	int err = stream->out && ops->stream_check && !stream->failed ? ops->stream_check(stream->out) : 0;

	if (err == 0)
		return;
	wmk_stream_lost(stream);
	snprintf(what, sizeof(what), "its file was removed; %llu records are lost",
		 (unsigned long long)stream->written);
	stream->written = 0;
	wmk_consumer_fail_stream(consumer, stream, what, err);
}

static int end_stream(struct wmk_consumer *consumer, struct wmk_stream *stream)
{
	const struct wmk_output_trace_ops *ops = consumer->options.output->ops;
	int err = write_counts(consumer, stream), closed;

	if (err < 0 && stream->out && ops->amend &&
	    ops->amend(stream->out, wmk_stream_lost(stream) + wmk_stream_unwritten(stream)) < 0)
		wmk_error_clear();
	if (!stream->out)
		return err;
	stream->bytes = ops->stream_bytes ? ops->stream_bytes(stream->out) : 0;
	closed = ops->stream_close(stream->out);
	stream->out = NULL;
	if (closed < 0)
		wmk_stream_write_failed(stream, closed);
	return closed < 0 ? closed : err;
}

/*
 * Take all packets, including partial sub-buffers, up to the position that the writers had at the start of this call.
 * Because of this limit, a fast writer cannot prolong the loop. An application can forge the position of its writers,
 * so the size of the source also limits the loop.
 */
static int drain_stream(struct wmk_consumer *consumer, struct wmk_stream *stream, enum wmk_drain_mode mode,
		 struct wmk_drain_result *result)
{
	const uint64_t head = stream->source->ops->head(stream->source), most = stream->source->size;
	/* at most two packets from each sub-buffer: first its committed part, later the rest */
	const uint64_t pieces = 2 * (uint64_t)stream->source->pieces;
	uint64_t taken = 0;
	int ret;

	for (uint64_t n = 1; (ret = take_packet(consumer, stream, mode)) > 0; n++) {
		result->packets++;
		/*
		 * (`+ 1` for each packet: each sub-buffer has a header, so this sum stays below the size of the source)
		 */
		taken += stream->end_pos - stream->packet_pos + 1;
		if (stream->end_pos >= head || (most && (taken >= most || n >= pieces)))
			return 0;
	}
	return ret;
}

/* A full disk affects all streams; any other error affects only one stream. */
static bool is_disk_full(int err)
{
	return err == -ENOSPC || err == -EDQUOT;
}

bool wmk_stream_flush(struct wmk_consumer *consumer, struct wmk_stream *stream, struct wmk_drain_result *result)
{
	struct wmk_drain_result part = { 0 };
	const int err = drain_stream(consumer, stream, WMK_DRAIN_FLUSH, &part);

	if (err < 0)
		result->err = err;
	result->full |= is_disk_full(err);
	return part.packets != 0;
}

static int take_turn(struct wmk_consumer *consumer, struct wmk_stream *stream, struct wmk_drain_result *result)
{
	const uint64_t open_stream = stream->end_pos;
	int ret = 1;

	for (int i = 0; i < TURN && ret > 0 && stream->end_pos - open_stream < TURN_BYTES; i++) {
		ret = take_packet(consumer, stream, WMK_DRAIN_WHOLE);
		if (ret <= 0)
			break;
		result->packets++;
		stream->packets++;
	}
	if (stream->packets > result->most)
		result->most = stream->packets;
	result->more |= ret > 0;
	return ret;
}

/*
 * Call follow() of all sources, even if no packet can be written. Return true if follow() of at least one source had
 * work to do.
 */
static bool follow(struct wmk_consumer *consumer)
{
	bool any = false;

	for (size_t i = 0; i < consumer->n_streams; i++) {
		struct wmk_stream *stream = consumer->streams[i];
		const int ret = stream->source->ops->follow && !stream->failed
					? stream->source->ops->follow(stream->source)
					: 0;

		if (ret < 0)
			wmk_consumer_fail_stream(consumer, stream, "cannot follow its source", ret);
		any |= ret > 0;
	}
	return any;
}

/*
 * Take complete packets in at most TURNS turns. After TURNS turns, the thread must allocate memory ahead of the writers
 * again. A full disk ends the drain pass. After another error of a stream, the pass skips this stream and continues
 * with the other streams.
 */
static void drain_whole(struct wmk_consumer *consumer, const struct wmk_group *group, struct wmk_drain_result *result)
{
	for (unsigned turn = 0; turn == 0 || (result->more && turn < TURNS); turn++) {
		result->more = false;
		for (size_t i = 0; i < consumer->n_streams; i++) {
			struct wmk_stream *stream = consumer->streams[i];
			int err;

			if ((group && stream->group != group) || wmk_stream_is_at_stop_only(stream) ||
			    (turn && stream->stuck))
				continue;
			err = take_turn(consumer, stream, result);
			if (err < 0)
				result->err = err;
			if (is_disk_full(err)) {
				result->full = true;
				result->more = false;
				return;
			}
		}
	}
}

void wmk_consumer_drain(struct wmk_consumer *consumer, enum wmk_drain_mode mode, const struct wmk_group *group,
			bool settle, struct wmk_drain_result *result)
{
	size_t i;
	int err;

	memset(result, 0, sizeof(*result));
	/*
	 * A stream that ends has no next chunk, so the mode END removes the cut of the stream, and all records of the
	 * stream belong to the open chunk.
	 */
	for (i = 0; i < consumer->n_streams && mode == WMK_DRAIN_END; i++)
		if ((!group || consumer->streams[i]->group == group) && consumer->streams[i]->has_cut) {
			consumer->streams[i]->source->ops->chunk_cut_at(consumer->streams[i]->source, NULL);
			consumer->streams[i]->has_cut = false;
		}
	for (i = 0; i < consumer->n_streams; i++)
		consumer->streams[i]->packets = 0;
	if (mode == WMK_DRAIN_END || settle)
		set_stop(consumer, mode);
	if (mode == WMK_DRAIN_WHOLE) {
		result->followed = follow(consumer);
		drain_whole(consumer, group, result);
		return;
	}
	for (i = 0; i < consumer->n_streams; i++) {
		struct wmk_stream *stream = consumer->streams[i];

		if ((group && stream->group != group) ||
		    (mode == WMK_DRAIN_FLUSH && !settle && wmk_stream_is_at_stop_only(stream)))
			continue;
		err = drain_stream(consumer, stream, mode, result);
		if (err < 0)
			result->err = err;
	}
	for (i = 0; i < consumer->n_streams && (mode == WMK_DRAIN_END || settle); i++) {
		struct wmk_stream *stream = consumer->streams[i];

		if (group && stream->group != group)
			continue;
		check_file(consumer, stream);
		err = mode == WMK_DRAIN_END ? end_stream(consumer, stream) : write_counts(consumer, stream);
		stream->group->settled = true;
		if (err < 0 || (mode == WMK_DRAIN_END && wmk_stream_unwritten(stream)))
			result->err = err < 0 ? err : stream->group->now.output_error;
	}
}
