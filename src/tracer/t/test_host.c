/* SPDX-License-Identifier: MIT */
/*
 * test_host.c - the library in programs that have ways of their own: an environment that changes, a sandbox, handlers that jump or fork, an allocator,
 * no devices.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "tracer/t/outcome.h"

/* What is asked of the environment is asked before main(), once: a child, too, goes on with that. */
static void environment(void **state)
{
	setenv("WAYMARK_REGISTER_TIMEOUT", "60000", 1);
	struct outcome o = outcome_of("prog_host", "environment", (struct controller_options){ .private_rings = true });

	(void)state;
	unsetenv("WAYMARK_REGISTER_TIMEOUT");
	assert_int_equal(where(&o, "before"), 1);
	assert_int_equal(where(&o, "child"), 1);
	assert_int_equal(where(&o, "after"), 1);
	assert_int_equal(o.apps, 2);
	run_forget(&o.records);
}

/* A seccomp filter answers system calls by SIGSYS: the helper's, and what is called while signals are blocked. */
static void trap(void **state)
{
	setenv("WAYMARK_REGISTER_TIMEOUT", "60000", 1);
	struct outcome o = outcome_of("prog_host", "trap", (struct controller_options){ .private_rings = true });

	(void)state;
	unsetenv("WAYMARK_REGISTER_TIMEOUT");
	assert_int_equal(where(&o, "before"), 1);
	assert_int_equal(where(&o, "child"), 1);
	assert_int_equal(where(&o, "after"), 1);
	run_forget(&o.records);
}

/*
 * A signal that comes while the library holds its lock for a fork is handled when that is over. Where it holds it for something
 * else, handlers come at once, and fork without the library: their children live, and what they record is lost, counted.
 */
static void handlers(void **state)
{
	struct outcome o = outcome_of("prog_host", "handlers", (struct controller_options){ 0 });

	(void)state;
	assert_int_equal(where(&o, "before"), 1);
	assert_int_equal(where(&o, "child"), 1);
	assert_int_equal(where(&o, "handler"), 2);
	assert_int_equal(where(&o, "handler_child"), 1);
	assert_int_equal(where(&o, "fault"), 1);
	assert_int_equal(where(&o, "after"), 1);
	assert_int_equal(o.records.n, 7);
	assert_int_equal(o.lost, 2);
	run_forget(&o.records);
}

/* What the library does around a fork it does while the program's allocator is not locked. */
static void heap(void **state)
{
	struct outcome o = outcome_of("prog_heap", NULL, (struct controller_options){ 0 });

	(void)state;
	assert_int_equal(where(&o, "before"), 1);
	assert_int_equal(where(&o, "child"), 1);
	assert_int_equal(where(&o, "after"), 1);
	run_forget(&o.records);
}

/* Who has left a record for ever keeps memory, and nobody waiting: not a controller, not the helper, not the program. */
static void jump(void **state)
{
	struct controller_options options = { .prefix = "t:mark", .field_limit = 65536 };
	struct controller *c = controller_start(run_make_dir(), &options);
	struct run_records records = { 0 };
	char byte;
	int end;
	pid_t pid = run_start_with_input((const char *[]){ "prog_host", "jump", NULL }, &end);

	(void)state;
	assert_int_equal(read(end, &byte, 1), 1);
	assert_true(controller_disable_all(c));
	run_pause_ms(1000);
	int tid = run_helper_of(pid);
	long before = run_switches(pid, tid);

	assert_true(before >= 0);
	run_pause_ms(1200);
	assert_int_equal(run_switches(pid, tid), before);
	/* rings go, and others come */
	assert_true(controller_channel_gone(c));
	assert_true(controller_channel_again(c));
	assert_int_equal(send(end, "", 1, MSG_NOSIGNAL), 1);
	assert_int_equal(run_wait(pid), 0);
	close(end);
	assert_true(controller_read(c, run_keep, &records, NULL, NULL) >= 0);
	assert_int_equal(run_count_prefix(&records, "t:mark where=\"before\""), 1);
	assert_int_equal(run_count_prefix(&records, "t:mark where=\"jumped\""), 1);
	assert_int_equal(run_count_prefix(&records, "t:mark where=\"after\""), 1);
	run_forget(&records);
	controller_free(c);
	run_remove_dir();
}

/* In a namespace of its own, where /dev is empty. */
static int without_devices(const char *kind)
{
	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", "/dev", "tmpfs", 0, "mode=755") != 0 || access("/dev/null", F_OK) == 0)
		return 77;
	int status = run_program("prog_tasks", kind);

	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* A chroot has no /dev/null: what the helper opens in its place is enough. */
static void no_devices(void **state)
{
	struct controller_options options = { .prefix = "t:mark" };
	struct controller *c = controller_start(run_make_dir(), &options);
	struct run_records records = { 0 };
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(without_devices("simple"));
	int status = run_wait(pid);

	assert_true(controller_read(c, run_keep, &records, NULL, NULL) >= 0);
	unsigned n = run_count_prefix(&records, "t:mark where=\"simple\"");

	run_forget(&records);
	controller_free(c);
	run_remove_dir();
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("a mount namespace cannot be had here\n");
		skip();
	}
	assert_int_equal(status, 0);
	assert_int_equal(n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(environment), cmocka_unit_test(trap), cmocka_unit_test(jump),
		cmocka_unit_test(no_devices), cmocka_unit_test(handlers), cmocka_unit_test(heap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
