/* SPDX-License-Identifier: MIT */
/*
 * test_daemon.c - session daemons that start after applications, crash and are replaced, are stopped, run in two
 * endpoints; and invalid notify FIFOs.
 */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "tracer/t/fake_sessiond.h"
#include "tracer/t/run.h"
#include "wire/hints.h"
#include "wire/notify_fifo.h"

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void fifo_make(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(wmk_notify_create(fd), 0);
	close(fd);
}

/* Twenty applications wait for a session daemon: all register when it starts. */
static void applications_register_when_the_daemon_starts(void **state)
{
	enum { N = 20 };
	struct fake_sessiond_options options = { .prefix = "t:", .notifies = true };
	const char *dir = run_make_dir();
	struct run_records records = { 0 };
	pid_t pids[N];

	(void)state;
	fifo_make(dir);
	for (int i = 0; i < N; i++)
		pids[i] = run_start((const char *[]){ "prog_wait", "on", NULL });
	assert_true(run_helper_of(pids[0]) > 0);
	run_pause_ms(60);
	struct fake_sessiond *c = fake_sessiond_start(dir, &options);

	for (int i = 0; i < N; i++)
		assert_int_equal(run_wait(pids[i]), 0);
	assert_true(fake_sessiond_read(c, run_keep, &records, NULL, NULL) >= 0);
	assert_int_equal(run_count_prefix(&records, "t:mark pid="), N);
	assert_int_equal(fake_sessiond_apps(c), N);
	run_forget(&records);
	fake_sessiond_free(c);
	run_remove_dir();
}

/*
 * The thread does not wake up in an idle period of 1200 ms. On a busy machine, its first check may end in the first
 * period; so after some periods there are two without a wake-up.
 */
static void helper_rests(pid_t pid, int tid)
{
	long before, after = -1;
	int tries = 0;

	do {
		before = run_switches(pid, tid);
		assert_true(before >= 0);
		run_pause_ms(1200);
		after = run_switches(pid, tid);
	} while (after != before && ++tries < 5);
	assert_int_equal(after, before);
	run_pause_ms(1200);
	assert_int_equal(run_switches(pid, tid), after);
}

/* Before a session daemon starts, and with one that enables no event. */
static void helper_thread_sleeps_when_idle(void **state)
{
	struct fake_sessiond_options options = { .prefix = "none:", .notifies = true };
	const char *dir = run_make_dir();
	int input;

	(void)state;
	fifo_make(dir);
	pid_t pid = run_start_with_input((const char *[]){ "prog_wait", "idle", NULL }, &input);

	run_pause_ms(300);          /* usually after its first check */
	int tid = run_helper_of(pid);

	assert_true(tid > 0);
	helper_rests(pid, tid);
	struct fake_sessiond *c = fake_sessiond_start(dir, &options);

	assert_true(fake_sessiond_wait_done(c, 1));
	assert_true(fake_sessiond_sync(c));
	run_pause_ms(200);
	assert_int_equal(run_helper_of(pid), tid);
	helper_rests(pid, tid);
	close(input);
	assert_int_equal(run_wait(pid), 0);
	fake_sessiond_free(c);
	run_remove_dir();
}

struct ticks {
	unsigned long n[4], total[4], wrong;
};

static void count_tick(void *data, uint32_t ring, uint64_t ts, const char *text)
{
	struct ticks *ticks = data;
	unsigned long me, n;

	(void)ring;
	(void)ts;
	if (sscanf(text, "t:tick me=%lu n=%lu", &me, &n) == 2 && me < 4)
		ticks->n[me]++;
	else if (sscanf(text, "t:end me=%lu n=%lu", &me, &n) == 2 && me < 4)
		ticks->total[me] = n;
	else if (strncmp(text, "t:mark", 6) != 0)
		ticks->wrong++;
}

/* Crashes and is replaced twenty times while threads record: each gets the rings back, and no record is missing. */
static void no_record_is_lost_when_the_daemon_is_replaced(void **state)
{
	enum { ROUNDS = 20 };
	struct fake_sessiond_options options = { .prefix = "t:", .notifies = true, .persist = true };
	struct fake_sessiond *c = fake_sessiond_start(run_make_dir(), &options);
	struct ticks ticks = { 0 };
	unsigned seed = (unsigned)getpid();
	uint64_t lost = 0;
	int input;
	pid_t pid = run_start_with_input((const char *[]){ "prog_wait", "ticks", NULL }, &input);

	(void)state;
	print_message("seed %u\n", seed);
	assert_true(fake_sessiond_wait_done(c, 1));
	for (unsigned i = 0; i < ROUNDS; i++) {
		run_pause_ms(rand_r(&seed) % 20);
		fake_sessiond_crash(c);
		assert_int_equal(fake_sessiond_connected(c), 0);
		run_pause_ms(rand_r(&seed) % 20);
		fake_sessiond_restart(c);
		assert_true(fake_sessiond_wait_done(c, i + 2));
		if (i % 5 == 0)
			assert_true(fake_sessiond_read(c, count_tick, &ticks, &lost, NULL) >= 0);
	}
	assert_int_equal(fake_sessiond_rings_received(c), ROUNDS);
	close(input);
	assert_int_equal(run_wait(pid), 0);
	assert_true(fake_sessiond_read(c, count_tick, &ticks, &lost, NULL) >= 0);
	assert_int_equal(lost, 0);
	assert_int_equal(ticks.wrong, 0);
	for (int i = 0; i < 4; i++) {
		assert_true(ticks.total[i] > 0);
		assert_int_equal(ticks.n[i], ticks.total[i]);
	}
	fake_sessiond_free(c);
	run_remove_dir();
}

static void wait_for_mark(struct fake_sessiond *c)
{
	struct run_records records = { 0 };
	uint64_t lost = 0;

	for (int i = 0; i < 60000 && run_count_prefix(&records, "t:mark") == 0; i++) {
		assert_true(fake_sessiond_read(c, run_keep, &records, &lost, NULL) >= 0);
		run_pause_ms(1);
	}
	assert_int_equal(run_count_prefix(&records, "t:mark"), 1);
	run_forget(&records);
}

/*
 * Events that the next session daemon does not enable are disabled; events of one without PERSIST are disabled when it
 * ends.
 */
static void events_not_confirmed_by_the_next_daemon_are_disabled(void **state)
{
	struct fake_sessiond_options options = { .prefix = "t:", .notifies = true };

	(void)state;
	for (int persist = 0; persist < 2; persist++) {
		options.persist = persist;
		struct fake_sessiond *c = fake_sessiond_start(run_make_dir(), &options);
		pid_t pid = run_start((const char *[]){ "prog_wait", "on", "then off", NULL });

		assert_true(fake_sessiond_wait_done(c, 1));
		wait_for_mark(c);                /* the program has found it enabled */
		fake_sessiond_crash(c);
		if (persist) {
			run_pause_ms(100);
			assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
			fake_sessiond_forget_channel(c);
			fake_sessiond_restart(c);
		}
		assert_int_equal(run_wait(pid), 0);
		assert_int_equal(fake_sessiond_rings_received(c), persist);
		fake_sessiond_free(c);
		run_remove_dir();
	}
}

static unsigned forks_with(const struct fake_sessiond_options *options, const char *where, unsigned *apps)
{
	struct fake_sessiond *c = fake_sessiond_start(run_make_dir(), options);
	struct run_records records = { 0 };
	char text[64];

	assert_int_equal(run_program("prog_tasks", "fork"), 0);
	assert_true(fake_sessiond_read(c, run_keep, &records, NULL, NULL) >= 0);
	snprintf(text, sizeof(text), "t:mark where=\"%s\" ", where);
	unsigned n = run_count_prefix(&records, text);

	assert_int_equal(run_count_prefix(&records, "t:mark where=\"after\" "), 1);
	*apps = fake_sessiond_apps(c);
	run_forget(&records);
	fake_sessiond_free(c);
	run_remove_dir();
	return n;
}

/* A child never records into the private rings of its parent, and records into its own from its first record on. */
static void child_never_records_into_private_rings_of_its_parent(void **state)
{
	struct fake_sessiond_options options = { .prefix = "t:", .private_rings = true };
	unsigned apps;

	(void)state;
	assert_int_equal(forks_with(&options, "child", &apps), 1);
	assert_int_equal(apps, 3);
	assert_int_equal(forks_with(&options, "grandchild", &apps), 1);
	options.persist = true;
	assert_int_equal(forks_with(&options, "grandchild", &apps), 1);
	options.first_only = true;
	setenv("WAYMARK_REGISTER_TIMEOUT", "1000", 1);
	assert_int_equal(forks_with(&options, "child", &apps), 0);
	assert_int_equal(forks_with(&options, "grandchild", &apps), 0);
	/* with shared rings, a child does not wait for an answer */
	options.private_rings = false;
	assert_int_equal(forks_with(&options, "child", &apps), 1);
	unsetenv("WAYMARK_REGISTER_TIMEOUT");
}

/* Applications do not wait for a session daemon that is stopped. */
static void application_does_not_wait_for_a_stopped_daemon(void **state)
{
	struct fake_sessiond_options options = { .prefix = "t:", .notifies = true };
	const char *dir = run_make_dir();
	int ends[2];
	char byte;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();

	if (pid == 0) {
		fake_sessiond_start(dir, &options);
		if (write(ends[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(run_program("prog_tasks", "simple"), 0);
	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	setenv("WAYMARK_REGISTER_TIMEOUT", "30000", 1);
	double begin = seconds();

	assert_int_equal(WEXITSTATUS(run_program("prog_tasks", "simple")), 88);
	assert_true(seconds() - begin < 15);
	unsetenv("WAYMARK_REGISTER_TIMEOUT");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* no process listens, although all files exist */
	assert_int_equal(WEXITSTATUS(run_program("prog_tasks", "simple")), 88);
	/* the next one takes over the files */
	struct fake_sessiond *c = fake_sessiond_start(dir, &options);

	assert_int_equal(run_program("prog_tasks", "simple"), 0);
	fake_sessiond_free(c);
	run_remove_dir();
}

/* Files of another type or owner instead of the FIFO and the hints do not block or kill an application. */
static void untrusted_notify_fifo_and_hints_file_are_ignored(void **state)
{
	static const char *const names[] = { WMK_NOTIFY_FIFO, WMK_HINTS_FILE };
	enum { FIFO, LINK, EMPTY, WRITABLE, FOREIGN, DIRECTORY, KINDS };
	struct fake_sessiond_options options = { .prefix = "t:" };
	char path[128];

	(void)state;
	for (int kind = 0; kind < KINDS; kind++) {
		const char *dir = run_make_dir();
		int input, rc = 0;

		for (unsigned i = 0; i < 2; i++) {
			snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
			if (kind == LINK)
				rc |= symlink("/dev/zero", path);
			else if (kind == EMPTY)
				close(open(path, O_CREAT | O_WRONLY, 0644));
			else if (kind == DIRECTORY)
				rc |= mkdir(path, 0755);
			else
				rc |= mkfifo(path, 0644);
			if (kind == WRITABLE)
				rc |= chmod(path, 0666);
			else if (kind == FOREIGN)
				rc |= geteuid() == 0 ? chown(path, 12345, 12345) : 0;
		}
		assert_int_equal(rc, 0);
		pid_t pid = run_start_with_input((const char *[]){ "prog_wait", "idle", NULL }, &input);

		run_pause_ms(60);
		assert_true(run_helper_of(pid) > 0);
		struct fake_sessiond *c = fake_sessiond_start(dir, &options);

		assert_int_equal(run_program("prog_tasks", "simple"), 0);
		close(input);
		assert_int_equal(run_wait(pid), 0);
		fake_sessiond_free(c);
		for (unsigned i = 0; i < 2; i++) {
			snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
			remove(path);
		}
		run_remove_dir();
	}
}

static void count_start(void *data, uint32_t ring, uint64_t ts, const char *text)
{
	(void)ring;
	(void)ts;
	*(unsigned *)data += !strcmp(text, "lttng_ust_statedump:start");
}

static void state_dump_is_repeated_on_request(void **state)
{
	struct fake_sessiond_options options = { .prefix = "lttng_ust_statedump:" };
	struct fake_sessiond *c = fake_sessiond_start(run_make_dir(), &options);
	unsigned dumps = 0;
	int input;
	pid_t pid = run_start_with_input((const char *[]){ "prog_wait", "idle", NULL }, &input);

	(void)state;
	assert_true(fake_sessiond_wait_done(c, 1));
	for (unsigned wanted = 1; wanted <= 3; wanted++) {
		for (int i = 0; i < 10000 && dumps < wanted; i++) {
			assert_true(fake_sessiond_read(c, count_start, &dumps, NULL, NULL) >= 0);
			run_pause_ms(1);
		}
		assert_int_equal(dumps, wanted);
		if (wanted < 3)
			fake_sessiond_statedump(c);
	}
	close(input);
	assert_int_equal(run_wait(pid), 0);
	fake_sessiond_free(c);
	run_remove_dir();
}

/* In a mount namespace with its own /run: session daemons of root and of a user, with an application of the user. */
static int two_in_namespace(void)
{
	struct fake_sessiond_options options = { .prefix = "t:", .notifies = true, .persist = true };
	struct ticks roots = { 0 }, users = { 0 };
	int input;

	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", "/run", "tmpfs", 0, "mode=755") != 0 || mkdir("/run/waymark", 0755) != 0 ||
	    mkdir("/run/user", 0755) != 0 || mkdir("/run/user/12345", 0755) != 0 ||
	    mkdir("/run/user/12345/waymark", 0755) != 0)
		return 77;
	struct fake_sessiond *root = fake_sessiond_start("/run/waymark", &options);
	struct fake_sessiond *user = fake_sessiond_start("/run/user/12345/waymark", &options);
	pid_t pid;
	int ends[2], status;

	if (pipe2(ends, O_CLOEXEC) != 0 || dup2(ends[0], 0) != 0)
		return 1;
	input = ends[1];
	close(ends[0]);
	/* the program runs as the user from its exec() on */
	if (setresuid(12345, 12345, 0) != 0)
		return 77;
	pid = run_start((const char *[]){ "prog_wait", "ticks", NULL });
	if (setresuid(0, 0, 0) != 0)
		return 2;
	for (int i = 0; i < 10000 && !fake_sessiond_connected(root); i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return 77;      /* other users may not execute it here */
		run_pause_ms(1);
	}
	if (!fake_sessiond_wait_done(root, 1) || !fake_sessiond_wait_done(user, 1))
		return 3;
	for (unsigned i = 0; i < 6; i++) {
		struct fake_sessiond *c = i & 1 ? root : user;

		fake_sessiond_crash(c);
		run_pause_ms(10);
		fake_sessiond_restart(c);
		if (!fake_sessiond_wait_done(c, i / 2 + 2))
			return 4;
	}
	if (fake_sessiond_rings_received(root) != 3 || fake_sessiond_rings_received(user) != 3)
		return 5;
	close(input);
	if (run_wait(pid) != 0 || fake_sessiond_read(root, count_tick, &roots, NULL, NULL) < 0 ||
	    fake_sessiond_read(user, count_tick, &users, NULL, NULL) < 0)
		return 6;
	for (int i = 0; i < 4; i++)
		if (roots.total[i] == 0 || roots.n[i] != roots.total[i] || users.total[i] == 0 ||
		    users.n[i] != users.total[i])
			return 7;
	fake_sessiond_free(root);
	fake_sessiond_free(user);
	return 0;
}

static void application_reattaches_rings_of_root_and_user_daemons(void **state)
{
	int status;

	(void)state;
	if (geteuid() != 0)
		skip();
	pid_t pid = fork();

	if (pid == 0) {
		unsetenv("WAYMARK_RUNDIR");
		_exit(two_in_namespace());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(applications_register_when_the_daemon_starts),
		cmocka_unit_test(helper_thread_sleeps_when_idle),
		cmocka_unit_test(no_record_is_lost_when_the_daemon_is_replaced),
		cmocka_unit_test(events_not_confirmed_by_the_next_daemon_are_disabled),
		cmocka_unit_test(child_never_records_into_private_rings_of_its_parent),
		cmocka_unit_test(application_does_not_wait_for_a_stopped_daemon),
		cmocka_unit_test(untrusted_notify_fifo_and_hints_file_are_ignored),
		cmocka_unit_test(state_dump_is_repeated_on_request),
		cmocka_unit_test(application_reattaches_rings_of_root_and_user_daemons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
