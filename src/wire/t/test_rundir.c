/* SPDX-License-Identifier: MIT */
/* test_rundir.c - the runtime directory in which an application and its session daemon meet. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/wire.h"

static void test_runtime_directory_follows_user_and_environment(void **state)
{
	char buf[256], longer[200];

	(void)state;
	unsetenv("WAYMARK_RUNDIR");
	assert_int_equal(wmk_rundir(0, 1, buf, sizeof(buf)), strlen("/run/waymark"));
	assert_string_equal(buf, "/run/waymark");
	wmk_rundir(3999999999u, 1, buf, sizeof(buf));
	assert_string_equal(buf, "/tmp/waymark-3999999999");
	setenv("WAYMARK_RUNDIR", "/tmp/elsewhere", 1);
	assert_int_equal(wmk_rundir(0, 1, buf, sizeof(buf)), strlen("/tmp/elsewhere"));
	assert_string_equal(buf, "/tmp/elsewhere");
	wmk_rundir(0, 0, buf, sizeof(buf));
	assert_string_equal(buf, "/run/waymark");
	assert_int_equal(wmk_rundir_of(0, NULL, buf, sizeof(buf)), strlen("/run/waymark"));
	assert_int_equal(wmk_rundir_of(0, "/tmp/another", buf, sizeof(buf)), strlen("/tmp/another"));
	assert_string_equal(buf, "/tmp/another");
	assert_int_equal(wmk_rundir(0, 1, buf, 5), -ENAMETOOLONG);
	setenv("WAYMARK_RUNDIR", "relative", 1);
	assert_int_equal(wmk_rundir(0, 1, buf, sizeof(buf)), -EINVAL);
	memset(longer, 'a', sizeof(longer));
	longer[0] = '/';
	longer[sizeof(longer) - 1] = '\0';
	setenv("WAYMARK_RUNDIR", longer, 1);
	assert_int_equal(wmk_rundir(0, 1, buf, sizeof(buf)), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_runtime_directory_follows_user_and_environment) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
