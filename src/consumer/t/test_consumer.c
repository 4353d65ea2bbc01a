/* SPDX-License-Identifier: MIT */
/*
 * test_consumer.c - a consumer with real rings, threads and a directory: each record is in the trace once, or counted
 * as lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "rig.h"
#include "store/t/testdir.h"

static const struct rig_shape small = { .subbuf = 4096, .n_subbufs = 4 };
static const struct rig_shape roomy = { .subbuf = 1u << 20, .n_subbufs = 8 };

/* Without records there is no stream, and the trace consists of the metadata only. */
static void test_empty_recording_has_no_stream(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, &small);
	assert_int_equal(wmk_consumer_start(rig.consumer), 0);
	assert_int_equal(wmk_consumer_start(rig.consumer), -EINVAL);
	assert_int_equal(rig_stop(&rig), 0);
	assert_int_equal(wmk_consumer_stop(rig.consumer), 0);
	rig_check(&rig, 1);
	assert_int_equal(rig.stats.counts.streams, 0);
	assert_int_equal(rig.stats.counts.lost, 0);
	rig_close(&rig);
}

/*
 * Many threads, and rings with room for all records on each CPU: every record is in the trace, and both readers read
 * it.
 */
static void test_busy_threads_lose_no_records(void **state)
{
	const struct rig_shape all = { .subbuf = 1u << 20, .n_subbufs = 32 };
	const uint64_t each = rig_rounds(200000);
	struct rig rig;

	(void)state;
	rig_open(&rig, &all);
	assert_int_equal(wmk_consumer_start(rig.consumer), 0);
	assert_int_equal(rig_record_threads(&rig, 4, each), 4 * each);
	assert_int_equal(rig_stop(&rig), 0);
	rig_check(&rig, each);
	assert_int_equal(rig.stats.counts.records, 4 * each);
	assert_int_equal(rig.stats.counts.lost, 0);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(rig.count[i], each);
	rig_babeltrace(&rig, false);
	rig_close(&rig);
}

/* Tiny rings: written + lost = recorded, by the counts in the trace. */
static void written_and_lost_records_sum_up_when_rings_are_too_small(void **state)
{
	const uint64_t each = rig_rounds(500000);
	uint64_t done;
	struct rig rig;

	(void)state;
	rig_open(&rig, &small);
	assert_int_equal(wmk_consumer_start(rig.consumer), 0);
	done = rig_record_threads(&rig, 8, each);
	assert_int_equal(rig_stop(&rig), 0);
	rig_check(&rig, each);
	assert_int_equal(rig.stats.counts.records, done);
	assert_int_equal(rig.stats.counts.records + rig.stats.counts.lost, 8 * each);
	assert_int_equal(rig.lost, rig.stats.counts.lost);
	assert_int_equal(rig.stats.counts.lost_full, rig.stats.counts.lost);
	rig_close(&rig);
}

/* A stream that has only losses begins with count 0 and ends with the losses, and readers report them. */
static void lost_records_of_a_stream_without_records_are_reported(void **state)
{
	static char big[8000];
	const struct waymark_ring_frag frag = { big, sizeof(big), WAYMARK_FRAG_BYTES };
	struct rig rig;

	(void)state;
	rig_open(&rig, &small);
	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(waymark_ring_record(rig.mapped, 3, &frag, 1), -ENOSPC);
	assert_int_equal(rig_stop(&rig), 0);
	rig_check(&rig, 1);
	assert_int_equal(rig.lost, 7);
	assert_int_equal(rig.stats.counts.lost, 7);
	assert_int_equal(rig.stats.counts.lost_size, 7);
	rig_babeltrace(&rig, true);
	rig_close(&rig);
}

/* Read the headers of all packets in the only stream. Returns their number. */
static unsigned packets_of(const struct rig *rig, struct wmk_ctf_packet *packets, unsigned max)
{
	const uint32_t cpus = waymark_ring_set_cpus(rig->set), rings = waymark_ring_set_rings(rig->set);
	unsigned n = 0;
	char name[64];

	for (uint32_t i = 0; i < rings; i++) {
		size_t len;
		char *bytes;

		snprintf(name, sizeof(name), i < cpus ? "app_%u" : "app_claim%u", i < cpus ? i : i - cpus);
		if (access(rig_path(rig, name), F_OK) < 0)
			continue;
		assert_int_equal(n, 0);
		bytes = testdir_slurp(rig_path(rig, name), &len);
		for (size_t at = 0; at < len; at += wmk_ctf_packet_size(&packets[n++])) {
			assert_true(n < max);
			assert_int_equal(wmk_ctf_packet_decode((const uint8_t *)bytes + at, rig->uuid, &packets[n]), 0);
		}
		free(bytes);
	}
	return n;
}

/*
 * A loss is reported at its position: packets that ended before it do not count it, even if they are written later. All
 * packets after it count it.
 */
static void loss_is_counted_only_in_packets_after_it(void **state)
{
	struct wmk_ctf_packet packets[16];
	struct wmk_consumer_stats seen;
	cpu_set_t before, here;
	struct rig rig;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	assert_int_equal(sched_setaffinity(0, sizeof(here), &here), 0);
	rig_open(&rig, &small);
	const uint64_t lost = 3000 - rig_record(&rig, 0, 0, 3000);

	assert_true(lost > 0);
	/* The loss is counted before any packet is written. */
	assert_int_equal(wmk_consumer_stats_of(rig.consumer, rig.set, &seen), 0);
	assert_int_equal(seen.counts.lost, lost);
	assert_int_equal(wmk_consumer_settle(rig.consumer, NULL), 0);
	assert_int_equal(rig_record(&rig, 0, 3000, 3010), 10);
	assert_int_equal(rig_stop(&rig), 0);
	assert_int_equal(rig.stats.counts.lost, lost);
	const unsigned n = packets_of(&rig, packets, 16);

	/* The last sub-buffer was open while the others were full. */
	assert_true(n > small.n_subbufs);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(packets[i].lost, i < small.n_subbufs - 1 ? 0 : lost);
	rig_check(&rig, 3010);
	rig_babeltrace(&rig, true);
	rig_close(&rig);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

/* A flush writes the present records. A reader sees the parts of one sub-buffer as one stream. */
static void test_flush_writes_partial_subbuffers(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, &roomy);
	assert_int_equal(wmk_consumer_start(rig.consumer), 0);
	for (unsigned i = 0; i < 20; i++) {
		assert_int_equal(rig_record(&rig, 0, 10 * i, 10 * i + 10), 10);
		assert_int_equal(wmk_consumer_flush(rig.consumer), 0);
		wmk_consumer_stats(rig.consumer, &rig.stats);
		assert_int_equal(rig.stats.counts.records, 10 * i + 10);
	}
	assert_int_equal(rig_stop(&rig), 0);
	rig_check(&rig, 200);
	assert_int_equal(rig.stats.counts.records, 200);
	rig_babeltrace(&rig, false);
	rig_close(&rig);
}

/*
 * A consumer in a deep sleep writes all records when it is stopped, like one that is awake. The time that it takes is
 * not checked, because no test depends on time.
 */
static void sleeping_consumer_writes_all_records_when_stopped(void **state)
{
	struct timespec long_enough = { .tv_nsec = 30000000 };
	struct rig rig;

	(void)state;
	rig_open(&rig, &small);
	assert_int_equal(wmk_consumer_start(rig.consumer), 0);
	/* These waits are not for a condition: the later the stop, the deeper the sleep, and each depth must work. */
	for (unsigned i = 0; i < (unsigned)rig_rounds(500); i++)
		nanosleep(&long_enough, NULL);
	rig_record(&rig, 0, 0, 5);
	assert_int_equal(rig_stop(&rig), 0);
	assert_int_equal(rig.stats.counts.records, 5);
	rig_close(&rig);
}

/*
 * Overwrite mode: nothing is on disk before the end; then the newest records are written, and the others are counted.
 */
static void overwrite_ring_is_written_only_at_stop_with_its_newest_records(void **state)
{
	const struct rig_shape shape = { .subbuf = 4096, .n_subbufs = 8, .mode = WAYMARK_RING_OVERWRITE,
					 .at_stop_only = 1 };
	const uint64_t each = 20000;
	struct rig rig;

	(void)state;
	rig_open(&rig, &shape);
	assert_int_equal(wmk_consumer_start(rig.consumer), 0);
	assert_int_equal(rig_record_threads(&rig, 4, each), 4 * each);
	assert_int_equal(access(rig_path(&rig, "app_0"), F_OK), -1);
	assert_int_equal(rig_record(&rig, 4, 0, 10), 10);
	assert_int_equal(rig_stop(&rig), 0);
	rig_check(&rig, each);
	assert_true(rig.count[4] == 10);
	assert_int_equal(rig.stats.counts.records + rig.stats.counts.lost, 4 * each + 10);
	assert_int_equal(rig.stats.counts.overwritten, rig.stats.counts.lost);
	assert_int_equal(rig.lost, rig.stats.counts.lost);
	assert_true(rig.stats.counts.records >= 6 * 4000 / 20);
	rig_babeltrace(&rig, true);
	rig_close(&rig);
}

/* Stop during recording at full speed: the consumer ends, and all records in the trace are complete. */
struct endless {
	struct rig *rig;
	_Atomic int stop;
	_Atomic uint64_t n;
};

static void *record_until(void *arg)
{
	struct endless *endless = arg;

	for (; !endless->stop; endless->n++)
		rig_record(endless->rig, 0, endless->n, endless->n + 1);
	return NULL;
}

static void consumer_stopped_while_a_thread_records_writes_complete_records(void **state)
{
	(void)state;
	for (unsigned mode = 0; mode < 2; mode++) {
		const struct rig_shape shape = { .subbuf = 4096, .n_subbufs = 8, .mode = mode,
						 .at_stop_only = (int)mode };
		struct endless endless = { 0 };
		pthread_t thread;
		struct rig rig;

		endless.rig = &rig;
		rig_open(&rig, &shape);
		assert_int_equal(wmk_consumer_start(rig.consumer), 0);
		assert_int_equal(pthread_create(&thread, NULL, record_until, &endless), 0);
		while (endless.n < 100000)
			wmk_consumer_stats(rig.consumer, &rig.stats);
		assert_int_equal(rig_stop(&rig), 0);
		endless.stop = 1;
		pthread_join(thread, NULL);
		assert_true(rig.stats.counts.records > 0);
		rig_check(&rig, endless.n);
		rig_close(&rig);
	}
}

/* A writer is killed at any time. The trace has all its complete records, and another writer continues to record. */
static void test_killed_writer_keeps_complete_records(void **state)
{
	const unsigned rounds = (unsigned)rig_rounds(100);

	(void)state;
	for (unsigned i = 0; i < rounds; i++) {
		uint64_t *begun = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), returned;
		struct rig rig;
		pid_t pid;

		rig_open(&rig, &roomy);
		assert_int_equal(wmk_consumer_start(rig.consumer), 0);
		pid = fork();
		if (pid == 0) {
			for (uint64_t n = 0; n < 1000000; n++) {
				__atomic_store_n(&begun[0], n + 1, __ATOMIC_RELEASE);
				rig_record(&rig, 1, n, n + 1);
				__atomic_store_n(&begun[1], n + 1, __ATOMIC_RELEASE);
			}
			_exit(0);
		}
		while (__atomic_load_n(&begun[1], __ATOMIC_ACQUIRE) < 1000 + 37 * i)
			;
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		assert_int_equal(rig_record(&rig, 0, 0, 1000), 1000);
		assert_int_equal(rig_stop(&rig), 0);
		returned = begun[1];
		rig_check(&rig, 1000001);
		assert_int_equal(rig.count[0], 1000);
		assert_true(returned <= rig.count[1] + rig.stats.counts.lost);
		assert_true(rig.count[1] + rig.stats.counts.lost <= begun[0]);
		munmap(begun, 4096);
		rig_close(&rig);
	}
}

/* One consumer of two channels: two streams for each CPU, each with its own name and records. */
static void records_of_two_ring_sets_are_in_separate_streams(void **state)
{
	struct waymark_ring_options ring = { .size = sizeof(ring), .subbuf_size = 4096, .n_subbufs = 4,
					     .header_room = WMK_CTF_PACKET_ROOM, .clock = WAYMARK_CLOCK_MONOTONIC };
	const uint64_t words[2] = { 1, 2 };
	const struct waymark_ring_frag frag = { words, sizeof(words), WAYMARK_FRAG_WORDS };
	struct waymark_ring_set *other, *mapped;
	struct decoded one;
	char name[32];
	uint64_t found = 0;
	struct rig rig;

	(void)state;
	rig_open(&rig, &small);
	assert_int_equal(waymark_ring_set_create(&ring, &other), 0);
	assert_int_equal(waymark_ring_set_open(waymark_ring_set_fd(other), &mapped), 0);
	assert_int_equal(wmk_consumer_start(rig.consumer), 0);
	assert_int_equal(wmk_consumer_add_set(rig.consumer, other, "other", 1), 0);
	assert_int_equal(waymark_ring_record(mapped, 3, &frag, 1), 0);
	assert_int_equal(rig_record(&rig, 0, 0, 10), 10);
	assert_int_equal(wmk_consumer_flush(rig.consumer), 0);
	assert_int_equal(waymark_ring_record(mapped, 3, &frag, 1), 0);
	assert_int_equal(rig_stop(&rig), 0);
	assert_int_equal(rig.stats.counts.records, 12);
	for (uint32_t i = 0; i < waymark_ring_set_rings(other); i++) {
		bool claim = i >= waymark_ring_set_cpus(other);

		snprintf(name, sizeof(name), "other_%s%u", claim ? "claim" : "",
			 claim ? i - waymark_ring_set_cpus(other) : i);
		if (decode_stream(rig_path(&rig, name), rig.uuid, 16, &one, NULL, NULL) == 0)
			found += one.records;
	}
	assert_int_equal(found, 2);
	rig_close(&rig);
	waymark_ring_set_close(mapped);
	waymark_ring_set_close(other);
}

/*
 * Rings without memory: the consumer backs them when they begin to record. From then on no record is lost for lack of
 * memory.
 */
static void rings_lose_no_records_after_consumer_allocates_their_memory(void **state)
{
	const struct rig_shape shape = { .subbuf = 65536, .n_subbufs = 4, .cold = true };
	const struct timespec pause = { .tv_nsec = 1000000 };
	uint64_t next = 0, turns;
	struct rig rig;

	(void)state;
	rig_open(&rig, &shape);
	assert_int_equal(wmk_consumer_start(rig.consumer), 0);
	/*
	 * Record a sixteenth of a ring at a time, with a drain pass in between: without memory, each turn would lose
	 * records.
	 */
	for (turns = 0; turns < 2000 && next < 64 * 800; turns++, next += 800) {
		if (rig_record(&rig, 0, next, next + 800) < 800)
			next = 0;
		assert_int_equal(wmk_consumer_flush(rig.consumer), 0);
		nanosleep(&pause, NULL);
	}
	if (next < 64 * 800)
		fail_msg("records are still lost after %llu looks", (unsigned long long)turns);
	assert_int_equal(rig_stop(&rig), 0);
	rig_close(&rig);
}

/* A corrupt ring ends its own stream and is named in the trace and in the statistics. Other rings are not affected. */
static void test_corrupt_ring_ends_its_own_stream(void **state)
{
	uint32_t ring;
	struct rig rig;
	char *metadata;
	size_t len;
	uint64_t *control = NULL, *page;

	(void)state;
	rig_open(&rig, &roomy);
	assert_int_equal(wmk_consumer_start(rig.consumer), 0);
	assert_int_equal(rig_record(&rig, 0, 0, 100), 100);
	assert_int_equal(wmk_consumer_flush(rig.consumer), 0);
	/*
	 * A process with access to the memory overwrites the write positions: the first word of each control block, 512
	 * bytes apart.
	 */
	page = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, waymark_ring_set_fd(rig.set), 0);
	assert_true(page != MAP_FAILED);
	for (ring = 0; ring < waymark_ring_set_rings(rig.set) && !control && ring < 120; ring++)
		if (page[(4096 + 512 * ring) / 8])
			control = &page[(4096 + 512 * ring) / 8];
	assert_non_null(control);
	*control = 0x123456789abcdef;
	assert_int_equal(rig_stop(&rig), 0);
	assert_int_equal(rig.stats.counts.errors, 1);
	assert_non_null(strstr(rig.stats.words, "app_"));
	rig_check(&rig, 1000);
	assert_int_equal(rig.count[0], 100);
	metadata = testdir_slurp(rig_path(&rig, "metadata"), &len);
	assert_non_null(strstr(metadata, "its ring is corrupt"));
	free(metadata);
	rig_babeltrace(&rig, false);
	munmap(page, 65536);
	rig_close(&rig);
}

/* A disk on which one write takes longer than writers wait for a consumer without heartbeat. */
static struct {
	struct wmk_output_trace output, *inner;
	unsigned writes;
} slow;

static int slow_stream_open(struct wmk_output_trace *output, const char *name, const struct wmk_store_limits *limits,
			    struct wmk_output_stream **stream)
{
	(void)output;
	return slow.inner->ops->stream_open(slow.inner, name, limits, stream);
}

static int slow_write(struct wmk_output_stream *stream, const struct wmk_ctf_packet *head,
		      const struct wmk_packet *packet)
{
	const struct timespec long_enough = { .tv_sec = 3 };

	if (slow.writes++ == 0)
		nanosleep(&long_enough, NULL);
	return slow.inner->ops->write(stream, head, packet);
}

static int slow_stream_close(struct wmk_output_stream *stream)
{
	return slow.inner->ops->stream_close(stream);
}

static void slow_close(struct wmk_output_trace *output)
{
	(void)output;
	slow.inner->ops->close(slow.inner);
}

/* Writers that may wait for room wait as long as a write takes, because the heartbeat continues. */
static void blocking_writers_wait_for_a_slow_write_without_loss(void **state)
{
	static const struct wmk_output_trace_ops ops = { .stream_open = slow_stream_open, .write = slow_write,
						 .stream_close = slow_stream_close, .close = slow_close };
	const struct rig_shape shape = { .subbuf = 4096, .n_subbufs = 2, .block_us = -1 };
	struct wmk_consumer_options options = { .output = &slow.output, .start_ts = wmk_clock_monotonic() };
	struct rig rig;

	(void)state;
	rig_open(&rig, &shape);
	wmk_consumer_close(rig.consumer);
	slow.output.ops = &ops;
	slow.writes = 0;
	assert_int_equal(wmk_output_directory_trace(rig.store, rig.uuid, &slow.inner), 0);
	assert_int_equal(wmk_consumer_open(&options, &rig.consumer), 0);
	assert_int_equal(wmk_consumer_add_set(rig.consumer, rig.set, "app", 0), 0);
	assert_int_equal(wmk_consumer_start(rig.consumer), 0);
	assert_int_equal(rig_record_threads(&rig, 2, 5000), 2 * 5000);
	assert_int_equal(rig_stop(&rig), 0);
	assert_true(slow.writes > 10);
	assert_true(rig.stats.counts.writing_us >= 3000000);
	assert_int_equal(rig.stats.counts.records, 2 * 5000);
	assert_int_equal(rig.stats.counts.lost, 0);
	rig_close(&rig);
}

static void invalid_consumer_options_are_refused(void **state)
{
	struct waymark_ring_options ring = { .size = sizeof(ring), .subbuf_size = 4096, .n_subbufs = 2,
					     .header_room = 64 };
	const struct wmk_consumer_options none = { .min_us = 2, .max_us = 1 };
	struct wmk_consumer *consumer;
	struct waymark_ring_set *set;
	struct rig rig;

	(void)state;
	assert_int_equal(wmk_consumer_open(&none, &consumer), -EINVAL);
	rig_open(&rig, &small);
	assert_int_equal(waymark_ring_set_create(&ring, &set), 0);
	assert_int_equal(wmk_consumer_add_set(rig.consumer, set, "x", 1), -EINVAL);
	waymark_ring_set_close(set);
	assert_int_equal(wmk_consumer_flush(rig.consumer), -EINVAL);
	assert_int_equal(rig_stop(&rig), 0);
	assert_int_equal(wmk_consumer_add_set(rig.consumer, rig.set, "late", 1), -ESHUTDOWN);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_recording_has_no_stream),
		cmocka_unit_test(test_busy_threads_lose_no_records),
		cmocka_unit_test(written_and_lost_records_sum_up_when_rings_are_too_small),
		cmocka_unit_test(lost_records_of_a_stream_without_records_are_reported),
		cmocka_unit_test(loss_is_counted_only_in_packets_after_it),
		cmocka_unit_test(test_flush_writes_partial_subbuffers),
		cmocka_unit_test(sleeping_consumer_writes_all_records_when_stopped),
		cmocka_unit_test(overwrite_ring_is_written_only_at_stop_with_its_newest_records),
		cmocka_unit_test(consumer_stopped_while_a_thread_records_writes_complete_records),
		cmocka_unit_test(test_killed_writer_keeps_complete_records),
		cmocka_unit_test(records_of_two_ring_sets_are_in_separate_streams),
		cmocka_unit_test(rings_lose_no_records_after_consumer_allocates_their_memory),
		cmocka_unit_test(test_corrupt_ring_ends_its_own_stream),
		cmocka_unit_test(blocking_writers_wait_for_a_slow_write_without_loss),
		cmocka_unit_test(invalid_consumer_options_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
