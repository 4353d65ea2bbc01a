/* SPDX-License-Identifier: MIT */
/*
 * test_kill.c - waymark-consumerd is killed repeatedly while applications record and the session daemon sends requests.
 * At the end every record is in the trace once, and the counts equal those of the whole trace. WMK_SEED repeats a run.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "rig_link.h"

#define WRITERS 3
#define PATIENCE_MAX 256

static uint64_t state;
static _Atomic unsigned answered;        /* requests that a consumer daemon has answered */

static uint64_t random_below(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

static void seed(void)
{
	const char *given = getenv("WMK_SEED");

	state = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
	print_message("seed %llu\n", (unsigned long long)state);
	state |= 1;
}

/* Applications: processes that are killed however the test ends. */
struct programs {
	pid_t pids[WRITERS];
	bool ended[WRITERS];
};

static void start_programs(struct programs *programs, struct rig *rig, uint64_t each)
{
	for (unsigned i = 0; i < WRITERS; i++) {
		programs->ended[i] = false;
		programs->pids[i] = fork();
		assert_true(programs->pids[i] >= 0);
		if (programs->pids[i] == 0)
			_exit(rig_record(rig, i, 0, each) != each);
	}
}

static bool programs_ended(struct programs *programs)
{
	bool all = true;
	int status;

	for (unsigned i = 0; i < WRITERS; i++) {
		if (!programs->ended[i] && waitpid(programs->pids[i], &status, WNOHANG) == programs->pids[i]) {
			programs->ended[i] = true;
			if (status != 0)
				fail_msg("program %u has lost records: status %x", i, (unsigned)status);
		}
		all &= programs->ended[i];
	}
	return all;
}

/* Send a request that a session daemon may send at any time; it is answered even if the consumer daemon is killed. */
static void ask_something(struct rig_link *r)
{
	struct wmk_counts counts;
	struct rig_heartbeat heartbeat;
	char words[500];
	int err = 0;

	switch (random_below(6)) {
	case 0:
		err = wmk_consumer_link_flush(r->link, 1, 0, LINK_MS);
		break;
	case 1:
		err = wmk_consumer_link_stop(r->link, 1, 0, LINK_MS, NULL, NULL);
		break;
	case 2:
		counts = rig_link_counts(r);
		assert_int_equal(counts.lost, 0);
		assert_int_equal(counts.errors, 0);
		break;
	case 3:
		wmk_consumer_link_wake(r->link, 0);
		return;
	case 4:
		/*
		 * Remove the rings and add them under another number: the trace continues. In between, neither the
		 * consumer daemon nor the link has them, for as long as killed consumer daemons need to write all.
		 */
		rig_heartbeat_begin(&heartbeat, r->rig.set);
		err = wmk_consumer_link_rings_remove(r->link, 1, r->rings.rings, LINK_MS, NULL, NULL);
		r->rings.rings++;
		r->rings.resume = true;
		if (err >= 0)
			err = wmk_consumer_link_rings_add(r->link, &r->rings, waymark_ring_set_fd(r->rig.set), LINK_MS);
		rig_heartbeat_end(&heartbeat);
		break;
	default:
		return;
	}
	answered++;
	if (err < 0)
		fail_msg("a request failed: %s", wmk_error_text(words, sizeof(words)));
}

struct killer {
	struct rig_link *r;
	uint64_t seed;
	_Atomic bool ended;
};

static void *kill_often(void *arg)
{
	struct killer *killer = arg;
	struct rig_link *r = killer->r;
	uint64_t mine = killer->seed, patience = 1;

	while (!killer->ended) {
		pid_t pid = wmk_consumer_link_pid(r->link);
		const unsigned before = answered;
		struct timespec pause;
		uint64_t ns;

		mine = mine * 6364136223846793005u + 1442695040888963407u;
		/* Often during its start and while it resumes the trace, sometimes during normal work. */
		ns = patience * ((mine >> 33) % ((mine >> 20) % 3 ? 3000000 : 30000000));
		pause = (struct timespec){ .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };
		nanosleep(&pause, NULL);
		/*
		 * If no consumer daemon lives long enough to answer, because starting takes longer on this machine, the
		 * next one lives longer.
		 */
		patience = answered != before ? 1 : patience < PATIENCE_MAX ? 2 * patience : patience;
		if (pid > 0)
			kill(pid, SIGKILL);
	}
	return NULL;
}

static void kill_and_ask(const struct rig_shape *shape, uint64_t each)
{
	struct programs programs;
	struct wmk_counts counts;
	struct rig_link r;
	struct killer killer = { .r = &r, .seed = random_below(UINT64_MAX) };
	pthread_t thread;

	rig_link_open(&r, shape);
	rig_link_connect(&r);
	rig_link_add(&r);
	start_programs(&programs, &r.rig, each);
	assert_int_equal(pthread_create(&thread, NULL, kill_often, &killer), 0);
	while (!programs_ended(&programs))
		ask_something(&r);
	killer.ended = true;
	pthread_join(thread, NULL);
	assert_int_equal(wmk_consumer_link_stop(r.link, 1, 0, LINK_MS, NULL, NULL), 0);
	counts = rig_link_counts(&r);
	assert_int_equal(counts.lost, 0);
	assert_int_equal(counts.errors, 0);
	assert_int_equal(wmk_consumer_link_trace_remove(r.link, 1, LINK_MS, NULL, NULL), 0);
	print_message("%u consumers died\n", __atomic_load_n(&r.deaths, __ATOMIC_RELAXED));
	rig_read(&r.rig, each);
	for (unsigned i = 0; i < WRITERS; i++)
		assert_int_equal(r.rig.count[i], each);
	rig_babeltrace(&r.rig, false);
	rig_link_close(&r);
}

static void test_killed_consumer_daemon_keeps_small_packets(void **unused)
{
	const struct rig_shape shape = { .subbuf = 4096, .n_subbufs = 8, .block_us = -1 };

	(void)unused;
	kill_and_ask(&shape, rig_rounds(1000000));
}

static void test_killed_consumer_daemon_keeps_large_packets(void **unused)
{
	const struct rig_shape shape = { .subbuf = 1u << 18, .n_subbufs = 4, .block_us = -1 };

	(void)unused;
	kill_and_ask(&shape, rig_rounds(3000000));
}

/*
 * A clear is complete, or repeated, whenever the consumer daemon is killed: later records are in the trace, and earlier
 * ones are not.
 */
static void clear_is_completed_after_consumer_daemon_is_killed(void **unused)
{
	const struct rig_shape shape = { .subbuf = 4096, .n_subbufs = 8, .block_us = -1 };
	struct rig_link r;
	uint64_t from = 0;

	(void)unused;
	rig_link_open(&r, &shape);
	rig_link_connect(&r);
	rig_link_add(&r);
	for (unsigned turn = 0; turn < (unsigned)rig_rounds(300); turn++) {
		pid_t pid = wmk_consumer_link_pid(r.link), child;

		from += 500;
		assert_int_equal(rig_record(&r.rig, 0, from - 500, from), 500);
		child = fork();
		if (child == 0) {
			const struct timespec pause = { .tv_nsec = (long)random_below(1500000) };

			nanosleep(&pause, NULL);
			if (pid > 0)
				kill(pid, SIGKILL);
			_exit(0);
		}
		random_below(2);
		assert_int_equal(wmk_consumer_link_clear(r.link, 1, LINK_MS), 0);
		assert_int_equal(waitpid(child, NULL, 0), child);
	}
	assert_int_equal(rig_record(&r.rig, 1, 0, 300), 300);
	assert_int_equal(wmk_consumer_link_stop(r.link, 1, 0, LINK_MS, NULL, NULL), 0);
	assert_int_equal(rig_link_counts(&r).records, 300);
	assert_int_equal(wmk_consumer_link_trace_remove(r.link, 1, LINK_MS, NULL, NULL), 0);
	rig_read(&r.rig, from + 1);
	assert_int_equal(r.rig.count[0], 0);
	assert_int_equal(r.rig.count[1], 300);
	rig_babeltrace(&r.rig, false);
	rig_link_close(&r);
}

/* Session daemons end and start, consumer daemons are killed: the last session daemon finds everything. */
static int adopt(void *data, const struct wmk_consumerd_trace *trace, const struct wmk_consumerd_rings *rings, int fd)
{
	unsigned *n = data;

	(void)trace;
	(void)rings;
	(*n)++;
	if (fd >= 0)
		close(fd);
	return 0;
}

static void restarted_session_daemons_find_all_rings_and_lose_no_record(void **unused)
{
	const struct rig_shape shape = { .subbuf = 4096, .n_subbufs = 8, .block_us = -1 };
	const uint64_t each = rig_rounds(200000);
	struct programs programs;
	struct rig_link r;

	(void)unused;
	rig_link_open(&r, &shape);
	rig_link_connect(&r);
	rig_link_add(&r);
	start_programs(&programs, &r.rig, each);
	while (!programs_ended(&programs)) {
		const struct timespec pause = { .tv_nsec = (long)random_below(20000000) };
		unsigned n = 0;

		wmk_consumer_link_close(r.link);
		nanosleep(&pause, NULL);
		rig_link_connect(&r);
		assert_int_equal(wmk_consumer_link_list(r.link, LINK_MS, adopt, &n), 0);
		assert_int_equal(n, 2);
		pid_t pid = wmk_consumer_link_pid(r.link);

		if (random_below(2) && pid > 0)
			kill(pid, SIGKILL);
		ask_something(&r);
		/* A restored session daemon flushes and removes; here the link has both states. */
		assert_int_equal(wmk_consumer_link_flush(r.link, 1, 0, LINK_MS), 0);
	}
	assert_int_equal(wmk_consumer_link_trace_remove(r.link, 1, LINK_MS, NULL, NULL), 0);
	rig_read(&r.rig, each);
	for (unsigned i = 0; i < WRITERS; i++)
		assert_int_equal(r.rig.count[i], each);
	rig_babeltrace(&r.rig, false);
	rig_link_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed_consumer_daemon_keeps_small_packets),
		cmocka_unit_test(test_killed_consumer_daemon_keeps_large_packets),
		cmocka_unit_test(clear_is_completed_after_consumer_daemon_is_killed),
		cmocka_unit_test(restarted_session_daemons_find_all_rings_and_lose_no_record),
	};

	seed();
	return cmocka_run_group_tests(tests, NULL, rig_link_teardown);
}
