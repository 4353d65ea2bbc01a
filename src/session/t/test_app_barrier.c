/* SPDX-License-Identifier: MIT */
/*
 * test_app_barrier.c - commands and applications that do not answer. A running application delays a command until its
 * deadline, a stopped or idle one hardly at all; all are listed. Applications of other users delay it by one second at
 * most. An application that missed a deadline is waited for again once it answers in time.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "session/apps/app.h"
#include "session/model/process_stat.h"
#include "world.h"

/* ── applications that do not answer ─────────────────────────────────────────────────────────────────── */

static void wait_state(unsigned i, bool stopped)
{
	uint64_t end = wmk_clock_monotonic() + 10000000000u, start_time;
	pid_t parent;
	char is = 0;

	while (wmk_process_stat(proc_at(i)->pid, &parent, &start_time, &is) && (is == 'T') != stopped) {
		if (wmk_clock_monotonic() > end)
			fail_msg("process %u is in state %c", i, is);
		usleep(500);
	}
}

/* Runs a command. Returns its milliseconds; *late: bits by number of the applications that have not answered. */
static unsigned switch_on(struct world *w, struct wmk_session *s, struct wmk_session_channel *ch, bool on, int limit_ms,
			  uint32_t *late)
{
	struct wmk_list unanswered = { NULL, 0 };
	struct wmk_arena arena = { 0 };
	uint64_t begin = wmk_clock_monotonic();

	assert_int_equal(wmk_session_lock(s), 0);
	wmk_session_channel_switch(ch, on);
	wmk_session_unlock(s);
	assert_int_equal(wmk_tracing_update(w->tracing, s, limit_ms, &unanswered, &arena), 0);
	unsigned ms = (unsigned)((wmk_clock_monotonic() - begin) / 1000000);

	*late = 0;
	for (uint32_t k = 0; k < unanswered.n; k++) {
		const struct wmk_ctl_app *app = (const struct wmk_ctl_app *)unanswered.items + k;

		assert_int_equal(strncmp(app->name, "proc ", 5), 0);
		*late |= 1u << atoi(app->name + 5);
		assert_int_equal(app->pid, (uint64_t)proc_at((unsigned)atoi(app->name + 5))->pid);
	}
	wmk_arena_free(&arena);
	return ms;
}

static void timed_out_command_lists_applications_without_answer(void **state)
{
	struct wmk_ctl_channel options = world_channel_options("ch", 0);
	struct world w;
	uint32_t late;

	(void)state;
	world_prepare(&w);
	world_open(&w, 3);
	struct wmk_session *s = world_session(&w, "s");
	struct wmk_session_channel *ch = world_channel(s, &options, "*");

	world_start(&w, s);
	for (unsigned i = 1; i < 7; i++)
		proc_start(0, i, 0x7);
	/* stopped applications are not waited for */
	assert_int_equal(kill(proc_at(2)->pid, SIGSTOP), 0);
	assert_int_equal(kill(proc_at(4)->pid, SIGSTOP), 0);
	wait_state(2, true);
	wait_state(4, true);
	/* takes 20 ms on an idle machine */
	assert_true(switch_on(&w, s, ch, false, 30000, &late) < 10000);
	assert_int_equal(late, 1u << 2 | 1u << 4);
	for (unsigned i = 1; i < 7; i++)
		if (!(late >> i & 1))
			assert_int_equal(proc_enabled(i, 0), 0);
	/* one runs without answering: the command takes until the deadline; the others are updated */
	atomic_store(&proc_at(5)->mute, PROC_WORKS);
	unsigned ms = switch_on(&w, s, ch, true, 3000, &late);

	assert_true(ms >= 3000 && ms < 12000);
	assert_int_equal(late, 1u << 2 | 1u << 4 | 1u << 5);
	assert_int_equal(proc_enabled(1, 0), 0x7);
	assert_int_equal(proc_enabled(5, 0), 0x7);
	/* it gets another SYNC with the next command, and its answer covers the earlier ones */
	atomic_store(&proc_at(5)->mute, PROC_ANSWERS);
	assert_int_equal(kill(proc_at(2)->pid, SIGCONT), 0);
	assert_int_equal(kill(proc_at(4)->pid, SIGCONT), 0);
	/*
	 * (after a missed deadline an application is not waited for, so a command may list it until it has answered two
	 * in a row in time; an application without a change gets no SYNC)
	 */
	const uint64_t end = wmk_clock_monotonic() + 10000000000u;
	uint32_t first;

	do {
		switch_on(&w, s, ch, false, 10000, &first);
		switch_on(&w, s, ch, true, 10000, &late);
	} while ((first || late) && wmk_clock_monotonic() < end);
	assert_int_equal(late, 0);
	for (unsigned i = 1; i < 7; i++)
		assert_int_equal(proc_enabled(i, 0), 0x7);
	/* one is killed while it is waited for */
	atomic_store(&proc_at(1)->mute, PROC_WORKS);
	assert_int_equal(kill(proc_at(6)->pid, SIGSTOP), 0);
	wait_state(6, true);
	assert_int_equal(kill(proc_at(6)->pid, SIGKILL), 0);
	proc_at(6)->pid = 0;
	switch_on(&w, s, ch, false, 2000, &late);
	assert_int_equal(late, 1u << 1);
	procs_kill(NULL);
	switch_on(&w, s, ch, true, 10000, &late);
	assert_int_equal(late, 0);
	world_destroy(&w, s);
	world_close(&w);
}

/*
 * An application that always answers late is not waited for any more, until it answers in time. (The sleeps are lower
 * bounds; longer ones do no harm.)
 */
static void command_does_not_wait_for_an_application_that_answers_late(void **state)
{
	struct wmk_ctl_channel options = world_channel_options("ch", 0);
	const uint64_t end = wmk_clock_monotonic() + 60000000000u;
	struct world w;
	uint32_t late;
	unsigned ms;

	(void)state;
	world_prepare(&w);
	world_open(&w, 3);
	struct wmk_session *s = world_session(&w, "s");
	struct wmk_session_channel *ch = world_channel(s, &options, "*");

	world_start(&w, s);
	proc_start(0, 1, 0x7);
	atomic_store(&proc_at(1)->mute, PROC_WORKS);
	switch_on(&w, s, ch, false, 50, &late);
	assert_int_equal(late, 1u << 1);
	usleep(1100000);
	atomic_store(&proc_at(1)->mute, PROC_ANSWERS);
	do
		switch_on(&w, s, ch, late == 0, 0, &late);
	while (late && wmk_clock_monotonic() < end);
	assert_int_equal(late, 0);
	atomic_store(&proc_at(1)->mute, PROC_WORKS);
	assert_true(switch_on(&w, s, ch, true, 30000, &late) < 30000);
	assert_int_equal(late, 1u << 1);
	/* a new connection does not change that */
	assert_int_equal(proc_bid(1, PROC_CLOSE, 0), 0);
	assert_int_equal(proc_bid(1, PROC_CONNECT, 0x7), 0);
	assert_true(switch_on(&w, s, ch, false, 30000, &late) < 30000);
	assert_int_equal(late, 1u << 1);
	/* now it answers in time */
	do {
		atomic_store(&proc_at(1)->mute, PROC_ANSWERS);
		do
			switch_on(&w, s, ch, false, 10000, &late);
		while (late && wmk_clock_monotonic() < end);
		switch_on(&w, s, ch, true, 10000, &late);
		atomic_store(&proc_at(1)->mute, PROC_WORKS);
		ms = switch_on(&w, s, ch, false, 200, &late);
	} while (ms < 200 && wmk_clock_monotonic() < end);
	assert_true(ms >= 200);
	procs_kill(NULL);
	world_destroy(&w, s);
	world_close(&w);
}

/*
 * An idle application is not waited for, whatever the deadline. When it runs again without answering, it is waited for;
 * when it answers, it is treated as any other.
 */
static void command_does_not_wait_for_an_idle_application(void **state)
{
	struct wmk_ctl_channel options = world_channel_options("ch", 0);
	const uint64_t end = wmk_clock_monotonic() + 60000000000u;
	struct world w;
	uint32_t late;
	bool on = true;

	(void)state;
	world_prepare(&w);
	world_open(&w, 3);
	struct wmk_session *s = world_session(&w, "s");
	struct wmk_session_channel *ch = world_channel(s, &options, "*");

	world_start(&w, s);
	for (unsigned i = 1; i < 4; i++)
		proc_start(0, i, 0x7);
	atomic_store(&proc_at(2)->mute, PROC_SLEEPS);
	for (int i = 0; i < 3; i++) {
		switch_on(&w, s, ch, on = !on, 3600000, &late);          /* (longer than the timeout of the test) */
		assert_int_equal(late, 1u << 2);
		assert_int_equal(proc_enabled(1, 0), on ? 0x7 : 0);
	}
	atomic_store(&proc_at(2)->mute, PROC_WORKS);
	assert_true(switch_on(&w, s, ch, on = !on, 2000, &late) >= 2000);
	assert_int_equal(late, 1u << 2);
	atomic_store(&proc_at(2)->mute, PROC_ANSWERS);
	do
		switch_on(&w, s, ch, on = !on, 10000, &late);
	while (late && wmk_clock_monotonic() < end);
	assert_int_equal(late, 0);
	procs_kill(NULL);
	world_destroy(&w, s);
	world_close(&w);
}

/*
 * A silent application of another user delays a command by one second, whatever the deadline; one of root or of the
 * owner delays it until the deadline.
 */
static void command_waits_one_second_for_applications_of_other_users(void **state)
{
	struct wmk_ctl_channel options = world_channel_options("ch", 0);
	const struct wmk_session_options of_user = { .name = "s", .path = "/s", .uid = 60001, .all_users = true,
						     .settings.no_statedump = true };
	struct wmk_session *s;
	struct world w;
	uint32_t late;
	char path[128];

	(void)state;
	if (geteuid() != 0)
		skip();
	world_prepare(&w);
	world_open(&w, 1);
	snprintf(path, sizeof(path), "%s/%s", w.rundir, WMK_APP_SOCKET);
	assert_int_equal(chmod(w.rundir, 0755) | chmod(path, 0666), 0);
	assert_int_equal(wmk_session_create(w.tracing, &of_user, &s), 0);
	struct wmk_session_channel *ch = world_channel(s, &options, "*");

	world_start(&w, s);
	for (unsigned i = 1; i < 4; i++) {
		static const struct {
			unsigned user;
			bool is_other;
		} is[] = { { 0, false }, { 60002, true }, { 60001, false }, { 0, false } };

		if (i > 1)
			proc_kill(i - 1);
		assert_int_equal(proc_bid(0, PROC_SPAWN, i), 0);
		assert_int_equal(proc_bid(i, PROC_USER, is[i].user), 0);
		assert_int_equal(proc_bid(i, PROC_CONNECT, 0x7), 0);
		atomic_store(&proc_at(i)->mute, PROC_WORKS);
		/* (one hour: longer than the timeout of the test) */
		const unsigned ms = switch_on(&w, s, ch, i % 2 == 0, is[i].is_other ? 3600000 : 1200, &late);

		assert_true(ms >= (is[i].is_other ? 1000 : 1200));
		assert_int_equal(late, 1u << i);
		assert_true(!is[i].is_other || switch_on(&w, s, ch, i % 2 != 0, 3600000, &late) < 3600000);
	}
	procs_kill(NULL);
	world_destroy(&w, s);
	world_close(&w);
}

struct waiting {
	struct world *w;
	struct wmk_session *session;
	int err;
};

static void *update_run(void *data)
{
	struct waiting *waiting = data;

	wmk_tracing_thread_begin();
	waiting->err = wmk_tracing_update(waiting->w->tracing, waiting->session, 60000, NULL, NULL);
	wmk_tracing_thread_end();
	return NULL;
}

/* A command does not wait for a shard that closes. */
static void test_command_does_not_wait_for_closing_shard(void **state)
{
	struct wmk_ctl_channel options = world_channel_options("ch", 0);
	struct world w;
	uint32_t late;

	(void)state;
	world_prepare(&w);
	world_open(&w, 3);
	struct wmk_session *s = world_session(&w, "s");
	struct wmk_session_channel *ch = world_channel(s, &options, "*");

	world_start(&w, s);
	proc_start(0, 1, 0x7);
	proc_start(0, 2, 0x7);
	const unsigned shard = (unsigned)proc_at(1)->pid % 3;
	const uint32_t before = atomic_load(&proc_at(1)->syncs);
	struct waiting waiting[3];
	pthread_t threads[3];

	atomic_store(&proc_at(1)->mute, PROC_WORKS);
	assert_int_equal(wmk_session_lock(s), 0);
	wmk_session_channel_switch(ch, false);
	wmk_session_unlock(s);
	for (int i = 0; i < 3; i++) {
		waiting[i] = (struct waiting){ &w, s, -1 };
		assert_int_equal(pthread_create(&threads[i], NULL, update_run, &waiting[i]), 0);
	}
	uint64_t begin = wmk_clock_monotonic();

	while (atomic_load(&proc_at(1)->syncs) < before + 3) {
		assert_true(wmk_clock_monotonic() - begin < 10000000000u);
		usleep(500);
	}
	begin = wmk_clock_monotonic();
	world_shard_close(&w, shard);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(waiting[i].err, 0);
	}
	assert_true(wmk_clock_monotonic() - begin < 10000000000u);
	/* the other shards continue; without shards a command returns at once */
	if ((unsigned)proc_at(2)->pid % 3 != shard) {
		switch_on(&w, s, ch, true, 10000, &late);
		assert_int_equal(proc_enabled(2, 0), 0x7);
	}
	for (unsigned i = 0; i < 3; i++)
		world_shard_close(&w, i);
	switch_on(&w, s, ch, false, 10000, &late);
	assert_int_equal(late, 0);
	procs_kill(NULL);
	world_destroy(&w, s);
	world_close(&w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(timed_out_command_lists_applications_without_answer, procs_kill),
		cmocka_unit_test_teardown(command_does_not_wait_for_an_application_that_answers_late, procs_kill),
		cmocka_unit_test_teardown(command_does_not_wait_for_an_idle_application, procs_kill),
		cmocka_unit_test_teardown(command_waits_one_second_for_applications_of_other_users, procs_kill),
		cmocka_unit_test_teardown(test_command_does_not_wait_for_closing_shard, procs_kill),
	};

	procs_begin(argc, argv);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	procs_end();
	return failed;
}
