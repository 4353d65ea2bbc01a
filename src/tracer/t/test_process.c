/* SPDX-License-Identifier: MIT */
/*
 * test_process.c - when an application regards a session daemon as unable to answer: by its state only, because its
 * start time has an offset in other time namespaces.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "tracer/process.h"

static void only_a_stopped_process_counts_as_unable_to_answer(void **state)
{
	const pid_t child = fork();
	siginfo_t info;
	int status;

	(void)state;
	if (child == 0) {
		raise(SIGSTOP);
		_exit(0);
	}
	assert_true(child > 0);
	/* This process runs, with any start time. */
	assert_false(wmk_process_is_stuck(getpid(), 0));
	assert_false(wmk_process_is_stuck(getpid(), 1));
	assert_false(wmk_process_is_stuck(0, 0));
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_true(wmk_process_is_stuck(child, 0));
	/* Possibly another process. */
	assert_false(wmk_process_is_stuck(child, 1));
	kill(child, SIGCONT);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_true(wmk_process_is_stuck(child, 0));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(wmk_process_is_stuck(child, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_stopped_process_counts_as_unable_to_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
