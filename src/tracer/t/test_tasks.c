/* SPDX-License-Identifier: MIT */
/*
 * test_tasks.c - fork, vfork, clone, exec, namespaces, users, descriptors: each task makes the expected records, and
 * the others are counted as lost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "tracer/t/outcome.h"

static struct outcome run_kind(const char *kind)
{
	return outcome_of("prog_tasks", kind, (struct fake_sessiond_options){ 0 });
}

static void forked_children_record_with_their_own_identity(void **state)
{
	struct outcome o = run_kind("fork");

	(void)state;
	assert_int_equal(where(&o, "before"), 1);
	assert_int_equal(where(&o, "child"), 1);
	assert_int_equal(where(&o, "grandchild"), 1);
	assert_int_equal(where(&o, "after"), 1);
	assert_int_equal(o.records.n, 4);
	assert_int_equal(o.lost, 0);
	run_forget(&o.records);
}

static void records_of_vfork_children_are_counted_as_lost(void **state)
{
	struct outcome o = run_kind("vfork");

	(void)state;
	assert_int_equal(where(&o, "before"), 5);
	assert_int_equal(where(&o, "after"), 5);
	assert_int_equal(o.records.n, 10);
	assert_int_equal(o.lost, 10);
	run_forget(&o.records);
}

static void records_of_clone_vm_children_are_counted_as_lost(void **state)
{
	struct outcome o = run_kind("clone");

	(void)state;
	assert_int_equal(where(&o, "beside"), 100);
	assert_int_equal(o.records.n, 102);
	assert_int_equal(o.lost, 1);
	run_forget(&o.records);
}

static void clone_children_with_own_memory_record(void **state)
{
	struct outcome o = run_kind("clone_copy");

	(void)state;
	assert_int_equal(where(&o, "copy"), 1);
	assert_int_equal(o.lost, 0);
	run_forget(&o.records);
}

static void records_of_children_forked_by_clones_are_counted_as_lost(void **state)
{
	struct outcome o = run_kind("clone_fork");

	(void)state;
	assert_int_equal(where(&o, "lost"), 0);
	assert_int_equal(o.records.n, 2);
	assert_int_equal(o.lost, 1);
	run_forget(&o.records);
}

static void application_does_not_see_descriptors_of_the_library(void **state)
{
	struct outcome o = run_kind("descriptors");

	(void)state;
	assert_int_equal(where(&o, "after"), 1);
	run_forget(&o.records);
}

static void application_can_unshare_its_user_namespace(void **state)
{
	struct outcome o = run_kind("unshare");

	(void)state;
	assert_int_equal(where(&o, "before"), 1);
	assert_int_equal(where(&o, "after"), 1);
	assert_int_equal(o.lost, 0);
	run_forget(&o.records);
}

static void helper_thread_survives_setns(void **state)
{
	struct outcome o = run_kind("setns");

	(void)state;
	assert_int_equal(where(&o, "after"), 1);
	assert_int_equal(o.lost, 0);
	run_forget(&o.records);
}

static void process_stops_using_its_rings_after_setuid(void **state)
{
	struct outcome o = run_kind("setuid");

	(void)state;
	assert_int_equal(where(&o, "before"), 1);
	assert_int_equal(o.records.n, 1);
	run_forget(&o.records);
}

static void clone_child_that_changes_its_user_keeps_the_helper_running(void **state)
{
	struct outcome o = run_kind("clone_setuid");

	(void)state;
	assert_int_equal(where(&o, "before"), 1);
	assert_int_equal(where(&o, "after"), 1);
	assert_int_equal(o.apps, 1);
	run_forget(&o.records);
}

static void process_with_helper_thread_exits_after_its_main_thread(void **state)
{
	struct outcome o = run_kind("leave");

	(void)state;
	assert_int_equal(where(&o, "before"), 1);
	assert_int_equal(where(&o, "after"), 1);
	run_forget(&o.records);
	/* without a session daemon it ends, too */
	run_make_dir();
	assert_int_equal(run_program("prog_tasks", "leave"), 0);
	run_remove_dir();
}

static void end_of_the_helper_thread_disables_events(void **state)
{
	struct outcome o = run_kind("stop");

	(void)state;
	assert_int_equal(where(&o, "before"), 1);
	assert_int_equal(o.records.n, 1);
	run_forget(&o.records);
}

static void executed_program_registers_again(void **state)
{
	struct outcome o = run_kind("exec");

	(void)state;
	assert_int_equal(where(&o, "before"), 1);
	assert_int_equal(where(&o, "simple"), 1);
	assert_int_equal(o.apps, 2);
	run_forget(&o.records);
}

static void program_code_is_not_left_writable(void **state)
{
	struct outcome o = run_kind("text");

	(void)state;
	assert_int_equal(where(&o, "before"), 1);
	run_forget(&o.records);
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/*
 * A session daemon that accepts and never answers delays the start by WAYMARK_REGISTER_TIMEOUT; with WAYMARK_DISABLE
 * the library does not connect.
 */
static void unresponsive_daemon_delays_program_start_by_the_timeout(void **state)
{
	struct fake_sessiond_options options = { .silent = true };
	struct fake_sessiond *c = fake_sessiond_start(run_make_dir(), &options);
	double begin = seconds();

	(void)state;
	setenv("WAYMARK_REGISTER_TIMEOUT", "300", 1);
	assert_int_equal(WEXITSTATUS(run_program("prog_tasks", "simple")), 88);
	assert_true(seconds() - begin >= 0.3);
	assert_int_equal(fake_sessiond_apps(c), 1);
	begin = seconds();
	setenv("WAYMARK_REGISTER_TIMEOUT", "0", 1);
	assert_int_equal(WEXITSTATUS(run_program("prog_tasks", "simple")), 88);
	unsetenv("WAYMARK_REGISTER_TIMEOUT");
	setenv("WAYMARK_DISABLE", "1", 1);
	unsigned before = fake_sessiond_apps(c);

	assert_int_equal(WEXITSTATUS(run_program("prog_tasks", "simple")), 88);
	unsetenv("WAYMARK_DISABLE");
	assert_int_equal(fake_sessiond_apps(c), before);
	fake_sessiond_free(c);
	run_remove_dir();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forked_children_record_with_their_own_identity),
		cmocka_unit_test(records_of_vfork_children_are_counted_as_lost),
		cmocka_unit_test(records_of_clone_vm_children_are_counted_as_lost),
		cmocka_unit_test(clone_children_with_own_memory_record),
		cmocka_unit_test(records_of_children_forked_by_clones_are_counted_as_lost),
		cmocka_unit_test(application_does_not_see_descriptors_of_the_library),
		cmocka_unit_test(application_can_unshare_its_user_namespace),
		cmocka_unit_test(helper_thread_survives_setns),
		cmocka_unit_test(process_stops_using_its_rings_after_setuid),
		cmocka_unit_test(clone_child_that_changes_its_user_keeps_the_helper_running),
		cmocka_unit_test(process_with_helper_thread_exits_after_its_main_thread),
		cmocka_unit_test(end_of_the_helper_thread_disables_events),
		cmocka_unit_test(executed_program_registers_again),
		cmocka_unit_test(program_code_is_not_left_writable),
		cmocka_unit_test(unresponsive_daemon_delays_program_start_by_the_timeout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
