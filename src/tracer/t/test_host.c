/* SPDX-License-Identifier: MIT */
/* test_host.c - the library in programs that have ways of their own: an environment that changes, a sandbox. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(environment), cmocka_unit_test(trap) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
