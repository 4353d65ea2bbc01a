/* SPDX-License-Identifier: MIT */
/*
 * test_host.c - the library in programs with unusual behaviour: a changing environment, a sandbox, signal handlers that
 * jump or fork, an allocator, no devices, replaced libraries.
 */
#include <fcntl.h>
#include <limits.h>
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

/* The environment is read once, before main(); a child uses the same values. */
static void environment_is_read_once_before_main(void **state)
{
	struct outcome o =
		outcome_of("prog_host", "environment", (struct fake_sessiond_options){ .private_rings = true });

	(void)state;
	assert_int_equal(where(&o, "before"), 1);
	assert_int_equal(where(&o, "child"), 1);
	assert_int_equal(where(&o, "after"), 1);
	assert_int_equal(o.apps, 2);
	run_forget(&o.records);
}

/* A seccomp filter raises SIGSYS for system calls: of the helper thread, and of a thread with blocked signals. */
static void seccomp_trap_does_not_stop_recording(void **state)
{
	struct outcome o = outcome_of("prog_host", "trap", (struct fake_sessiond_options){ .private_rings = true });

	(void)state;
	assert_int_equal(where(&o, "before"), 1);
	assert_int_equal(where(&o, "child"), 1);
	assert_int_equal(where(&o, "after"), 1);
	run_forget(&o.records);
}

/*
 * A signal that arrives while the library holds its lock for a fork is handled afterwards. While it holds the lock for
 * other reasons, handlers run at once, and fork without the library: their children run, and their records are counted
 * as lost.
 */
static void signal_handlers_can_fork_while_recording(void **state)
{
	struct outcome o = outcome_of("prog_host", "handlers", (struct fake_sessiond_options){ 0 });

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

/* The fork handlers of the library run while the allocator of the program is not locked. */
static void fork_handlers_run_while_the_allocator_is_unlocked(void **state)
{
	struct outcome o = outcome_of("prog_heap", NULL, (struct fake_sessiond_options){ 0 });

	(void)state;
	assert_int_equal(where(&o, "before"), 1);
	assert_int_equal(where(&o, "child"), 1);
	assert_int_equal(where(&o, "after"), 1);
	run_forget(&o.records);
}

static void cancelled_thread_releases_the_library_lock(void **state)
{
	struct outcome o = outcome_of("prog_host", "cancel", (struct fake_sessiond_options){ 0 });

	(void)state;
	assert_int_equal(where(&o, "after"), 1);
	run_forget(&o.records);
}

/*
 * A thread that has left a record by siglongjmp() keeps memory allocated, but does not block the session daemon, the
 * helper thread or the program.
 */
static void longjmp_out_of_a_record_blocks_no_thread(void **state)
{
	struct fake_sessiond_options options = { .prefix = "t:mark", .field_limit = 65536 };
	struct fake_sessiond *c = fake_sessiond_start(run_make_dir(), &options);
	struct run_records records = { 0 };
	char byte;
	int end;
	pid_t pid = run_start_with_input((const char *[]){ "prog_host", "jump", NULL }, &end);

	(void)state;
	assert_int_equal(read(end, &byte, 1), 1);
	assert_true(fake_sessiond_disable_all(c));
	run_pause_ms(1000);
	int tid = run_helper_of(pid);
	long before = run_switches(pid, tid);

	assert_true(before >= 0);
	run_pause_ms(1200);
	assert_int_equal(run_switches(pid, tid), before);
	/* the rings are removed, and others created */
	assert_true(fake_sessiond_channel_remove(c));
	assert_true(fake_sessiond_channel_add(c));
	assert_int_equal(send(end, "", 1, MSG_NOSIGNAL), 1);
	assert_int_equal(run_wait(pid), 0);
	close(end);
	assert_true(fake_sessiond_read(c, run_keep, &records, NULL, NULL) >= 0);
	assert_int_equal(run_count_prefix(&records, "t:mark where=\"before\""), 1);
	assert_int_equal(run_count_prefix(&records, "t:mark where=\"jumped\""), 1);
	assert_int_equal(run_count_prefix(&records, "t:mark where=\"after\""), 1);
	run_forget(&records);
	fake_sessiond_free(c);
	run_remove_dir();
}

/* In a mount namespace with an empty /dev. */
static int without_devices(const char *kind)
{
	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", "/dev", "tmpfs", 0, "mode=755") != 0 || access("/dev/null", F_OK) == 0)
		return 77;
	int status = run_program("prog_tasks", kind);

	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* A chroot without /dev/null: the helper thread opens an empty file instead. */
static void library_records_without_dev_null(void **state)
{
	struct fake_sessiond_options options = { .prefix = "t:mark" };
	struct fake_sessiond *c = fake_sessiond_start(run_make_dir(), &options);
	struct run_records records = { 0 };
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(without_devices("simple"));
	int status = run_wait(pid);

	assert_true(fake_sessiond_read(c, run_keep, &records, NULL, NULL) >= 0);
	unsigned n = run_count_prefix(&records, "t:mark where=\"simple\"");

	run_forget(&records);
	fake_sessiond_free(c);
	run_remove_dir();
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("mount namespaces are not available here\n");
		skip();
	}
	assert_int_equal(status, 0);
	assert_int_equal(n, 1);
}

struct swap {
	char path[128], other[128];
	unsigned loads, unloads;
	unsigned long base;
};

static void look_at_swap(void *data, uint32_t ring, uint64_t ts, const char *text)
{
	struct swap *swap = data;
	unsigned long base;

	(void)ring;
	(void)ts;
	if (sscanf(text, "lttng_ust_lib:load baddr=0x%lx", &base) == 1 && strstr(text, swap->path)) {
		swap->loads++;
		swap->base = base;
	} else if (sscanf(text, "lttng_ust_lib:unload baddr=0x%lx", &base) == 1) {
		swap->unloads += base == swap->base;
	}
}

static bool has_ended(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* Wait until the program has loaded `n` libraries, or ended. */
static void wait_for_loads(struct fake_sessiond *c, struct swap *swap, unsigned n, pid_t pid)
{
	for (int i = 0; i < 10000 && swap->loads < n && !has_ended(pid); i++) {
		assert_true(fake_sessiond_read(c, look_at_swap, swap, NULL, NULL) >= 0);
		run_pause_ms(1);
	}
}

/* Copy a file from the directory of the test. */
static void copy(const char *name, const char *path)
{
	char from[PATH_MAX + 32], bytes[65536];
	ssize_t n = readlink("/proc/self/exe", from, PATH_MAX);

	assert_true(n > 0);
	from[n] = '\0';
	strcpy(strrchr(from, '/') + 1, name);
	int in = open(from, O_RDONLY | O_CLOEXEC), out = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);

	while ((n = read(in, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(out, bytes, (size_t)n), n);
	assert_int_equal(n, 0);
	close(in);
	close(out);
}

/* A library is unloaded, its file replaced, and the new one loaded at the same address: both are recorded. */
static void replaced_library_is_recorded_as_unload_and_load(void **state)
{
	struct fake_sessiond_options options = { .prefix = "lttng_ust_" };
	const char *dir = run_make_dir();
	struct fake_sessiond *c = fake_sessiond_start(dir, &options);
	struct swap swap = { .loads = 0 };
	int end;

	(void)state;
	snprintf(swap.path, sizeof(swap.path), "%s/library.so", dir);
	snprintf(swap.other, sizeof(swap.other), "%s/other.so", dir);
	copy("libswapped1.so", swap.path);
	copy("libswapped2.so", swap.other);
	pid_t pid = run_start_with_input((const char *[]){ "prog_host", "swap", swap.path, swap.other, NULL }, &end);

	wait_for_loads(c, &swap, 1, pid);
	assert_int_equal(send(end, "", 1, MSG_NOSIGNAL), 1);
	wait_for_loads(c, &swap, 2, pid);
	close(end);
	int status = run_wait(pid);

	assert_true(fake_sessiond_read(c, look_at_swap, &swap, NULL, NULL) >= 0);
	fake_sessiond_free(c);
	unlink(swap.path);
	unlink(swap.other);
	run_remove_dir();
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("the loader has chosen another address for the second library\n");
		skip();
	}
	assert_int_equal(status, 0);
	assert_int_equal(swap.loads, 2);
	assert_int_equal(swap.unloads, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(environment_is_read_once_before_main),
		cmocka_unit_test(seccomp_trap_does_not_stop_recording),
		cmocka_unit_test(longjmp_out_of_a_record_blocks_no_thread),
		cmocka_unit_test(library_records_without_dev_null),
		cmocka_unit_test(signal_handlers_can_fork_while_recording),
		cmocka_unit_test(fork_handlers_run_while_the_allocator_is_unlocked),
		cmocka_unit_test(replaced_library_is_recorded_as_unload_and_load),
		cmocka_unit_test(cancelled_thread_releases_the_library_lock),
	};

	/* no test here depends on the speed of the machine */
	setenv("WAYMARK_REGISTER_TIMEOUT", "60000", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
