/* SPDX-License-Identifier: MIT */
/*
 * test_instance.c - finding tracefs, its instances, and the catalog of events: on this machine's kernel, and from
 * malformed lists.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/error.h"
#include "kernel/event/catalog.h"
#include "kernel/tracefs/instance.h"

static struct wmk_tracefs *tracefs;
static char owner[WMK_KINSTANCE_OWNER];

/* Checks that the error text contains these words. */
static void check_error(const char *words)
{
	char text[1024];

	wmk_error_text(text, sizeof(text));
	if (!strstr(text, words))
		fail_msg("\"%s\" does not contain \"%s\"", text, words);
	wmk_error_clear();
}

static int make(const char *name, uint64_t bytes, int *instance)
{
	const struct wmk_kinstance_options options = { .clock = WMK_CLOCK_MONOTONIC,
						       .cpu_bytes = bytes,
						       .subbuf_bytes = 65536 };

	return wmk_kinstance_make(tracefs, name, &options, instance);
}

static bool exists(const char *name)
{
	char path[400];

	snprintf(path, sizeof(path), "instances/%s", name);
	return wmk_tracefs_has(tracefs->dir, path);
}

/* ── instances ───────────────────────────────────────────────────────────────────────────────────────── */

static void tracefs_instance_is_created_and_removed(void **state)
{
	char name[WMK_KINSTANCE_NAME], *text;
	uint64_t number;
	int instance, other;
	size_t len;

	(void)state;
	assert_int_equal(wmk_kinstance_name(owner, "session", "channel", name), 0);
	assert_int_equal(make(name, 100 << 10, &instance), 0);
	assert_int_equal(make(name, 100 << 10, &other), -EEXIST);
	check_error(name);
	assert_int_equal(wmk_tracefs_read_number(instance, "tracing_on", &number), 0);
	assert_int_equal(number, 0);
	assert_int_equal(wmk_tracefs_read_number(instance, "buffer_size_kb", &number), 0);
	assert_true(number >= 100);
	assert_int_equal(wmk_tracefs_read(instance, "trace_clock", &text, &len), 0);
	assert_non_null(strstr(text, "[mono]"));
	assert_int_equal(strlen(text), len);
	free(text);
	assert_int_equal(wmk_kinstance_event(instance, "sched", "sched_switch", true), 0);
	assert_int_equal(wmk_kinstance_event(instance, "sched", "sched_swich", true), -ENOENT);
	check_error("sched_swich");
	assert_int_equal(wmk_kinstance_event(instance, "sched", "../../../tracing_on", true), -EINVAL);
	assert_int_equal(wmk_kinstance_event(instance, "", "sched_switch", true), -EINVAL);
	wmk_error_clear();
	assert_int_equal(wmk_kinstance_filter(instance, "sched", "sched_switch", "prev_pid > 1"), 0);
	assert_int_equal(wmk_kinstance_filter(instance, "sched", "sched_switch", "nowhere > 1"), -EINVAL);
	check_error("nowhere > 1");
	assert_int_equal(wmk_kinstance_filter(instance, "sched", "sched_switch", NULL), 0);
	close(instance);
	assert_int_equal(wmk_kinstance_remove(tracefs, name), 0);
	assert_false(exists(name));
	assert_int_equal(wmk_kinstance_remove(tracefs, name), 0);
}

/* While a file of the instance is open, it cannot be removed; it stops recording. */
static void tracefs_instance_in_use_is_not_removed(void **state)
{
	char name[WMK_KINSTANCE_NAME];
	uint64_t number;
	int instance, fd;

	(void)state;
	wmk_kinstance_name(owner, "used", "channel", name);
	assert_int_equal(make(name, 64 << 10, &instance), 0);
	assert_int_equal(wmk_kinstance_switch(instance, true), 0);
	fd = openat(instance, "per_cpu/cpu0/trace_pipe_raw", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(wmk_kinstance_remove(tracefs, name), -EBUSY);
	check_error("in use");
	assert_int_equal(wmk_tracefs_read_number(instance, "tracing_on", &number), 0);
	assert_int_equal(number, 0);
	close(fd);
	close(instance);
	assert_int_equal(wmk_kinstance_remove(tracefs, name), 0);
}

static void tracefs_instance_with_invalid_options_is_rejected(void **state)
{
	struct wmk_kinstance_options options = { .clock = WMK_CLOCK_PLUGIN, .cpu_bytes = 65536, .subbuf_bytes = 65536 };
	char name[WMK_KINSTANCE_NAME], longest[300];
	int instance;

	(void)state;
	wmk_kinstance_name(owner, "none", "channel", name);
	assert_int_equal(wmk_kinstance_make(tracefs, name, &options, &instance), -ENOTSUP);
	check_error("plug-in");
	assert_false(exists(name));
	assert_true(make(name, UINT64_C(1) << 50, &instance) < 0);
	check_error("memory");
	assert_false(exists(name));
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(wmk_kinstance_name(owner, "s", longest, name), -ENAMETOOLONG);
	check_error("bytes");
	assert_true(wmk_tracefs_instance_make(tracefs, longest, &instance) < 0);
	assert_int_equal(wmk_tracefs_instance_make(tracefs, "a/b", &instance), -EINVAL);
	assert_int_equal(wmk_tracefs_instance_make(tracefs, "..", &instance), -EINVAL);
	assert_int_equal(wmk_tracefs_instance_remove(tracefs, ""), -EINVAL);
	wmk_error_clear();
}

static bool keep_one(void *data, const char *name)
{
	return strcmp(data, name) == 0;
}

/* Removes instances of this owner except one, and those of dead processes; keeps those of others. */
static void tracefs_instances_of_this_owner_and_of_ended_processes_are_removed(void **state)
{
	char kept[WMK_KINSTANCE_NAME], gone[WMK_KINSTANCE_NAME], dead[WMK_KINSTANCE_NAME], alive[WMK_KINSTANCE_NAME],
		self[WMK_KINSTANCE_OWNER];
	char other[WMK_KINSTANCE_NAME];
	int fd, status, pipes[2];

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	pid_t pid = fork();

	if (pid == 0) {
		wmk_kinstance_owner_self(self);
		_exit(write(pipes[1], self, sizeof(self)) != sizeof(self));
	}
	assert_int_equal(read(pipes[0], self, sizeof(self)), sizeof(self));
	close(pipes[0]);
	close(pipes[1]);
	wmk_kinstance_name(self, "s", "c", dead);
	wmk_kinstance_owner_self(self);
	wmk_kinstance_name(self, "s", "c", alive);
	wmk_kinstance_name(owner, "kept", "c", kept);
	wmk_kinstance_name(owner, "gone", "c", gone);
	snprintf(other, sizeof(other), "waymark-%s0-s-c", owner);
	const char *const names[] = { dead, alive, kept, gone, other };

	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(make(names[i], 65536, &fd), 0);
		close(fd);
	}
	/* a zombie still exists: wait for it first */
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_true(wmk_kinstance_sweep(tracefs, owner, keep_one, kept) >= 0);
	assert_true(exists(kept) && exists(alive) && exists(other));
	assert_false(exists(gone) || exists(dead));
	for (unsigned i = 1; i < 5; i++)
		assert_int_equal(wmk_kinstance_remove(tracefs, names[i]), 0);
}

static void instance_owner_name_of_a_process_is_constant(void **state)
{
	char one[WMK_KINSTANCE_OWNER], two[WMK_KINSTANCE_OWNER];

	(void)state;
	assert_int_equal(wmk_kinstance_owner_dir(tracefs->dir, one), 0);
	assert_int_equal(one[0], 'd');
	wmk_kinstance_owner_self(one);
	wmk_kinstance_owner_self(two);
	assert_string_equal(one, two);
	assert_int_equal(wmk_kinstance_owner_dir(-1, one) < 0, 1);
	wmk_error_clear();
}

/* ── tracefs ─────────────────────────────────────────────────────────────────────────────────────────── */

static int count_one(void *data, const char *name)
{
	unsigned *n = data;

	assert_true(name[0] != '.');
	return ++*n == 3 ? 7 : 0;
}

static void wrong_tracefs_directories_are_rejected(void **state)
{
	struct wmk_tracefs *other;
	unsigned n = 0;
	uint64_t number;

	(void)state;
	assert_true(wmk_tracefs_open("/nowhere/at/all", &other) < 0);
	check_error("/nowhere/at/all");
	assert_int_equal(wmk_tracefs_open("/proc", &other), -ENOSYS);
	check_error("instances");
	assert_int_equal(setenv("WAYMARK_TRACEFS", "/proc", 1), 0);
	assert_int_equal(wmk_tracefs_open(NULL, &other), -ENOENT);
	check_error("WAYMARK_TRACEFS");
	unsetenv("WAYMARK_TRACEFS");
	assert_true(wmk_tracefs_is_mounted());
	assert_int_equal(wmk_tracefs_each(tracefs->dir, "events", count_one, &n), 7);
	assert_int_equal(n, 3);
	assert_true(wmk_tracefs_each(tracefs->dir, "nothing", count_one, &n) < 0);
	assert_int_equal(wmk_tracefs_read_number(tracefs->dir, "README", &number), -EPROTO);
	assert_true(wmk_tracefs_read_number(tracefs->dir, "nothing", &number) < 0);
	wmk_error_clear();
}

/* ── the catalog ─────────────────────────────────────────────────────────────────────────────────────── */

/* Opens a catalog of a directory with this list. */
static struct wmk_kcatalog *listed(const char *text, size_t len)
{
	char path[] = "/tmp/wmkt-e2e-XXXXXX";
	struct wmk_tracefs fake = { .dir = -1 };
	struct wmk_kcatalog *catalog;

	assert_non_null(mkdtemp(path));
	fake.dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = openat(fake.dir, "available_events", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0 && write(fd, text, len) == (ssize_t)len);
	close(fd);
	assert_int_equal(wmk_kcatalog_open(&fake, &catalog), 0);
	unlinkat(fake.dir, "available_events", 0);
	close(fake.dir);
	rmdir(path);
	return catalog;
}

static void malformed_lines_of_the_event_list_are_skipped(void **state)
{
	static const char list[] = "sched:sched_switch\n\n:\nno "
				   "colon\n:name\nsystem:\nsyscalls:sys_enter_openat\nsyscalls:sys_exit_"
				   "openat\nsyscalls:sys_enter_\nirq:irq_handler_entry\nlast:one";
	char *longest = malloc(100001);
	struct wmk_kcatalog *catalog = listed(list, sizeof(list) - 1);

	(void)state;
	assert_int_equal(wmk_kcatalog_count(catalog, "*"), wmk_kcatalog_size(catalog));
	assert_int_equal(wmk_kcatalog_count(catalog, "sched_switch"), 1);
	assert_int_equal(wmk_kcatalog_count(catalog, "sched:*"), 1);
	assert_int_equal(wmk_kcatalog_count(catalog, "syscall:openat"), 2);
	assert_int_equal(wmk_kcatalog_count(catalog, "syscall:open[a-b]t"), 2);
	assert_int_equal(wmk_kcatalog_count(catalog, "last:one"), 1);
	assert_int_equal(wmk_kcatalog_count(catalog, ""), 0);
	for (size_t i = 1; i < wmk_kcatalog_size(catalog); i++)
		assert_true(strcmp(wmk_kcatalog_at(catalog, i - 1)->trace, wmk_kcatalog_at(catalog, i)->trace) <= 0);
	assert_int_equal(wmk_kcatalog_check(catalog, "syscall:*"), 0);
	assert_int_equal(wmk_kcatalog_check(catalog, "sched_swich"), -ENOENT);
	check_error("sched_switch");
	assert_int_equal(wmk_kcatalog_check(catalog, "syscall:openst"), -ENOENT);
	check_error("openat");
	wmk_kcatalog_close(catalog);
	memset(longest, 'x', 100000);
	longest[50] = ':';
	longest[100000] = '\0';
	catalog = listed(longest, 100000);
	assert_int_equal(wmk_kcatalog_size(catalog), 0);
	assert_int_equal(wmk_kcatalog_check(catalog, longest), -ENOENT);
	assert_int_equal(wmk_kcatalog_check(catalog, "syscall:openat"), -ENOENT);
	check_error("CONFIG_FTRACE_SYSCALLS");
	wmk_kcatalog_close(catalog);
	wmk_kcatalog_close(listed("", 0));
	free(longest);
}

static void patterns_select_events_of_this_kernel(void **state)
{
	struct wmk_kcatalog *catalog;

	(void)state;
	assert_int_equal(wmk_kcatalog_open(tracefs, &catalog), 0);
	assert_true(wmk_kcatalog_count(catalog, "sched_*") >= 10);
	assert_int_equal(wmk_kcatalog_check(catalog, "sched_switch"), 0);
	assert_int_equal(wmk_kcatalog_check(catalog, "sched:sched_switch"), 0);
	wmk_kcatalog_close(catalog);
}

static int open_tracefs(void **state)
{
	(void)state;
	if (geteuid() != 0 || wmk_tracefs_open(NULL, &tracefs) < 0) {
		print_message("skipped: no root, or no tracefs\n");
		exit(77);
	}
	/* (cleanup removes probes and instances with names that begin with "waymark-<owner>-") */
	snprintf(owner, sizeof(owner), "wmkte2e%d", (int)getpid());
	return 0;
}

static int close_tracefs(void **state)
{
	(void)state;
	wmk_tracefs_close(tracefs);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tracefs_instance_is_created_and_removed),
		cmocka_unit_test(tracefs_instance_in_use_is_not_removed),
		cmocka_unit_test(tracefs_instance_with_invalid_options_is_rejected),
		cmocka_unit_test(tracefs_instances_of_this_owner_and_of_ended_processes_are_removed),
		cmocka_unit_test(instance_owner_name_of_a_process_is_constant),
		cmocka_unit_test(wrong_tracefs_directories_are_rejected),
		cmocka_unit_test(malformed_lines_of_the_event_list_are_skipped),
		cmocka_unit_test(patterns_select_events_of_this_kernel),
	};

	return cmocka_run_group_tests(tests, open_tracefs, close_tracefs);
}
