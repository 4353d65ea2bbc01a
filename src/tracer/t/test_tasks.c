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
	return outcome_of("prog_tasks", kind, (struct controller_options){ 0 });
}

static void forks(void **state)
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

static void vforks(void **state)
{
	struct outcome o = run_kind("vfork");

	(void)state;
	assert_int_equal(where(&o, "before"), 5);
	assert_int_equal(where(&o, "after"), 5);
	assert_int_equal(o.records.n, 10);
	assert_int_equal(o.lost, 10);
	run_forget(&o.records);
}

static void clones(void **state)
{
	struct outcome o = run_kind("clone");

	(void)state;
	assert_int_equal(where(&o, "beside"), 100);
	assert_int_equal(o.records.n, 102);
	assert_int_equal(o.lost, 1);
	run_forget(&o.records);
}

static void clones_with_memory_of_their_own(void **state)
{
	struct outcome o = run_kind("clone_copy");

	(void)state;
	assert_int_equal(where(&o, "copy"), 1);
	assert_int_equal(o.lost, 0);
	run_forget(&o.records);
}

static void copies_of_clones(void **state)
{
	struct outcome o = run_kind("clone_fork");

	(void)state;
	assert_int_equal(where(&o, "lost"), 0);
	assert_int_equal(o.records.n, 2);
	assert_int_equal(o.lost, 1);
	run_forget(&o.records);
}

static void descriptors(void **state)
{
	struct outcome o = run_kind("descriptors");

	(void)state;
	assert_int_equal(where(&o, "after"), 1);
	run_forget(&o.records);
}

static void user_namespace(void **state)
{
	struct outcome o = run_kind("unshare");

	(void)state;
	assert_int_equal(where(&o, "before"), 1);
	assert_int_equal(where(&o, "after"), 1);
	assert_int_equal(o.lost, 0);
	run_forget(&o.records);
}

static void other_pid_namespace(void **state)
{
	struct outcome o = run_kind("setns");

	(void)state;
	assert_int_equal(where(&o, "after"), 1);
	assert_int_equal(o.lost, 0);
	run_forget(&o.records);
}

static void other_user(void **state)
{
	struct outcome o = run_kind("setuid");

	(void)state;
	assert_int_equal(where(&o, "before"), 1);
	assert_int_equal(o.records.n, 1);
	run_forget(&o.records);
}

static void other_user_in_this_memory(void **state)
{
	struct outcome o = run_kind("clone_setuid");

	(void)state;
	assert_int_equal(where(&o, "before"), 1);
	assert_int_equal(where(&o, "after"), 1);
	assert_int_equal(o.apps, 1);
	run_forget(&o.records);
}

static void first_thread_leaves(void **state)
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

static void helper_stopped(void **state)
{
	struct outcome o = run_kind("stop");

	(void)state;
	assert_int_equal(where(&o, "before"), 1);
	assert_int_equal(o.records.n, 1);
	run_forget(&o.records);
}

static void executes(void **state)
{
	struct outcome o = run_kind("exec");

	(void)state;
	assert_int_equal(where(&o, "before"), 1);
	assert_int_equal(where(&o, "simple"), 1);
	assert_int_equal(o.apps, 2);
	run_forget(&o.records);
}

static void text_is_not_writable(void **state)
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
static void silent_controller(void **state)
{
	struct controller_options options = { .silent = true };
	struct controller *c = controller_start(run_make_dir(), &options);
	double begin = seconds();

	(void)state;
	setenv("WAYMARK_REGISTER_TIMEOUT", "300", 1);
	assert_int_equal(WEXITSTATUS(run_program("prog_tasks", "simple")), 88);
	assert_true(seconds() - begin >= 0.3);
	assert_int_equal(controller_apps(c), 1);
	begin = seconds();
	setenv("WAYMARK_REGISTER_TIMEOUT", "0", 1);
	assert_int_equal(WEXITSTATUS(run_program("prog_tasks", "simple")), 88);
	unsetenv("WAYMARK_REGISTER_TIMEOUT");
	setenv("WAYMARK_DISABLE", "1", 1);
	unsigned before = controller_apps(c);

	assert_int_equal(WEXITSTATUS(run_program("prog_tasks", "simple")), 88);
	unsetenv("WAYMARK_DISABLE");
	assert_int_equal(controller_apps(c), before);
	controller_free(c);
	run_remove_dir();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forks),
		cmocka_unit_test(vforks),
		cmocka_unit_test(clones),
		cmocka_unit_test(clones_with_memory_of_their_own),
		cmocka_unit_test(copies_of_clones),
		cmocka_unit_test(descriptors),
		cmocka_unit_test(user_namespace),
		cmocka_unit_test(other_pid_namespace),
		cmocka_unit_test(other_user),
		cmocka_unit_test(other_user_in_this_memory),
		cmocka_unit_test(first_thread_leaves),
		cmocka_unit_test(helper_stopped),
		cmocka_unit_test(executes),
		cmocka_unit_test(text_is_not_writable),
		cmocka_unit_test(silent_controller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
