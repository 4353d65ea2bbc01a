/* SPDX-License-Identifier: MIT */
/*
 * test_streams.c - single streams, with scripted sources and a scripted output: the content of packets, and the effect
 * of an error of one stream on the others.
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "consumer/drain.h"
#include "consumer/stream_counts.h"
#include "rig.h"
#include "store/t/testdir.h"

#define PACKETS 32

static const struct rig_shape shape = { .subbuf = 4096, .n_subbufs = 4 };

/* ── a source of packets that are made by hand ───────────────────────────────────────────────────────── */

struct made {
	struct wmk_source source;
	struct wmk_packet packets[PACKETS];
	unsigned n, at;                  /* number of packets; number of packets that were taken */
	uint64_t lost;                   /* so far */
	int next_err, clear_err;         /* -errno: results of next(), and of clear() */
	bool is_inflated;                /* reports more records than the source can hold */
};

static struct made *made_of(struct wmk_source *source)
{
	return (struct made *)source;
}

static int made_next(struct wmk_source *source, int flush, struct wmk_packet *packet)
{
	struct made *made = made_of(source);

	(void)flush;
	if (made->next_err < 0 || made->at == made->n)
		return made->next_err;
	*packet = made->packets[made->at];
	return 1;
}

static int made_release(struct wmk_source *source, const struct wmk_packet *packet)
{
	(void)packet;
	made_of(source)->at++;
	return 0;
}

static uint64_t made_head(struct wmk_source *source)
{
	return made_of(source)->is_inflated ? UINT64_MAX : 64 * (uint64_t)made_of(source)->n;
}

static uint64_t made_lost(struct wmk_source *source, uint64_t by_cause[WAYMARK_LOST_CAUSES])
{
	memset(by_cause, 0, WAYMARK_LOST_CAUSES * sizeof(*by_cause));
	by_cause[WAYMARK_LOST_FULL] = made_of(source)->lost;
	return made_of(source)->lost;
}

static int made_clear(struct wmk_source *source, uint64_t *position, uint64_t *ts)
{
	struct made *made = made_of(source);

	*position = *ts = 0;
	made->n = made->at = 0;
	made->lost = 0;
	return made->clear_err;
}

static void made_close(struct wmk_source *source)
{
	(void)source;
}

static const struct wmk_source_ops made_ops = {
	.next = made_next, .release = made_release, .head = made_head, .lost = made_lost, .clear = made_clear,
	.close = made_close,
};

/* Add a packet of one record; `lost`: number of records lost by its end. */
static void make_packet(struct made *made, uint64_t lost)
{
	static const uint8_t record[64];
	const unsigned i = made->n;

	assert_true(i < PACKETS);
	made->packets[made->n++] = (struct wmk_packet){ .begin_ts = i + 1,
							.end_ts = i + 1,
							.position = 64 * i,
							.end = 64 * (i + 1),
							.records = i + 1,
							.lost = lost,
							.data = record,
							.len = sizeof(record) };
}

static void add_made(struct rig *rig, struct made *made, const char *name)
{
	*made = (struct made){ .source = { .ops = &made_ops } };
	assert_int_equal(wmk_consumer_add_source(rig->consumer, &made->source, name, 0, 7, WMK_CTF_CPU_NONE), 0);
}

/* Return the lost counts in the packets of a stream. No packet is earlier than the one before it. */
static unsigned lost_in(const struct rig *rig, const char *name, uint64_t lost[PACKETS])
{
	struct wmk_ctf_packet packet;
	uint64_t time = 0;
	unsigned n = 0;
	size_t len;
	char *bytes = testdir_slurp(rig_path(rig, name), &len);

	for (size_t at = 0; at < len; at += wmk_ctf_packet_size(&packet)) {
		assert_true(n < PACKETS);
		assert_int_equal(wmk_ctf_packet_decode((const uint8_t *)bytes + at, rig->uuid, &packet), 0);
		assert_true(packet.begin_ts >= time && packet.end_ts >= packet.begin_ts);
		time = packet.end_ts;
		lost[n++] = packet.lost;
	}
	free(bytes);
	return n;
}

/* ── an output that refuses one stream ───────────────────────────────────────────────────────────────── */

static struct {
	struct wmk_output_trace output, *inner;
	const char *name;                /* name of the stream that is refused */
	int err;                         /* 0: no packet is refused */
	bool takes_counts;               /* packets without records are accepted nevertheless */
	struct wmk_output_stream *refused;
	unsigned tries;                  /* attempts to write the stream */
} refusing;

static int refuse_open(struct wmk_output_trace *output, const char *name, const struct wmk_store_limits *limits,
		       struct wmk_output_stream **stream)
{
	int err = refusing.inner->ops->stream_open(refusing.inner, name, limits, stream);

	(void)output;
	if (err >= 0 && strcmp(name, refusing.name) == 0)
		refusing.refused = *stream;
	return err;
}

static int refuse_write(struct wmk_output_stream *stream, const struct wmk_ctf_packet *head,
			const struct wmk_packet *packet)
{
	if (stream == refusing.refused) {
		refusing.tries++;
		if (refusing.err < 0 && (packet->len || !refusing.takes_counts))
			return wmk_error(refusing.err, "%s is refused", refusing.name);
	}
	return refusing.inner->ops->write(stream, head, packet);
}

static int refuse_stream_close(struct wmk_output_stream *stream)
{
	return refusing.inner->ops->stream_close(stream);
}

static void refuse_close(struct wmk_output_trace *output)
{
	(void)output;
	refusing.inner->ops->close(refusing.inner);
}

static const struct wmk_output_trace_ops refuse_ops = {
	.stream_open = refuse_open, .write = refuse_write, .stream_close = refuse_stream_close, .close = refuse_close,
};

/* Replace the rig's consumer by one that writes to this output. */
static void refuse(struct rig *rig, const char *name, int err)
{
	struct wmk_consumer_options options = { .output = &refusing.output };

	wmk_consumer_close(rig->consumer);
	memset(&refusing, 0, sizeof(refusing));
	refusing.output.ops = &refuse_ops;
	refusing.name = name;
	refusing.err = err;
	assert_int_equal(wmk_output_directory_trace(rig->store, rig->uuid, &refusing.inner), 0);
	assert_int_equal(wmk_consumer_open(&options, &rig->consumer), 0);
}

/* ── lost counts in packets ──────────────────────────────────────────────────────────────────────────── */

/* Each packet has its own lost count, which never decreases. Packets without records have the current count. */
static void packets_record_the_lost_count_at_their_time(void **state)
{
	static const uint64_t expected[] = { 0, 2, 7, 7, 9 };
	struct wmk_consumer_stats seen;
	uint64_t lost[PACKETS];
	struct made made;
	struct rig rig;

	(void)state;
	rig_open(&rig, &shape);
	add_made(&rig, &made, "made");
	make_packet(&made, 0);
	make_packet(&made, 2);
	made.lost = 7;
	assert_int_equal(wmk_consumer_stats_of(rig.consumer, NULL, &seen), 0);
	assert_int_equal(seen.counts.lost, 7);
	assert_int_equal(wmk_consumer_settle(rig.consumer, NULL), 0);
	make_packet(&made, 3);
	made.lost = 9;
	assert_int_equal(rig_stop(&rig), 0);
	assert_int_equal(rig.stats.counts.records, 3);
	assert_int_equal(rig.stats.counts.lost, 9);
	assert_int_equal(lost_in(&rig, "made", lost), 5);
	assert_memory_equal(lost, expected, sizeof(expected));
	rig_close(&rig);
}

/*
 * An application can forge the position of its ring, or record all the time. So a drain pass takes at most the size of
 * the ring before it continues with the other streams.
 */
static void drain_pass_reads_at_most_one_ring_size_from_a_stream(void **state)
{
	struct wmk_consumer_stats seen;
	struct made made;
	struct rig rig;

	(void)state;
	rig_open(&rig, &shape);
	add_made(&rig, &made, "made");
	made.source.size = (uint64_t)64 * 8;
	made.source.pieces = PACKETS;
	made.is_inflated = true;
	for (unsigned i = 0; i < PACKETS; i++)
		make_packet(&made, 0);
	assert_int_equal(wmk_consumer_settle(rig.consumer, NULL), 0);
	assert_int_equal(wmk_consumer_stats_of(rig.consumer, NULL, &seen), 0);
	assert_int_equal(seen.counts.records, 8);
	assert_int_equal(wmk_consumer_settle(rig.consumer, NULL), 0);
	assert_int_equal(wmk_consumer_stats_of(rig.consumer, NULL, &seen), 0);
	assert_int_equal(seen.counts.records, 16);
	/* The same with few records in each packet. */
	made.source.size = UINT64_MAX / 2;
	made.source.pieces = 2;
	assert_int_equal(wmk_consumer_settle(rig.consumer, NULL), 0);
	assert_int_equal(wmk_consumer_stats_of(rig.consumer, NULL, &seen), 0);
	assert_int_equal(seen.counts.records, 16 + 2 * 2);
	rig_close(&rig);
}

/* ── one that is refused ─────────────────────────────────────────────────────────────────────────────── */

static void look(struct rig *rig, struct wmk_drain_result *seen)
{
	pthread_mutex_lock(&rig->consumer->streams_lock);
	wmk_consumer_drain(rig->consumer, WMK_DRAIN_WHOLE, NULL, false, seen);
	wmk_consumer_publish(rig->consumer);
	pthread_mutex_unlock(&rig->consumer->streams_lock);
	wmk_consumer_stats(rig->consumer, &rig->stats);
}

/* An error of one stream delays only that stream; a full disk delays all streams. */
static void check_refused(int err, bool is_disk_full)
{
	struct wmk_drain_result seen;
	struct made first, second;
	struct rig rig;

	rig_open(&rig, &shape);
	refuse(&rig, "first", err);
	add_made(&rig, &first, "first");
	add_made(&rig, &second, "second");
	/* More packets than one turn takes. */
	for (unsigned i = 0; i < 20; i++) {
		make_packet(&first, 0);
		make_packet(&second, 0);
	}
	look(&rig, &seen);
	assert_int_equal(seen.err, err);
	assert_int_equal(seen.full, is_disk_full);
	assert_int_equal(seen.more, 0);
	assert_int_equal(refusing.tries, 1);
	assert_int_equal(first.at, 0);
	assert_int_equal(second.at, is_disk_full ? 0 : 20);
	/* The stream waits, whatever the other streams do. */
	assert_int_equal(rig.stats.stuck, 1);
	assert_int_equal(rig.stats.output_error, err);
	assert_non_null(strstr(rig.stats.words, "first is refused"));
	refusing.err = 0;
	look(&rig, &seen);
	assert_int_equal(seen.err, 0);
	assert_int_equal(rig.stats.stuck, 0);
	assert_int_equal(first.at, 20);
	assert_int_equal(second.at, 20);
	assert_int_equal(rig_stop(&rig), 0);
	assert_int_equal(rig.stats.counts.records, 40);
	assert_int_equal(rig.stats.counts.lost, 0);
	rig_close(&rig);
}

static void full_disk_delays_all_streams_and_other_errors_delay_one_stream(void **state)
{
	(void)state;
	check_refused(-EFBIG, false);
	check_refused(-EIO, false);
	check_refused(-EACCES, false);
	check_refused(-ENOSPC, true);
	check_refused(-EDQUOT, true);
}

/*
 * A stream has begun, but its first records found no room. The packet with its counts must not be earlier than the
 * beginning of the stream.
 */
static void lost_counts_are_written_after_first_records_find_no_space(void **state)
{
	static const uint64_t expected[] = { 0, 3, 3 };
	uint64_t lost[PACKETS];
	struct made made;
	struct rig rig;

	(void)state;
	rig_open(&rig, &shape);
	refuse(&rig, "made", -EDQUOT);
	refusing.takes_counts = true;
	add_made(&rig, &made, "made");
	make_packet(&made, 3);
	assert_int_equal(wmk_consumer_settle(rig.consumer, NULL), -EDQUOT);
	made.lost = 3;
	assert_int_equal(wmk_consumer_settle(rig.consumer, NULL), -EDQUOT);
	refusing.err = 0;
	assert_int_equal(rig_stop(&rig), 0);
	assert_int_equal(rig.stats.counts.records, 1);
	assert_int_equal(lost_in(&rig, "made", lost), 3);
	assert_memory_equal(lost, expected, sizeof(expected));
	rig_close(&rig);
}

/* ── a stream that cannot be continued in its file ───────────────────────────────────────────────────── */

/* The first stream of the rig that has a file with this suffix, or that has no file. */
static const char *stream_of(const struct rig *rig, const char *end, bool with_file)
{
	const uint32_t cpus = waymark_ring_set_cpus(rig->set), rings = waymark_ring_set_rings(rig->set);
	static char name[64];
	char file[80];

	for (uint32_t i = 0; i < rings; i++) {
		snprintf(name, sizeof(name), i < cpus ? "app_%u" : "app_claim%u", i < cpus ? i : i - cpus);
		snprintf(file, sizeof(file), "%s%s", name, end);
		if ((access(rig_path(rig, file), F_OK) == 0) == with_file)
			return name;
	}
	fail_msg("each of the streams has a file, or none has");
	return NULL;
}

/*
 * 50 records are in the trace, in the stream of one CPU. Then the consumer crashes, a directory blocks the name of a
 * stream, and the next consumer starts.
 */
static const char *obstruct(struct rig *rig, bool with_file)
{
	const char *name;

	rig_open(rig, &shape);
	assert_int_equal(rig_record(rig, 1, 0, 50), 50);
	assert_int_equal(wmk_consumer_settle(rig->consumer, NULL), 0);
	name = stream_of(rig, "", with_file);
	if (with_file)
		assert_int_equal(unlink(rig_path(rig, name)), 0);
	assert_int_equal(mkdir(rig_path(rig, name), 0700), 0);
	rig_resume(rig);
	return name;
}

/* That stream is lost and reported, also in the trace; the others continue normally. */
static void stream_with_obstructed_file_is_reported_and_others_continue(void **state)
{
	const char *name;
	struct rig rig;
	char *metadata;
	size_t len;

	(void)state;
	name = obstruct(&rig, false);
	assert_int_equal(rig_record(&rig, 1, 50, 80), 30);
	assert_int_equal(rig_stop(&rig), 0);
	assert_int_equal(rig.stats.counts.records, 80);
	assert_int_equal(rig.stats.counts.lost, 0);
	assert_int_equal(rig.stats.counts.errors, 1);
	assert_non_null(strstr(rig.stats.words, name));
	metadata = testdir_slurp(rig_path(&rig, "metadata"), &len);
	assert_non_null(strstr(metadata, "cannot resume its file"));
	free(metadata);
	assert_int_equal(rmdir(rig_path(&rig, name)), 0);
	rig_check(&rig, 80);
	assert_int_equal(rig.count[1], 80);
	rig_babeltrace(&rig, false);
	rig_close(&rig);
}

/* ── a new beginning for those that are dead ─────────────────────────────────────────────────────────── */

/* The source of a stream is corrupt. The stream restarts only if the source can be cleared. */
static void cleared_corrupt_stream_restarts_if_its_source_is_cleared(void **state)
{
	(void)state;
	for (int again = 0; again < 2; again++) {
		struct made made;
		struct rig rig;

		rig_open(&rig, &shape);
		add_made(&rig, &made, "made");
		make_packet(&made, 3);
		assert_int_equal(wmk_consumer_settle(rig.consumer, NULL), 0);
		made.next_err = -EIO;
		assert_int_equal(wmk_consumer_settle(rig.consumer, NULL), 0);
		wmk_consumer_stats(rig.consumer, &rig.stats);
		assert_int_equal(rig.stats.counts.errors, 1);
		made.next_err = 0;
		made.clear_err = again ? -EIO : 0;
		assert_int_equal(wmk_consumer_clear(rig.consumer), 0);
		assert_int_equal(access(rig_path(&rig, "made"), F_OK), -1);
		make_packet(&made, 0);
		assert_int_equal(rig_stop(&rig), 0);
		assert_int_equal(rig.stats.counts.records, again ? 0 : 1);
		assert_int_equal(rig.stats.counts.lost, 0);
		assert_int_equal(rig.stats.counts.errors, again);
		assert_int_equal(strstr(rig.stats.words, "writing stream made: its ring cannot be cleared") != NULL,
				 again);
		rig_close(&rig);
	}
}

/*
 * A stream that could not be resumed: it restarts when its file can be created. Until then it waits like any other
 * stream.
 */
static void cleared_stream_restarts_when_its_file_can_be_created(void **state)
{
	(void)state;
	for (int in_time = 0; in_time < 2; in_time++) {
		const char *name;
		struct rig rig;

		name = obstruct(&rig, true);
		assert_int_equal(wmk_consumer_settle(rig.consumer, NULL), 0);
		wmk_consumer_stats(rig.consumer, &rig.stats);
		assert_int_equal(rig.stats.counts.errors, 1);
		if (in_time)
			assert_int_equal(rmdir(rig_path(&rig, name)), 0);
		assert_int_equal(wmk_consumer_clear(rig.consumer), in_time ? 0 : -EISDIR);
		assert_int_equal(rig_record(&rig, 1, 50, 70), 20);
		assert_int_equal(wmk_consumer_settle(rig.consumer, NULL), in_time ? 0 : -EEXIST);
		wmk_consumer_stats(rig.consumer, &rig.stats);
		assert_int_equal(rig.stats.counts.errors, 0);
		assert_int_equal(rig.stats.stuck, !in_time);
		assert_int_equal(strstr(rig.stats.words, name) != NULL, !in_time);
		if (!in_time)
			assert_int_equal(rmdir(rig_path(&rig, name)), 0);
		assert_int_equal(rig_stop(&rig), 0);
		rig_read(&rig, 70);
		assert_int_equal(rig.stats.counts.records, 20);
		assert_int_equal(rig.count[1], 20);
		assert_int_equal(rig.stats.counts.lost, 0);
		rig_babeltrace(&rig, false);
		rig_close(&rig);
	}
}

/* A new consumer with `clear` discards everything. It reports what it cannot discard, which delays no other stream. */
static void resume_with_clear_discards_records_and_reports_failures(void **state)
{
	const struct wmk_consumer_set again = { .channel = "app", .resume = 1, .clear = 1 };
	struct wmk_consumer_options options = { .start_ts = wmk_clock_monotonic() };
	const char *name;
	struct rig rig;

	(void)state;
	name = obstruct(&rig, true);
	assert_int_equal(wmk_output_directory_trace(rig.store, rig.uuid, &options.output), 0);
	wmk_consumer_close(rig.consumer);
	assert_int_equal(wmk_consumer_open(&options, &rig.consumer), 0);
	assert_int_equal(wmk_consumer_add(rig.consumer, rig.set, &again), 0);
	assert_int_equal(wmk_consumer_settle(rig.consumer, NULL), 0);
	wmk_consumer_stats(rig.consumer, &rig.stats);
	assert_int_equal(rig.stats.counts.errors, 0);
	assert_int_equal(rig.stats.output_error, -EISDIR);
	assert_non_null(strstr(rig.stats.words, name));
	assert_int_equal(rmdir(rig_path(&rig, name)), 0);
	assert_int_equal(rig_record(&rig, 1, 50, 70), 20);
	assert_int_equal(rig_stop(&rig), 0);
	rig_read(&rig, 70);
	assert_int_equal(rig.count[1], 20);
	rig_close(&rig);
}

/* ── one with a single file ──────────────────────────────────────────────────────────────────────────── */

static void check_readers(const struct rig *rig, uint64_t *lines)
{
	static const char *const readers[] = { "babeltrace", "babeltrace2 convert" };
	char command[400], *out, *err;

	for (unsigned i = 0; i < 2; i++) {
		snprintf(command, sizeof(command), "%s %s", readers[i], rig->trace);
		if (testdir_run(command, &out, &err) != 0 || err[0])
			fail_msg("%s says: %.2000s", command, err);
		*lines = 0;
		for (const char *at = out; *at; at++)
			*lines += *at == '\n';
		free(out);
		free(err);
	}
}

/* A consumer is killed while it replaces a file: readers skip the incomplete file, and the next consumer continues. */
static void stream_resumes_despite_incomplete_replacement_file(void **state)
{
	const struct wmk_store_limits limits = { 4096, 1 };
	struct wmk_consumer_set how = { .channel = "app", .start_ts = wmk_clock_monotonic(), .limits = &limits };
	struct wmk_consumer_options options = { .start_ts = how.start_ts };
	uint64_t before, after;
	char name[80];
	struct rig rig;
	FILE *half;

	(void)state;
	rig_open(&rig, &shape);
	for (int turn = 0; turn < 2; turn++) {
		assert_int_equal(wmk_output_directory_trace(rig.store, rig.uuid, &options.output), 0);
		wmk_consumer_close(rig.consumer);
		assert_int_equal(wmk_consumer_open(&options, &rig.consumer), 0);
		how.resume = turn;
		assert_int_equal(wmk_consumer_add(rig.consumer, rig.set, &how), 0);
		if (turn)
			break;
		/* More than one packet. */
		assert_int_equal(rig_record(&rig, 1, 0, 300), 300);
		assert_int_equal(wmk_consumer_settle(rig.consumer, NULL), 0);
		snprintf(name, sizeof(name), ".%s.next", stream_of(&rig, "_0", true));
		half = fopen(rig_path(&rig, name), "we");
		assert_non_null(half);
		assert_true(fputs("half a packet", half) >= 0);
		assert_int_equal(fclose(half), 0);
		check_readers(&rig, &before);
		assert_true(before > 0 && before < 300);
	}
	assert_int_equal(access(rig_path(&rig, name), F_OK), -1);
	assert_int_equal(rig_record(&rig, 1, 300, 310), 10);
	assert_int_equal(rig_stop(&rig), 0);
	assert_int_equal(rig.stats.counts.errors, 0);
	assert_int_equal(rig.stats.counts.lost, 0);
	assert_int_equal(rig.stats.counts.records, 310);
	check_readers(&rig, &after);
	assert_int_equal(after, before + 10);
	rig_close(&rig);
}

/* The writer records into one stream. */
static int stay_here(void **state)
{
	cpu_set_t here;

	(void)state;
	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	return sched_setaffinity(0, sizeof(here), &here);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_record_the_lost_count_at_their_time),
		cmocka_unit_test(drain_pass_reads_at_most_one_ring_size_from_a_stream),
		cmocka_unit_test(full_disk_delays_all_streams_and_other_errors_delay_one_stream),
		cmocka_unit_test(lost_counts_are_written_after_first_records_find_no_space),
		cmocka_unit_test(stream_with_obstructed_file_is_reported_and_others_continue),
		cmocka_unit_test(cleared_corrupt_stream_restarts_if_its_source_is_cleared),
		cmocka_unit_test(cleared_stream_restarts_when_its_file_can_be_created),
		cmocka_unit_test(resume_with_clear_discards_records_and_reports_failures),
		cmocka_unit_test(stream_resumes_despite_incomplete_replacement_file),
	};

	return cmocka_run_group_tests(tests, stay_here, NULL);
}
