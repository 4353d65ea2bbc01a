/* SPDX-License-Identifier: MIT */
/*
 * test_resume.c - consumers are killed at random times under load, and the next one continues: no record is lost or
 * duplicated, and both readers read the trace without a warning. Writers wait for room meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "rig.h"

#define WRITERS 4
#define PATIENCE_NS 30000000000ull

/* ── an output that ends the process ─────────────────────────────────────────────────────────────────── */

enum death { BEFORE, TORN_HEAD, TORN, LACKS_LAST, AFTER, DEATHS };

/* Passes everything to the directory, but exits at the selected write. */
static struct {
	struct wmk_output_trace output;
	struct wmk_output_trace *inner;
	enum death how;
	uint64_t left;
	const struct rig *rig;
	unsigned n;
	struct {
		struct wmk_output_stream *stream;
		char name[64];
	} streams[64];
} mortal;

static void know(struct wmk_output_stream *stream, const char *name)
{
	assert_true(mortal.n < 64);
	mortal.streams[mortal.n].stream = stream;
	snprintf(mortal.streams[mortal.n++].name, 64, "%s", name);
}

static int mortal_open(struct wmk_output_trace *output, const char *name, const struct wmk_store_limits *limits,
		       struct wmk_output_stream **stream)
{
	int err = mortal.inner->ops->stream_open(mortal.inner, name, limits, stream);

	(void)output;
	if (err >= 0)
		know(*stream, name);
	return err;
}

static int mortal_resume(struct wmk_output_trace *output, const char *name, const struct wmk_store_limits *limits,
			 struct wmk_output_stream **stream, struct wmk_ctf_packet *last)
{
	int found = mortal.inner->ops->stream_resume(mortal.inner, name, limits, stream, last);

	(void)output;
	if (found >= 0)
		know(*stream, name);
	return found;
}

static void die(void)
{
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

/* Write the first bytes of the packet to the file, as if the process had been killed during the write. */
static void tear(struct wmk_output_stream *stream, const struct wmk_ctf_packet *head, const struct wmk_packet *packet)
{
	uint8_t room[WMK_CTF_PACKET_ROOM];
	size_t len = mortal.how == TORN_HEAD ? 0 : mortal.how == TORN ? packet->len / 2 : packet->len - 1;
	unsigned i = 0;
	int fd;

	while (i < mortal.n && mortal.streams[i].stream != stream)
		i++;
	fd = open(rig_path(mortal.rig, mortal.streams[i].name), O_WRONLY | O_APPEND | O_CLOEXEC);
	wmk_ctf_packet_encode(room, mortal.rig->uuid, head);
	if (fd < 0 || write(fd, room, mortal.how == TORN_HEAD ? 50 : sizeof(room)) < 0 ||
	    write(fd, packet->data, len) != (ssize_t)len)
		_exit(1);
	die();
}

static int mortal_write(struct wmk_output_stream *stream, const struct wmk_ctf_packet *head,
			const struct wmk_packet *packet)
{
	const bool now = mortal.left-- == 0;
	int err;

	if (now && mortal.how == BEFORE)
		die();
	if (now && mortal.how != AFTER && packet->len)
		tear(stream, head, packet);
	err = mortal.inner->ops->write(stream, head, packet);
	if (now)
		die();
	return err;
}

static int mortal_stream_close(struct wmk_output_stream *stream)
{
	return mortal.inner->ops->stream_close(stream);
}

static void mortal_close(struct wmk_output_trace *output)
{
	(void)output;
	mortal.inner->ops->close(mortal.inner);
}

static const struct wmk_output_trace_ops mortal_ops = {
	.stream_open = mortal_open, .stream_resume = mortal_resume, .write = mortal_write,
	.stream_close = mortal_stream_close, .close = mortal_close,
};

/* ── consumers one after the other ───────────────────────────────────────────────────────────────────── */

/*
 * In a child process: continue the trace, and exit at write number `left`. Flushes as well, so that partial sub-buffers
 * are written.
 */
static void consume_and_die(struct rig *rig, bool first, enum death how, uint64_t left)
{
	struct wmk_consumer_options options = { .resume = !first, .start_ts = wmk_clock_monotonic() };
	struct timespec pause = { .tv_nsec = 300000 };
	struct wmk_consumer *consumer;
	struct wmk_store *store;

	mortal.output.ops = &mortal_ops;
	mortal.how = how;
	mortal.left = left;
	mortal.rig = rig;
	options.output = &mortal.output;
	if (wmk_store_open(rig->trace, rig->sub, &store) < 0 ||
	    wmk_output_directory_trace(store, rig->uuid, &mortal.inner) < 0 ||
	    wmk_consumer_open(&options, &consumer) < 0 || wmk_consumer_add_set(consumer, rig->set, "app", 0) < 0 ||
	    wmk_consumer_start(consumer) < 0)
		_exit(2);
	for (;;) {
		wmk_consumer_flush(consumer);
		nanosleep(&pause, NULL);
	}
}

struct resume_load {
	struct rig *rig;
	uint64_t each, done;
	_Atomic bool ended;
};

static void *record_all(void *arg)
{
	struct resume_load *load = arg;

	load->done = rig_record_threads(load->rig, WRITERS, load->each);
	load->ended = true;
	return NULL;
}

/* The last consumer survives and ends the trace. */
static void finish(struct rig *rig)
{
	rig_resume(rig);
	assert_int_equal(wmk_consumer_start(rig->consumer), 0);
}

/* Returns false if the child has not ended in time. */
static bool wait_for_death(pid_t pid, uint64_t kill_after_ns, const struct resume_load *load)
{
	const uint64_t start = wmk_clock_monotonic();
	const struct timespec pause = { .tv_nsec = 100000 };
	uint64_t now;
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		now = wmk_clock_monotonic();
		if (now - start > kill_after_ns || load->ended)
			kill(pid, SIGKILL);
		if (now - start > PATIENCE_NS)
			return false;
		nanosleep(&pause, NULL);
	}
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		fail_msg("a consumer ended by itself: status %x", (unsigned)status);
	return true;
}

static void kill_consumers(const struct rig_shape *shape, unsigned rounds, uint64_t each, unsigned writes)
{
	struct rig rig;
	struct resume_load load = { .rig = &rig, .each = each };
	struct rig_heartbeat heartbeat;
	pthread_t thread;
	unsigned deaths = 0;

	rig_open(&rig, shape);
	for (unsigned i = 0; i < rounds && !load.ended; i++, deaths++) {
		/* This process kills every sixth child, at any time. */
		bool chance = i % (DEATHS + 1) == DEATHS;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0)
			consume_and_die(&rig, i == 0, i % (DEATHS + 1), chance ? UINT64_MAX : i * 7 % writes);
		/*
		 * After the first fork and before the next one: no thread of this process may be in the allocator at a
		 * fork.
		 */
		if (i == 0) {
			rig_heartbeat_begin(&heartbeat, rig.set);
			assert_int_equal(pthread_create(&thread, NULL, record_all, &load), 0);
			rig_begun(&rig, WRITERS);
		}
		assert_true(wait_for_death(pid, chance ? 1000000 + i * 97003 % 9000000 : PATIENCE_NS, &load));
	}
	finish(&rig);
	rig_heartbeat_end(&heartbeat);
	pthread_join(thread, NULL);
	assert_int_equal(rig_stop(&rig), 0);
	rig_check(&rig, each);
	print_message("%u consumers died; lost %llu full, %llu for want of memory, %llu retried in vain\n", deaths,
		      (unsigned long long)rig.stats.counts.lost_full,
		      (unsigned long long)rig.stats.counts.lost_memory,
		      (unsigned long long)rig.stats.counts.lost_retry);
	assert_int_equal(load.done, WRITERS * each);
	assert_int_equal(rig.stats.counts.lost, 0);
	assert_int_equal(rig.stats.counts.errors, 0);
	assert_int_equal(rig.stats.counts.records, WRITERS * each);
	for (unsigned i = 0; i < WRITERS; i++)
		assert_int_equal(rig.count[i], each);
	rig_babeltrace(&rig, false);
	rig_close(&rig);
}

static void test_killed_consumer_resumes_small_packets(void **state)
{
	const struct rig_shape shape = { .subbuf = 4096, .n_subbufs = 8, .block_us = -1 };

	(void)state;
	kill_consumers(&shape, (unsigned)rig_rounds(600), 50000, 23);
}

/* Packets that bypass the page cache, and a process that is killed while it writes one. */
static void test_killed_consumer_resumes_large_packets(void **state)
{
	const struct rig_shape shape = { .subbuf = 1u << 20, .n_subbufs = 4, .block_us = -1 };

	(void)state;
	kill_consumers(&shape, (unsigned)rig_rounds(200), 400000, 4);
}

/*
 * A ring that has released records which the trace lacks: they are counted or reported as lost, the records in the ring
 * are written, and the other streams continue.
 */
static void lacks(bool all)
{
	const struct rig_shape shape = { .subbuf = 4096, .n_subbufs = 4, .block_us = -1 };
	const uint64_t each = 2000, more = 50;
	off_t longest = 0;
	struct stat st;
	struct rig rig;
	char name[64];

	rig_open(&rig, &shape);
	assert_int_equal(wmk_consumer_start(rig.consumer), 0);
	assert_int_equal(rig_record_threads(&rig, WRITERS, each), WRITERS * each);
	assert_int_equal(wmk_consumer_flush(rig.consumer), 0);
	/* Truncate the longest file of a stream: its ring has released the most records. */
	for (uint32_t stream = 0; stream < waymark_ring_set_rings(rig.set); stream++) {
		bool claim = stream >= waymark_ring_set_cpus(rig.set);
		char one[64];

		snprintf(one, sizeof(one), "app_%s%u", claim ? "claim" : "",
			 claim ? stream - waymark_ring_set_cpus(rig.set) : stream);
		if (stat(rig_path(&rig, one), &st) < 0 || st.st_size <= longest)
			continue;
		longest = st.st_size;
		strcpy(name, one);
	}
	assert_true(longest > 8 * 4096);
	assert_int_equal(truncate(rig_path(&rig, name), all ? 0 : longest / 2), 0);
	finish(&rig);
	assert_int_equal(rig_record_threads(&rig, WRITERS, more), WRITERS * more);
	rig_stop(&rig);
	assert_int_equal(rig.stats.counts.errors, 0);
	if (all) {
		assert_true(rig.stats.counts.lost > 0 && rig.stats.counts.records >= WRITERS * more);
		assert_int_equal(rig.stats.counts.records + rig.stats.counts.lost, WRITERS * (each + more));
	}
	assert_int_equal(rig.stats.counts.gaps, all ? 0 : 1);
	assert_true(all || strstr(rig.stats.words, name));
	rig_close(&rig);
}

static void records_missing_in_a_truncated_trace_are_reported_at_resume(void **state)
{
	(void)state;
	lacks(true);
	lacks(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed_consumer_resumes_small_packets),
		cmocka_unit_test(test_killed_consumer_resumes_large_packets),
		cmocka_unit_test(records_missing_in_a_truncated_trace_are_reported_at_resume),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
