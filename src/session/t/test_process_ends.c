/* SPDX-License-Identifier: MIT */
/* test_process_ends.c - the end of a session, what remains of it, and descriptions of sessions and applications. */
#include <errno.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "session/apps/app.h"
#include "session/apps/shard_watch.h"
#include "world.h"

/* ── the end of a session ────────────────────────────────────────────────────────────────────────────── */

static void destroyed_session_releases_its_rings_and_memory(void **state)
{
	struct wmk_ctl_session last;
	struct wmk_arena arena = { 0 };
	struct world w;

	(void)state;
	world_prepare(&w);
	world_open(&w, 2);
	struct wmk_session *s = world_session(&w, "s"), *again, **all = NULL;

	world_add(s, "ch", 0, "*");
	world_start(&w, s);
	proc_start(0, 1, 0x3);
	struct wmk_session *stale = wmk_session_get(w.tracing, getuid(), "s");

	assert_ptr_equal(stale, s);
	assert_int_equal(wmk_session_lock(s), 0);
	wmk_session_destroy(s);
	wmk_session_unlock(s);
	assert_null(wmk_session_get(w.tracing, getuid(), "s"));
	assert_int_equal(wmk_session_lock(stale), -ENOENT);
	world_words("'s'");
	/* a session with the same name, before applications are updated about the end of the first */
	again = world_session(&w, "s");
	world_add(again, "ch", 1, "*");
	world_start(&w, again);
	assert_int_equal(proc_enabled(1, 1), 0x3);
	/* an application that registers in between does not see the first */
	proc_start(0, 2, 0x1);
	assert_null(proc_channel(2, 0));
	assert_int_equal(proc_enabled(2, 1), 0x1);
	world_update(&w, s);
	assert_null(proc_channel(1, 0));
	assert_false(world_rings(&w, "s", "ch", "uid")->closed);
	assert_int_equal(w.rings_open, 2);
	assert_int_equal(wmk_session_finish(s, &last, &arena), 0);
	assert_int_equal(w.rings_open, 1);
	assert_string_equal(last.name, "s");
	assert_false(last.active);
	assert_true(last.started);
	assert_int_equal(last.counts.records, 10);
	assert_int_equal(last.channels.n, 1);
	wmk_arena_free(&arena);
	wmk_session_put(s);
	assert_int_equal(wmk_session_lock(stale), -ENOENT);
	assert_string_equal(wmk_session_name(stale), "s");
	wmk_session_put(stale);
	assert_int_equal(wmk_session_get_all(w.tracing, &all), 1);
	assert_ptr_equal(all[0], again);
	wmk_session_put(all[0]);
	free(all);
	wmk_session_put(again);
	proc_kill(1);
	proc_kill(2);
	world_close(&w);                 /* destroys the other session */
}

/* A process with a closed connection does not keep the memory of a destroyed session, though it is alive. */
static void closed_application_does_not_keep_memory_of_old_sessions(void **state)
{
	struct world w;

	(void)state;
	world_prepare(&w);
	world_open(&w, 1);
	for (int i = 0; i < 2; i++) {
		struct wmk_session *s = world_session(&w, "s");

		world_add(s, "ch", 0, "*");
		world_start(&w, s);
		proc_start(0, 1, 0x3);
		if (i == 1)              /* and reconnects, with the rings it had */
			assert_int_equal(proc_bid(1, PROC_CONNECT, 0x1), 0);
		assert_int_equal(proc_bid(1, PROC_CLOSE, 0), 0);
		world_destroy(&w, s);
		struct stat st;
		uint64_t inode = world_rings(&w, "s", "ch", "uid")->inode;

		/* the ring set is closed: none of our descriptors refers to it */
		for (int fd = 3; fd < 300; fd++) {
			char path[32];

			snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
			if (stat(path, &st) == 0 && (uint64_t)st.st_ino == inode)
				fail_msg("the rings of a session that ended are still open");
		}
		proc_kill(1);
	}
	world_close(&w);
}

struct queued {
	struct wmk_shard_job job;
	sem_t done;
	size_t bytes;
	unsigned apps;
};

static void queued_run(struct wmk_shard *apps, struct wmk_shard_job *job)
{
	struct queued *queued = wmk_container_of(job, struct queued, job);

	for (const struct app *app = apps->app; app; app = app->next) {
		queued->apps++;
		queued->bytes += wmk_out_queued(&app->out);
	}
	sem_post(&queued->done);
}

/*
 * An application that closes its connection without an answer is not waited for, and freed, though its process lives.
 */
static void test_closed_application_is_freed(void **state)
{
	struct wmk_ctl_list_apps all = { .pattern = "" };
	struct wmk_list apps = { NULL, 0 };
	struct wmk_arena arena = { 0 };
	struct world w;

	(void)state;
	world_prepare(&w);
	world_open(&w, 1);
	struct wmk_session *s = world_session(&w, "s");
	struct wmk_session_channel *ch = world_add(s, "ch", 0, "*");

	world_start(&w, s);
	proc_start(0, 1, 0x3)->mute = PROC_SLEEPS;
	world_locked(s, wmk_session_channel_switch(ch, false));
	assert_int_equal(wmk_tracing_update(w.tracing, s, 0, NULL, NULL), 0);
	assert_int_equal(proc_bid(1, PROC_CLOSE, 0), 0);
	for (int i = 0; i < 5; i++) {
		world_locked(s, wmk_session_channel_switch(ch, i % 2 == 0));
		world_update(&w, s);
	}
	assert_int_equal(wmk_tracing_list_apps(w.tracing, &all, (uid_t)-1, (uid_t)-1, &apps, &arena), 0);
	assert_int_equal(apps.n, 0);
	struct queued queued = { .job.run = queued_run };

	sem_init(&queued.done, 0, 0);
	wmk_shard_post(w.shards[0], &queued.job);
	sem_wait(&queued.done);
	sem_destroy(&queued.done);
	assert_int_equal(queued.apps, 1);
	assert_int_equal(queued.bytes, 0);
	wmk_arena_free(&arena);
	wmk_session_put(s);
	proc_kill(1);
	world_close(&w);
}

/* ── descriptions ────────────────────────────────────────────────────────────────────────────────────── */

static void description_of_a_session_has_its_rules_and_counts(void **state)
{
	static const char *not_sent[] = { "*:sent" };
	const struct wmk_ctl_rule rule = {
		.pattern = "shop", .exclusions = { not_sent, 1 }, .level_op = WMK_LEVEL_AT_LEAST, .level = 6
	};
	struct wmk_ctl_channel pid = world_channel_options("pid", 1);
	struct wmk_ctl_session is;
	struct wmk_arena arena = { 0 };
	struct world w;

	(void)state;
	pid.settings.buffers = WMK_BUFFERS_PID;
	world_prepare(&w);
	world_open(&w, 1);
	struct wmk_session *s = world_session(&w, "s");
	struct wmk_session_channel *ch = world_add(s, "ch", 0, "t*");

	world_channel(s, &pid, "net");
	world_locked(s, assert_int_equal(wmk_session_rule_add(ch, &rule), 0); wmk_session_rule_disable(ch, "t*"));
	world_start(&w, s);
	proc_start(0, 1, WORLD_ALL);
	proc_start(0, 2, WORLD_ALL);
	proc_kill(1);
	world_wait(&w, &w.ended, 1);
	world_locked(s, assert_int_equal(wmk_session_describe(s, &is, &arena), 0));
	assert_int_equal(is.counts.records, 30);
	world_locked(s, wmk_session_reap(s));
	assert_int_equal(w.rings_open, 2);
	world_locked(s, assert_int_equal(wmk_session_describe(s, &is, &arena), 0));
	assert_int_equal(is.counts.records, 30);         /* includes closed rings */
	assert_int_equal(is.counts.lost, 3);
	assert_string_equal(is.path, "/nowhere/s");
	assert_int_equal(is.uid, getuid());
	assert_true(is.active && is.started && is.created > 0);
	assert_int_equal(is.channels.n, 2);
	const struct wmk_ctl_channel *channels = is.channels.items;

	assert_string_equal(channels[0].name, "ch");
	assert_int_equal(channels[0].counts.records, 10);
	assert_int_equal(channels[1].counts.records, 20);
	assert_int_equal(channels[1].settings.buffers, WMK_BUFFERS_PID);
	assert_int_equal(channels[0].rules.n, 2);
	const struct wmk_ctl_rule *rules = channels[0].rules.items;

	assert_false(rules[0].enabled);
	assert_int_equal(rules[0].matched, 1);           /* classes with one name count once */
	assert_true(rules[1].enabled);
	assert_int_equal(rules[1].matched, 3);           /* without the excluded ones */
	assert_string_equal(((const char *const *)rules[1].exclusions.items)[0], "*:sent");
	assert_int_equal(rules[1].level, 6);
	/* after a clear all counts are zero, also those of closed rings */
	world_locked(s, assert_int_equal(wmk_session_clear(s), 0);
		     assert_int_equal(wmk_session_describe(s, &is, &arena), 0));
	assert_int_equal(is.counts.records, 20);
	assert_int_equal(world_rings(&w, "s", "ch", "uid")->cleared, 1);
	wmk_arena_free(&arena);
	wmk_session_put(s);
	proc_kill(2);
	world_close(&w);
}

static const struct wmk_ctl_app *app_of(const struct wmk_list *apps, unsigned i)
{
	for (uint32_t k = 0; k < apps->n; k++)
		if (((const struct wmk_ctl_app *)apps->items)[k].pid == (uint64_t)proc_at(i)->pid)
			return (const struct wmk_ctl_app *)apps->items + k;
	return NULL;
}

static void application_list_is_filtered_by_pattern_pid_and_user(void **state)
{
	struct wmk_ctl_list_apps all = { .events = true, .pattern = "" };
	struct wmk_list apps = { NULL, 0 };
	struct wmk_arena arena = { 0 };
	struct world w;
	const char *names[3];

	(void)state;
	world_prepare(&w);
	world_open(&w, 3);
	struct wmk_session *s = world_session(&w, "s");

	world_add(s, "ch", 0, "shop:lost");
	world_start(&w, s);
	proc_start(0, 1, 0x424);         /* lost, drop, paid with two fields */
	proc_start(0, 2, 0x1);
	assert_int_equal(wmk_tracing_list_apps(w.tracing, &all, (uid_t)-1, (uid_t)-1, &apps, &arena), 0);
	assert_int_equal(apps.n, 2);
	const struct wmk_ctl_app *app = app_of(&apps, 1);

	assert_string_equal(app->name, "proc 1");
	assert_non_null(strstr(app->exe, "test-session"));
	assert_true(app->connected && app->start_time > 0);
	assert_int_equal(app->uid, getuid());
	assert_int_equal(app->gid, getgid());
	assert_string_equal(app->why, "");
	assert_int_equal(app->n_events, 3);
	assert_int_equal(app->events.n, 3);
	const struct wmk_ctl_event *events = app->events.items;

	assert_string_equal(events[0].provider, "shop");
	assert_string_equal(events[0].name, "lost");
	assert_int_equal(events[0].level, WAYMARK_LEVEL_ERR);
	assert_true(events[0].enabled);
	assert_false(events[1].enabled);
	assert_string_equal(events[1].file, "a.c");
	assert_int_equal(events[2].line, 10);
	assert_int_equal(events[2].fields.n, 2);
	const struct wmk_ctl_field *fields = events[2].fields.items;

	assert_string_equal(fields[0].name, "a");
	assert_string_equal(fields[0].type, "u32");
	assert_string_equal(fields[0].unit, "ms");
	assert_string_equal(fields[1].type, "string");
	assert_string_equal(fields[1].unit, "");
	/* selected by pattern, pid, user */
	apps.n = 0;
	all.pattern = "net";
	assert_int_equal(wmk_tracing_list_apps(w.tracing, &all, getuid(), (uid_t)-1, &apps, &arena), 0);
	assert_int_equal(apps.n, 1);
	assert_int_equal(app_of(&apps, 1)->events.n, 1);
	apps.n = 0;
	all = (struct wmk_ctl_list_apps){ .pid = (uint64_t)proc_at(2)->pid };
	assert_int_equal(wmk_tracing_list_apps(w.tracing, &all, (uid_t)-1, (uid_t)-1, &apps, &arena), 0);
	assert_int_equal(apps.n, 1);
	assert_int_equal(app_of(&apps, 2)->n_events, 1);
	assert_int_equal(app_of(&apps, 2)->events.n, 0);
	apps.n = 0;
	assert_int_equal(wmk_tracing_list_apps(w.tracing, &all, getuid() + 1, (uid_t)-1, &apps, &arena), 0);
	assert_int_equal(apps.n, 0);
	wmk_arena_free(&arena);
	/* of all applications, also ended ones */
	proc_kill(1);
	world_wait(&w, &w.apps_gone, 1);
	assert_int_equal(wmk_tracing_matching(w.tracing, "*"), 4);
	assert_int_equal(wmk_tracing_matching(w.tracing, "!shop"), 3);
	assert_int_equal(wmk_tracing_matching(w.tracing, "shp"), 0);
	assert_int_equal(wmk_tracing_nearest(w.tracing, "shop:lots", names, 3), 1);
	assert_string_equal(names[0], "shop:lost");
	assert_int_equal(wmk_tracing_nearest(w.tracing, "shop:payd", names, 3), 1);      /* two classes, one name */
	wmk_session_put(s);
	proc_kill(2);
	world_close(&w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(destroyed_session_releases_its_rings_and_memory, procs_kill),
		cmocka_unit_test_teardown(closed_application_does_not_keep_memory_of_old_sessions, procs_kill),
		cmocka_unit_test_teardown(test_closed_application_is_freed, procs_kill),
		cmocka_unit_test_teardown(description_of_a_session_has_its_rules_and_counts, procs_kill),
		cmocka_unit_test_teardown(application_list_is_filtered_by_pattern_pid_and_user, procs_kill),
	};

	procs_begin(argc, argv);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	procs_end();
	return failed;
}
