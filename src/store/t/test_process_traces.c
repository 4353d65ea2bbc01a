/* SPDX-License-Identifier: MIT */
/*
 * test_process_traces.c - traces that ended processes left behind are listed and removed, and nothing else is.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "store/store.h"
#include "testdir.h"

static char dir[256], trace[300];

static const char *in_trace(const char *name)
{
	static char path[600];

	snprintf(path, sizeof(path), "%s/%s", trace, name);
	return path;
}

static void make(const char *sub)
{
	struct wmk_store_stream *stream;
	struct wmk_store *store;

	assert_int_equal((access(trace, F_OK) == 0 ? wmk_store_add : wmk_store_create)(trace, sub, &store), 0);
	assert_int_equal(wmk_store_stream_create(store, "app_0", NULL, &stream), 0);
	wmk_store_stream_close(stream);
	wmk_store_close(store);
}

static int remember(void *data, const char *name)
{
	strcat(strcat(data, name), " ");
	return 0;
}

static int stop(void *data, const char *name)
{
	(void)data;
	(void)name;
	return 7;
}

static const char *found(void)
{
	static char names[500];

	names[0] = '\0';
	assert_int_equal(wmk_store_each_process(trace, remember, names), 0);
	return names;
}

static void test_only_process_traces_are_listed_and_removed(void **state)
{
	char outside[300];

	(void)state;
	testdir_make(dir);
	snprintf(trace, sizeof(trace), "%s/t", dir);
	assert_string_equal(found(), "");                /* without the directory of the trace */
	make("ust/uid/0/64-bit");
	assert_string_equal(found(), "");
	make("ust/pid/one-1-20260101-000000/64-bit");
	assert_string_equal(found(), "one-1-20260101-000000 ");
	assert_int_equal(wmk_store_each_process(trace, stop, NULL), 7);
	make("ust/pid/two-2-20260101-000000/64-bit");
	assert_int_equal(wmk_store_remove_process(trace, "one-1-20260101-000000"), 0);
	assert_string_equal(found(), "two-2-20260101-000000 ");
	assert_int_equal(wmk_store_remove_process(trace, "one-1-20260101-000000"), 0);
	assert_int_equal(access(in_trace("ust/uid/0/64-bit/app_0"), F_OK), 0);
	/* entries that Waymark does not create stay, and links are not followed */
	assert_int_equal(mkdir(in_trace("ust/pid/two-2-20260101-000000/64-bit/other"), 0700), 0);
	assert_int_equal(wmk_store_remove_process(trace, "two-2-20260101-000000"), -ENOTEMPTY);
	assert_int_equal(access(in_trace("ust/pid/two-2-20260101-000000/64-bit/other"), F_OK), 0);
	snprintf(outside, sizeof(outside), "%s/outside", dir);
	assert_int_equal(mkdir(outside, 0700), 0);
	strcat(outside, "/64-bit");
	assert_int_equal(mkdir(outside, 0700), 0);
	strcat(outside, "/precious");
	close(open(outside, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(symlink("../../../outside", in_trace("ust/pid/link")), 0);
	assert_string_equal(found(), "two-2-20260101-000000 ");
	assert_true(wmk_store_remove_process(trace, "link") < 0);
	assert_int_equal(mkdir(in_trace("ust/pid/three"), 0700), 0);
	assert_int_equal(symlink("../../../../outside/64-bit", in_trace("ust/pid/three/64-bit")), 0);
	assert_true(wmk_store_remove_process(trace, "three") < 0);
	assert_int_equal(access(outside, F_OK), 0);
	assert_int_equal(wmk_store_remove_process(trace, ".."), -EINVAL);
	assert_int_equal(wmk_store_remove_process(trace, "a/b"), -EINVAL);
	assert_int_equal(wmk_store_remove_process(trace, ""), -EINVAL);
	testdir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_only_process_traces_are_listed_and_removed) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
