/* SPDX-License-Identifier: MIT */
/*
 * test_full.c - a full disk, and a file that cannot grow: recording continues, each lost record is counted, and the
 * trace is complete.
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
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "rig.h"
#include "store/t/testdir.h"

static const struct rig_shape shape = { .subbuf = 16384, .n_subbufs = 4 };

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Wait, with a time limit, until the statistics report that writing is stuck, or with `stuck` false that it is not. */
static void wait_stuck(struct rig *rig, int stuck)
{
	struct timespec pause = { .tv_nsec = 5000000 };

	for (unsigned i = 0; i < 2000; i++) {
		wmk_consumer_stats(rig->consumer, &rig->stats);
		if (rig->stats.stuck == stuck)
			return;
		nanosleep(&pause, NULL);
	}
	fail_msg("10 seconds, and the consumer is %s stuck", stuck ? "not" : "still");
}

/* Record until the rings are full: `n` numbers from `*next`. */
static uint64_t record(struct rig *rig, uint64_t *next, uint64_t n)
{
	uint64_t done = rig_record(rig, 0, *next, *next + n);

	*next += n;
	return done;
}

/* Record until writing is stuck, then until the rings are full. */
static uint64_t record_until_stuck(struct rig *rig, uint64_t *next)
{
	uint64_t done = 0;

	do {
		done += record(rig, next, 1000);
		wmk_consumer_stats(rig->consumer, &rig->stats);
	} while (!rig->stats.stuck && *next < 10000000);
	wait_stuck(rig, 1);
	return done + record(rig, next, 300000);
}

/* The obstacle appears, remains until the rings are full, and disappears. The packets that failed are then written. */
static void check_passing(struct rig *rig, void (*go_away)(void *), void *arg)
{
	uint64_t next = 0, done = record_until_stuck(rig, &next);

	wmk_consumer_stats(rig->consumer, &rig->stats);
	assert_true(rig->stats.output_error < 0);
	assert_true(rig->stats.words[0] != '\0');
	go_away(arg);
	wait_stuck(rig, 0);
	done += record(rig, &next, 10);
	assert_int_equal(rig_stop(rig), 0);
	rig_check(rig, next);
	assert_int_equal(rig->stats.counts.records, done);
	assert_int_equal(rig->stats.counts.unwritten, 0);
	assert_int_equal(rig->stats.counts.records + rig->stats.counts.lost, next);
	assert_int_equal(rig->lost, rig->stats.counts.lost);
	assert_true(rig->stats.counts.lost > 0);
	rig_babeltrace(rig, true);
}

/* The obstacle remains: each record that could not be written is counted. */
static void check_lasting(struct rig *rig)
{
	uint64_t next = 0, done = record_until_stuck(rig, &next);

	assert_true(rig_stop(rig) < 0);
	rig_check(rig, next);
	/* There was no room for a packet with the final count. */
	assert_int_equal(rig->lost, rig->stats.counts.lost);
	assert_true(rig->stats.counts.unwritten > 0);
	assert_int_equal(rig->stats.counts.records + rig->stats.counts.unwritten, done);
	assert_int_equal(rig->stats.counts.records + rig->stats.counts.lost, next);
}

static void lift_limit(void *arg)
{
	(void)arg;
	limit_files(RLIM_INFINITY);
}

static void failed_packets_are_written_after_file_size_limit_is_raised(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, &shape);
	limit_files(1000000);
	assert_int_equal(wmk_consumer_start(rig.consumer), 0);
	check_passing(&rig, lift_limit, NULL);
	rig_close(&rig);
}

/* The packets are large enough to bypass the page cache, if the file system supports that. */
static void large_failed_packets_are_written_after_limit_is_raised(void **state)
{
	const struct rig_shape large = { .subbuf = 1u << 20, .n_subbufs = 4 };
	struct rig rig;

	(void)state;
	rig_open(&rig, &large);
	limit_files(5000000);
	assert_int_equal(wmk_consumer_start(rig.consumer), 0);
	check_passing(&rig, lift_limit, NULL);
	rig_close(&rig);
}

static void unwritten_records_are_counted_under_a_file_size_limit(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, &shape);
	limit_files(1000000);
	assert_int_equal(wmk_consumer_start(rig.consumer), 0);
	check_lasting(&rig);
	limit_files(RLIM_INFINITY);
	rig_babeltrace(&rig, true);
	rig_close(&rig);
}

/* While the file of one stream cannot grow, other streams are written; the stream continues when its file can grow. */
static void file_size_limit_of_one_stream_does_not_delay_other_streams(void **state)
{
	struct waymark_ring_options ring = { .size = sizeof(ring),
					     .subbuf_size = 4096,
					     .n_subbufs = 4,
					     .header_room = WMK_CTF_PACKET_ROOM,
					     .clock = WAYMARK_CLOCK_MONOTONIC,
					     .prefault = 1u << 30 };
	const uint64_t words[2] = { 1, 2 };
	const struct waymark_ring_frag frag = { words, sizeof(words), WAYMARK_FRAG_WORDS };
	const struct timespec pause = { .tv_nsec = 5000000 };
	struct waymark_ring_set *other, *mapped;
	struct wmk_consumer_stats one = { 0 };
	uint64_t next = 0, done;
	struct rig rig;

	(void)state;
	rig_open(&rig, &shape);
	assert_int_equal(waymark_ring_set_create(&ring, &other), 0);
	assert_int_equal(waymark_ring_set_open(waymark_ring_set_fd(other), &mapped), 0);
	assert_int_equal(wmk_consumer_add_set(rig.consumer, other, "other", 0), 0);
	limit_files(100000);
	assert_int_equal(wmk_consumer_start(rig.consumer), 0);
	done = record_until_stuck(&rig, &next);
	/* One sub-buffer of the other stream is complete. */
	for (unsigned i = 0; i < 300; i++)
		assert_int_equal(waymark_ring_record(mapped, 3, &frag, 1), 0);
	for (unsigned i = 0; i < 2000 && one.counts.records < 150; i++, nanosleep(&pause, NULL))
		assert_int_equal(wmk_consumer_stats_of(rig.consumer, other, &one), 0);
	if (one.counts.records < 150)
		fail_msg("10 seconds, and of the other stream %llu records are written",
			 (unsigned long long)one.counts.records);
	/*
	 * The write is retried without a wake of the consumer, more often than the empty passes before a deep sleep.
	 */
	const uint32_t tried = rig.stats.counts.sink_errors;

	for (unsigned i = 0; i < 4000 && rig.stats.counts.sink_errors < tried + 30; i++, nanosleep(&pause, NULL))
		wmk_consumer_stats(rig.consumer, &rig.stats);
	assert_true(rig.stats.counts.sink_errors >= tried + 30);
	limit_files(RLIM_INFINITY);
	wait_stuck(&rig, 0);
	assert_int_equal(rig_stop(&rig), 0);
	assert_int_equal(rig.stats.counts.records, done + 300);
	assert_int_equal(rig.stats.counts.unwritten, 0);
	rig_close(&rig);
	waymark_ring_set_close(mapped);
	waymark_ring_set_close(other);
}

/* Not even the file of a stream can be created. */
static void all_records_are_counted_as_unwritten_when_no_file_can_be_made(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, &shape);
	limit_files(4);
	assert_int_equal(wmk_consumer_start(rig.consumer), 0);
	assert_int_equal(rig_record(&rig, 0, 0, 100), 100);
	assert_true(rig_stop(&rig) < 0);
	limit_files(RLIM_INFINITY);
	rig_check(&rig, 100);
	assert_int_equal(rig.stats.counts.records, 0);
	assert_int_equal(rig.stats.counts.unwritten, 100);
	assert_int_equal(rig.stats.counts.lost, 100);
	rig_close(&rig);
}

/* ── a file system of its own ────────────────────────────────────────────────────────────────────────── */

static bool mount_small(char dir[256])
{
	testdir_make(dir);
	if (mount("waymark-test", dir, "tmpfs", MS_NOSUID | MS_NODEV, "size=2m") == 0)
		return true;
	print_message("SKIPPED: no small file system to fill, mount says: %s\n", strerror(errno));
	testdir_remove(dir);
	return false;
}

static void unmount_small(const char *dir)
{
	assert_int_equal(umount2(dir, MNT_DETACH), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void remove_ballast(void *arg)
{
	assert_int_equal(unlink(arg), 0);
}

static void failed_packets_are_written_after_disk_space_is_freed(void **state)
{
	struct rig_shape there = shape;
	char dir[256], ballast[300];
	struct rig rig;
	int fd;

	(void)state;
	if (!mount_small(dir))
		skip();
	there.dir = dir;
	snprintf(ballast, sizeof(ballast), "%s/ballast", dir);
	fd = open(ballast, O_CREAT | O_WRONLY, 0600);
	assert_int_equal(posix_fallocate(fd, 0, 1500000), 0);
	close(fd);
	rig_open(&rig, &there);
	assert_int_equal(wmk_consumer_start(rig.consumer), 0);
	check_passing(&rig, remove_ballast, ballast);
	rig_close(&rig);
	unmount_small(dir);
}

static void unwritten_records_are_counted_when_the_disk_stays_full(void **state)
{
	struct rig_shape there = shape;
	char dir[256];
	struct rig rig;

	(void)state;
	if (!mount_small(dir))
		skip();
	there.dir = dir;
	rig_open(&rig, &there);
	assert_int_equal(wmk_consumer_start(rig.consumer), 0);
	check_lasting(&rig);
	rig_babeltrace(&rig, true);
	rig_close(&rig);
	unmount_small(dir);
}

static const struct wmk_output_place place = { .mode = WMK_OUTPUT_NEW, .sub = "ust" };

static bool exists(const char *dir, const char *name)
{
	char path[700];

	snprintf(path, sizeof(path), "%s/trace/%s", dir, name);
	return access(path, F_OK) == 0;
}

/* The closed chunk is moved once, although the first attempt to begin the next chunk fails. */
static void rotation_completes_after_file_size_limit_is_raised(void **state)
{
	struct wmk_output_directory_options options = { .uid = geteuid(), .gid = getegid(), .budget_fd = -1 };
	struct wmk_output_trace *trace;
	struct wmk_output *output;
	char dir[256], path[300];

	(void)state;
	testdir_make(dir);
	snprintf(path, sizeof(path), "%s/trace", dir);
	options.path = path;
	assert_int_equal(wmk_output_directory_open(&options, &output), 0);
	assert_int_equal(output->ops->trace_open(output, &place, &trace), 0);
	assert_int_equal(trace->ops->metadata(trace, 0, "first", 5), 0);
	for (unsigned i = 0; i < 2; i++) {
		limit_files(0);
		assert_int_equal(trace->ops->rotate(trace, "closed-0", 1), -EFBIG);
		limit_files(RLIM_INFINITY);
		wmk_error_clear();
		assert_int_equal(trace->ops->chunk(trace), 0);
		assert_true(exists(dir, "archives/.closed-0/ust/metadata"));
	}
	assert_int_equal(trace->ops->rotate(trace, "closed-0", 1), 0);
	assert_int_equal(trace->ops->chunk(trace), 1);
	assert_true(exists(dir, "archives/.closed-0/ust/metadata"));
	assert_true(exists(dir, "ust/.chunk"));
	trace->ops->close(trace);
	output->ops->close(output);
	testdir_remove(dir);
}

/* Record into one stream only: on a full disk, the file of another one could not be created. */
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
		cmocka_unit_test(failed_packets_are_written_after_file_size_limit_is_raised),
		cmocka_unit_test(large_failed_packets_are_written_after_limit_is_raised),
		cmocka_unit_test(unwritten_records_are_counted_under_a_file_size_limit),
		cmocka_unit_test(all_records_are_counted_as_unwritten_when_no_file_can_be_made),
		cmocka_unit_test(file_size_limit_of_one_stream_does_not_delay_other_streams),
		cmocka_unit_test(failed_packets_are_written_after_disk_space_is_freed),
		cmocka_unit_test(rotation_completes_after_file_size_limit_is_raised),
		cmocka_unit_test(unwritten_records_are_counted_when_the_disk_stays_full),
	};

	signal(SIGXFSZ, SIG_IGN);
	return cmocka_run_group_tests(tests, stay_here, NULL);
}
