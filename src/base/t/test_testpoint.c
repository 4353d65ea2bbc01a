/* SPDX-License-Identifier: MIT */
/* test_testpoint.c - each action happens at the point and hit that the environment names, and at no other. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/testpoint.h"

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
	(void)number;
	signals++;
}

/*
 * Fork a child with the given environment. It hits `other` 10 times and `place` twice, then exits with the number of
 * signals received.
 */
static int child(const char *environment, int options, pid_t *pid)
{
	int status = 0;

	*pid = fork();
	if (*pid == 0) {
		setenv("WMK_TESTPOINT", environment, 1);
		signal(SIGUSR1, on_signal);
		signal(SIGUSR2, on_signal);
		for (int i = 0; i < 10; i++)
			WMK_TESTPOINT(other);
		errno = 77;
		WMK_TESTPOINT(place);
		WMK_TESTPOINT(place);
		_exit(errno == 77 ? signals : 99);
	}
	assert_true(*pid > 0);
	assert_int_equal(waitpid(*pid, &status, options), *pid);
	return status;
}

static void testpoint_runs_only_the_action_of_its_name_and_hit_count(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	status = child("", 0, &pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	status = child("nowhere=kill", 0, &pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	status = child("place=kill:1", 0, &pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	status = child("place=kill:2", 0, &pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	status = child("other=delay:9:1,place=signal", 0, &pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 2);
	status = child("place=signal:1:12,bad,=,x=explode", 0, &pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

static void testpoint_stops_the_process_until_it_is_continued(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	status = child("place=stop", WUNTRACED, &pid);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	assert_int_equal(kill(pid, SIGCONT), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void testpoint_delays_the_process_for_the_given_time(void **state)
{
	struct timespec before, after;
	pid_t pid;

	(void)state;
	clock_gettime(CLOCK_MONOTONIC, &before);
	int status = child("place=delay:1:50000", 0, &pid);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_true((after.tv_sec - before.tv_sec) * 1000000 + (after.tv_nsec - before.tv_nsec) / 1000 >= 50000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(testpoint_runs_only_the_action_of_its_name_and_hit_count),
		cmocka_unit_test(testpoint_stops_the_process_until_it_is_continued),
		cmocka_unit_test(testpoint_delays_the_process_for_the_given_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
