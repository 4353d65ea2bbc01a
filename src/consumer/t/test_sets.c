/* SPDX-License-Identifier: MIT */
/*
 * test_sets.c - a consumer with several sets: it sleeps without records, wakes for each set, removes single sets,
 * settles, and clears.
 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "rig.h"
#include "ring/set.h"
#include "ring/writer.h"
#include "store/t/testdir.h"

#define SETS 3
#define PATIENCE_MS 20000

static const struct rig_shape shape = { .subbuf = 4096, .n_subbufs = 4 };

/* The ring set of the rig is number 0. */
struct sets {
	struct rig rig;
	struct waymark_ring_set *sets[SETS], *writers[SETS];
};

static void sets_open(struct sets *s, int64_t block_us, const struct wmk_consumer_set *how)
{
	struct waymark_ring_options ring = { .size = sizeof(ring),
					     .subbuf_size = 4096,
					     .n_subbufs = 4,
					     .header_room = WMK_CTF_PACKET_ROOM,
					     .clock = WAYMARK_CLOCK_MONOTONIC,
					     .block_us = block_us,
					     .prefault = 1u << 30,
					     .mode = how && how->at_stop_only ? WAYMARK_RING_OVERWRITE
									      : WAYMARK_RING_DISCARD };

	rig_open(&s->rig, &shape);
	s->sets[0] = s->rig.set;
	s->writers[0] = s->rig.mapped;
	for (unsigned i = 1; i < SETS; i++) {
		char channel[16];
		struct wmk_consumer_set mine = { .start_ts = wmk_clock_monotonic() };

		if (how)
			mine = *how;
		snprintf(channel, sizeof(channel), "more%u", i);
		mine.channel = channel;
		assert_int_equal(waymark_ring_set_create(&ring, &s->sets[i]), 0);
		assert_int_equal(waymark_ring_set_open(waymark_ring_set_fd(s->sets[i]), &s->writers[i]), 0);
		assert_int_equal(wmk_consumer_add(s->rig.consumer, s->sets[i], &mine), 0);
	}
}

static void sets_close(struct sets *s)
{
	wmk_consumer_stop(s->rig.consumer);
	for (unsigned i = 1; i < SETS; i++)
		waymark_ring_set_close(s->writers[i]);
	rig_close(&s->rig);
	for (unsigned i = 1; i < SETS; i++)
		waymark_ring_set_close(s->sets[i]);
}

static uint64_t record(struct waymark_ring_set *writer, uint64_t from, uint64_t to)
{
	uint64_t words[2] = { 7, from }, done = 0;
	const struct waymark_ring_frag frag = { words, sizeof(words), WAYMARK_FRAG_WORDS };

	for (; words[1] < to; words[1]++)
		done += waymark_ring_record(writer, 3, &frag, 1) == 0;
	return done;
}

static void pause_ms(unsigned ms)
{
	const struct timespec ts = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };

	nanosleep(&ts, NULL);
}

/* Voluntary context switches of the consumer's threads. (A sanitizer has switches of its own.) */
static uint64_t switches(void)
{
	struct dirent *entry;
	DIR *tasks = opendir("/proc/self/task");
	uint64_t sum = 0, n;
	char path[300], line[200];

	assert_non_null(tasks);
	while ((entry = readdir(tasks)) != NULL) {
		FILE *status;

		if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
		status = fopen(path, "re");
		while (status && fgets(line, sizeof(line), status) &&
		       (strncmp(line, "Name:", 5) != 0 || strstr(line, "wmk-")))
			if (sscanf(line, "voluntary_ctxt_switches: %llu", (unsigned long long *)&n) == 1)
				sum += n;
		if (status)
			fclose(status);
	}
	closedir(tasks);
	return sum;
}

/*
 * Wait until no thread of the consumer has gone to sleep for this time. (On a busy machine, a thread may wait for a
 * CPU, but not that long.)
 */
static uint64_t wait_for_calm(unsigned calm_ms)
{
	uint64_t before = switches(), now;
	unsigned calm = 0;

	for (unsigned ms = 0; calm < calm_ms; ms += 20) {
		if (ms > PATIENCE_MS)
			fail_msg("the consumer does not come to rest");
		pause_ms(20);
		now = switches();
		calm = now == before ? calm + 20 : 0;
		before = now;
	}
	return before;
}

/* Wait until the consumer is in its deep sleep, which is longer than any other sleep of its threads. */
static void wait_for_rest(const struct sets *s)
{
	unsigned resting, tries = 0;

	do {                            /* (a thread that waits for a CPU makes no switches either) */
		wait_for_calm(400);
		resting = 0;
		for (unsigned i = 0; i < SETS; i++)
			resting += __atomic_load_n(&s->sets[i]->header->heartbeat, __ATOMIC_RELAXED) == WMK_HEART_IDLE;
	} while (resting < SETS && ++tries < PATIENCE_MS / 400);
	assert_int_equal(resting, SETS);
}

static void wait_for_records(const struct sets *s, uint64_t n)
{
	struct wmk_consumer_stats stats;

	for (unsigned ms = 0;; ms++) {
		wmk_consumer_stats(s->rig.consumer, &stats);
		if (stats.counts.records >= n)
			return;
		if (ms > PATIENCE_MS)
			fail_msg("%llu records are in the trace, %llu should be",
				 (unsigned long long)stats.counts.records, (unsigned long long)n);
		pause_ms(1);
	}
}

/* ── sleeping ────────────────────────────────────────────────────────────────────────────────────────── */

static void test_idle_consumer_sleeps(void **state)
{
	struct sets s;

	(void)state;
	for (int blocking = 0; blocking < 2; blocking++) {
		sets_open(&s, -blocking, NULL);
		assert_int_equal(wmk_consumer_start(s.rig.consumer), 0);
		record(s.writers[0], 0, 10);
		wait_for_rest(&s);
		/* (without any switches, the check would have no effect) */
		assert_true(wait_for_calm(1000) > 0);
		sets_close(&s);
	}
}

/* Single records of sets with a flush interval are written; those of a set without one wait for their sub-buffer. */
static void records_are_written_at_the_flush_interval(void **state)
{
	const struct wmk_consumer_set how = { .flush_ns = 50000000 };
	struct wmk_consumer_stats without;
	struct sets s;

	(void)state;
	sets_open(&s, 0, &how);
	assert_int_equal(wmk_consumer_start(s.rig.consumer), 0);
	for (unsigned i = 0; i < 6; i++) {
		/* Repeat this while the thread sleeps: one record of any set wakes it. */
		if (i >= 4)
			wait_for_rest(&s);
		record(s.writers[0], i, i + 1);
		record(s.writers[1 + i % 2], i, i + 1);
		wait_for_records(&s, i + 1);
	}
	assert_int_equal(wmk_consumer_stats_of(s.rig.consumer, s.sets[0], &without), 0);
	assert_int_equal(without.counts.records, 0);
	sets_close(&s);
}

/* Each set wakes the consumer. No record is lost, although writers do not wait for room. */
static void records_of_each_set_wake_the_sleeping_consumer(void **state)
{
	struct sets s;
	uint64_t sum = 0;

	(void)state;
	sets_open(&s, 0, NULL);
	assert_int_equal(wmk_consumer_start(s.rig.consumer), 0);
	for (unsigned i = 0; i < SETS; i++) {
		wait_for_rest(&s);
		/* At least two sub-buffers, one of which is complete. */
		assert_int_equal(record(s.writers[i], 0, 300), 300);
		sum += 150;
		wait_for_records(&s, sum);
	}
	sets_close(&s);
}

/*
 * The consumer cannot wait for so many sets. It checks them at intervals, drains each one, and sleeps until it is woken
 * when there are fewer.
 */
static void consumer_drains_more_ring_sets_than_it_can_wait_for(void **state)
{
	const struct waymark_ring_options ring = { .size = sizeof(ring),
						   .subbuf_size = 4096,
						   .n_subbufs = 4,
						   .header_room = WMK_CTF_PACKET_ROOM,
						   .prefault = 1u << 30 };
	struct waymark_ring_set *more[WAYMARK_RING_WAIT_SETS], *writer;
	struct wmk_consumer_set how = { .start_ts = wmk_clock_monotonic() };
	struct wmk_consumer_stats one;
	struct sets s;
	uint64_t sum = 0;
	char channel[16];

	(void)state;
	sets_open(&s, 0, NULL);
	for (unsigned i = 0; i < WAYMARK_RING_WAIT_SETS; i++) {
		snprintf(channel, sizeof(channel), "crowd%u", i);
		how.channel = channel;
		assert_int_equal(waymark_ring_set_create(&ring, &more[i]), 0);
		assert_int_equal(wmk_consumer_add(s.rig.consumer, more[i], &how), 0);
	}
	assert_int_equal(waymark_ring_sets_wait(more, WAYMARK_RING_WAIT_SETS + 1, &(uint32_t){ 0 }, 0, 0), -ENOTSUP);
	assert_int_equal(wmk_consumer_start(s.rig.consumer), 0);
	for (unsigned i = 0; i < WAYMARK_RING_WAIT_SETS; i += 42) {
		assert_int_equal(waymark_ring_set_open(waymark_ring_set_fd(more[i]), &writer), 0);
		assert_int_equal(record(writer, 0, 300), 300);
		waymark_ring_set_close(writer);
		sum += 150;
		wait_for_records(&s, sum);
	}
	for (unsigned i = 0; i < WAYMARK_RING_WAIT_SETS; i++) {
		assert_int_equal(wmk_consumer_remove(s.rig.consumer, more[i], &one), 0);
		assert_int_equal(one.counts.records, i % 42 ? 0 : 300);
		assert_int_equal(one.counts.lost, 0);
		waymark_ring_set_close(more[i]);
	}
	wait_for_rest(&s);
	assert_int_equal(record(s.writers[0], 0, 300), 300);
	wait_for_records(&s, 2 * sum + 150);
	sets_close(&s);
}

/* A writer that is killed between its commit and the wake. */
static void woken_consumer_reads_records_of_a_writer_killed_before_wake(void **state)
{
	struct sets s;

	(void)state;
	sets_open(&s, 0, NULL);
	assert_int_equal(wmk_consumer_start(s.rig.consumer), 0);
	wait_for_rest(&s);
	/* Without the flag, writers do not wake the consumer. */
	__atomic_store_n(&s.sets[1]->header->waiting, 0, __ATOMIC_RELAXED);
	assert_int_equal(record(s.writers[1], 0, 300), 300);
	wmk_consumer_wake(s.rig.consumer);
	wait_for_records(&s, 150);
	sets_close(&s);
}

static void blocking_writer_loses_no_records_when_consumer_is_idle(void **state)
{
	struct sets s;

	(void)state;
	sets_open(&s, -1, NULL);
	assert_int_equal(wmk_consumer_start(s.rig.consumer), 0);
	wait_for_rest(&s);
	/* Many times the size of a ring: writers that find the consumer idle wait until it has made room. */
	assert_int_equal(record(s.writers[1], 0, 20000), 20000);
	sets_close(&s);
}

/*
 * Children that are killed before they have an identity leave their claims. After some time, later processes get rings
 * again.
 */
static void claim_rings_of_killed_children_are_reused(void **state)
{
	static const uint64_t guard = 0;
	const uint64_t word = 7;
	const struct waymark_ring_frag frag = { &word, sizeof(word), WAYMARK_FRAG_WORDS };
	struct waymark_ring_set *left;
	struct sets s;
	uint64_t lost = 0;

	(void)state;
	sets_open(&s, 0, NULL);
	left = s.sets[1];
	for (uint32_t i = waymark_ring_set_cpus(left); i < left->header->claims_end; i++)
		left->ring[i].ctl->claim = WMK_CLAIM_ANONYMOUS;
	assert_int_equal(wmk_consumer_start(s.rig.consumer), 0);
	for (unsigned ms = 0; wmk_ring_write_claim(s.writers[1], &guard, 0, 3, &frag, 1, sizeof(word)) != 0;
	     ms += 20, lost++) {
		if (ms > PATIENCE_MS)
			fail_msg("ended processes hold all claim rings");
		pause_ms(20);
	}
	assert_true(lost > 0);
	assert_int_equal(wmk_consumer_settle(s.rig.consumer, NULL), 0);
	assert_int_equal(wmk_consumer_stats_of(s.rig.consumer, left, &s.rig.stats), 0);
	assert_int_equal(s.rig.stats.counts.records, 1);
	assert_int_equal(s.rig.stats.counts.lost, lost);
	sets_close(&s);
}

/* ── commands ────────────────────────────────────────────────────────────────────────────────────────── */

static uint64_t records_in(struct rig *rig, const char *channel, struct waymark_ring_set *set, uint64_t *lost)
{
	const uint32_t cpus = waymark_ring_set_cpus(set);
	struct decoded one;
	uint64_t sum = 0;
	char name[64];

	*lost = 0;
	for (uint32_t i = 0; i < waymark_ring_set_rings(set); i++) {
		snprintf(name, sizeof(name), "%s_%s%u", channel, i < cpus ? "" : "claim", i < cpus ? i : i - cpus);
		if (decode_stream(rig_path(rig, name), rig->uuid, 16, &one, NULL, NULL) < 0)
			continue;
		assert_int_equal(one.first_lost, 0);
		sum += one.records;
		*lost += one.lost;
	}
	return sum;
}

static void removed_ring_set_is_drained_completely_and_then_ignored(void **state)
{
	struct wmk_consumer_stats one, all;
	struct sets s;
	uint64_t lost, kept;

	(void)state;
	for (int running = 0; running < 2; running++) {
		sets_open(&s, 0, NULL);
		if (running)
			assert_int_equal(wmk_consumer_start(s.rig.consumer), 0);
		kept = record(s.writers[1], 0, 3000);
		assert_int_equal(record(s.writers[2], 0, 10), 10);
		assert_int_equal(wmk_consumer_remove(s.rig.consumer, s.sets[1], &one), 0);
		assert_int_equal(one.counts.records, kept);
		assert_int_equal(one.counts.lost, 3000 - kept);
		assert_int_equal(records_in(&s.rig, "more1", s.sets[1], &lost), kept);
		assert_int_equal(lost, one.counts.lost);
		assert_true(one.counts.bytes > kept * 20);
		assert_int_equal(wmk_consumer_remove(s.rig.consumer, s.sets[1], &one), -ENOENT);
		/* The removed set is not drained any more. The other sets are drained, and all counts are present. */
		record(s.writers[1], 0, 100);
		assert_int_equal(wmk_consumer_settle(s.rig.consumer, NULL), 0);
		wmk_consumer_stats(s.rig.consumer, &all);
		assert_int_equal(all.counts.records, kept + 10);
		assert_int_equal(all.counts.lost, 3000 - kept);
		assert_int_equal(wmk_consumer_stats_of(s.rig.consumer, s.sets[2], &one), 0);
		assert_int_equal(one.counts.records, 10);
		assert_int_equal(wmk_consumer_stats_of(s.rig.consumer, s.sets[1], &one), -ENOENT);
		sets_close(&s);
	}
}

/*
 * Settle repeatedly: each time all records and lost counts are in the trace, also those that are normally written only
 * at stop.
 */
static void consumer_settle_writes_all_records_and_lost_counts(void **state)
{
	const struct wmk_consumer_set flight = { .at_stop_only = 1 };
	struct wmk_consumer_stats one;
	struct sets s;
	uint64_t lost, sum = 0, all = 0;

	(void)state;
	sets_open(&s, 0, &flight);
	assert_int_equal(wmk_consumer_start(s.rig.consumer), 0);
	for (unsigned turn = 0; turn < 4; turn++) {
		const uint64_t n = turn % 2 ? 2000 : 20;

		record(s.writers[0], 0, n);
		record(s.writers[1], all, all + n);
		all += n;
		assert_int_equal(wmk_consumer_flush(s.rig.consumer), 0);
		assert_int_equal(records_in(&s.rig, "more1", s.sets[1], &lost), sum);
		assert_int_equal(wmk_consumer_settle(s.rig.consumer, turn < 2 ? NULL : s.sets[1]), 0);
		sum = records_in(&s.rig, "more1", s.sets[1], &lost);
		assert_int_equal(sum + lost, all);
		assert_int_equal(wmk_consumer_stats_of(s.rig.consumer, s.sets[1], &one), 0);
		assert_int_equal(one.counts.records, sum);
		assert_int_equal(one.counts.overwritten, lost);
	}
	assert_int_equal(wmk_consumer_settle(s.rig.consumer, s.writers[1]), -ENOENT);
	sets_close(&s);
}

/* Earlier records are removed, later records are complete, and all counts begin at zero. */
static void test_clear_removes_records_and_counts(void **state)
{
	struct sets s;

	(void)state;
	for (int running = 0; running < 2; running++) {
		sets_open(&s, 0, NULL);
		if (running)
			assert_int_equal(wmk_consumer_start(s.rig.consumer), 0);
		for (unsigned turn = 0; turn < 3; turn++) {
			/* More records than fit; some are in the trace already. */
			for (unsigned i = 0; i < SETS; i++)
				record(s.writers[i], 0, 3000);
			if (turn)
				assert_int_equal(wmk_consumer_settle(s.rig.consumer, NULL), 0);
			for (unsigned i = 0; i < SETS; i++)
				record(s.writers[i], 0, 50);
			assert_int_equal(wmk_consumer_clear(s.rig.consumer), 0);
			wmk_consumer_stats(s.rig.consumer, &s.rig.stats);
			assert_int_equal(s.rig.stats.counts.records + s.rig.stats.counts.lost, 0);
			assert_int_equal(s.rig.stats.counts.packets + s.rig.stats.counts.streams, 0);
		}
		assert_int_equal(rig_record(&s.rig, 3, 0, 77), 77);
		/* (A running consumer may make room for all of them.) */
		const uint64_t kept = record(s.writers[1], 0, 3000);

		assert_true(running || kept < 3000);
		assert_int_equal(wmk_consumer_remove(s.rig.consumer, s.sets[1], NULL), 0);
		assert_int_equal(wmk_consumer_remove(s.rig.consumer, s.sets[2], NULL), 0);
		assert_int_equal(access(rig_path(&s.rig, "more2_0"), F_OK), -1);
		assert_int_equal(rig_stop(&s.rig), 0);
		wmk_consumer_stats(s.rig.consumer, &s.rig.stats);
		assert_int_equal(s.rig.stats.counts.records + s.rig.stats.counts.lost, 77 + 3000);
		sets_close(&s);
	}
}

/* A consumer that crashed after a clear: the next one also counts from there. */
static void consumer_resumed_after_clear_counts_only_later_records(void **state)
{
	struct wmk_consumer_options options = { .resume = 1, .start_ts = wmk_clock_monotonic() };
	struct rig rig;

	(void)state;
	for (unsigned written = 0; written < 3; written++) {
		rig_open(&rig, &shape);
		record(rig.mapped, 0, 3000);
		assert_int_equal(wmk_consumer_settle(rig.consumer, NULL), 0);
		assert_int_equal(wmk_consumer_clear(rig.consumer), 0);
		assert_int_equal(rig_record(&rig, 1, 0, 20), 20);
		if (written)
			assert_int_equal(wmk_consumer_settle(rig.consumer, NULL), 0);
		/* Close without a stop, as if the consumer had crashed. */
		wmk_consumer_close(rig.consumer);
		wmk_store_close(rig.store);
		assert_int_equal(wmk_store_open(rig.trace, rig.sub, &rig.store), 0);
		assert_int_equal(wmk_output_directory_trace(rig.store, rig.uuid, &options.output), 0);
		assert_int_equal(wmk_consumer_open(&options, &rig.consumer), 0);
		if (written == 2) {
			const struct wmk_consumer_set again = { .channel = "app", .resume = 1, .clear = 1 };

			assert_int_equal(wmk_consumer_add(rig.consumer, rig.set, &again), 0);
		} else {
			assert_int_equal(wmk_consumer_add_set(rig.consumer, rig.set, "app", 0), 0);
		}
		assert_int_equal(rig_record(&rig, 1, 20, 60), 40);
		assert_int_equal(rig_stop(&rig), 0);
		assert_int_equal(rig.stats.counts.records, written == 2 ? 40 : 60);
		assert_int_equal(rig.stats.counts.lost, 0);
		rig_check(&rig, 100);
		rig_babeltrace(&rig, false);
		rig_close(&rig);
	}
}

/* ── files of limited size ───────────────────────────────────────────────────────────────────────────── */

static void size_and_number_of_stream_files_are_limited(void **state)
{
	const struct wmk_store_limits limits = { 20000, 3 };
	const struct wmk_consumer_set how = { .limits = &limits };
	char name[64], command[400], *out, *err;
	uint64_t sum = 0, lines = 0;
	struct sets s;

	(void)state;
	sets_open(&s, -1, &how);
	assert_int_equal(wmk_consumer_start(s.rig.consumer), 0);
	assert_int_equal(record(s.writers[1], 0, 30000), 30000);
	assert_int_equal(wmk_consumer_stop(s.rig.consumer), 0);
	for (uint32_t ring = 0; ring < waymark_ring_set_rings(s.sets[1]); ring++) {
		for (unsigned i = 0; i < 4; i++) {
			const uint32_t cpus = waymark_ring_set_cpus(s.sets[1]);
			struct stat st;

			snprintf(name, sizeof(name), "more1_%s%u_%u", ring < cpus ? "" : "claim",
				 ring < cpus ? ring : ring - cpus, i);
			if (stat(rig_path(&s.rig, name), &st) < 0)
				continue;
			assert_true(i < 3 && st.st_size <= 20000);
			sum += (uint64_t)st.st_size;
		}
	}
	assert_true(sum > 20000);
	/* Readers see the remaining files as one stream: no record is missing or out of order. */
	snprintf(command, sizeof(command), "babeltrace2 convert %s", s.rig.trace);
	if (testdir_run(command, &out, &err) != 0 || err[0])
		fail_msg("%s says: %.2000s", command, err);
	for (const char *at = out; *at; at++)
		lines += *at == '\n';
	assert_true(lines > sum / 40 && lines < 30000);
	free(out);
	free(err);
	sets_close(&s);
}

/* Sums of reported counts saturate: two corrupt counts together do not become a small number. */
static void sums_of_statistics_saturate_at_the_maximum(void **state)
{
	const struct wmk_consumer_stats most = {
		.counts.records = UINT64_MAX - 1,
		.counts.lost = UINT64_MAX - 1,
		.counts.overwritten = UINT64_MAX - 1,
		.counts.cut = UINT64_MAX - 1,
		.counts.lost_full = UINT64_MAX - 1,
		.counts.lost_retry = UINT64_MAX - 1,
	};
	struct wmk_consumer_stats sum = { .counts = { .lost = 1000 } };

	(void)state;
	for (int i = 0; i < 3; i++)
		wmk_consumer_stats_add(&sum, &most);
	assert_true(sum.counts.records == UINT64_MAX && sum.counts.lost == UINT64_MAX);
	assert_true(sum.counts.overwritten == UINT64_MAX && sum.counts.cut == UINT64_MAX);
	assert_true(sum.counts.lost_full == UINT64_MAX && sum.counts.lost_retry == UINT64_MAX);
	assert_true(sum.counts.lost_memory == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle_consumer_sleeps),
		cmocka_unit_test(records_are_written_at_the_flush_interval),
		cmocka_unit_test(records_of_each_set_wake_the_sleeping_consumer),
		cmocka_unit_test(woken_consumer_reads_records_of_a_writer_killed_before_wake),
		cmocka_unit_test(consumer_drains_more_ring_sets_than_it_can_wait_for),
		cmocka_unit_test(blocking_writer_loses_no_records_when_consumer_is_idle),
		cmocka_unit_test(claim_rings_of_killed_children_are_reused),
		cmocka_unit_test(removed_ring_set_is_drained_completely_and_then_ignored),
		cmocka_unit_test(consumer_settle_writes_all_records_and_lost_counts),
		cmocka_unit_test(test_clear_removes_records_and_counts),
		cmocka_unit_test(consumer_resumed_after_clear_counts_only_later_records),
		cmocka_unit_test(size_and_number_of_stream_files_are_limited),
		cmocka_unit_test(sums_of_statistics_saturate_at_the_maximum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
