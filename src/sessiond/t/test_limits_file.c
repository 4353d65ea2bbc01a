/* SPDX-License-Identifier: MIT */
/* test_limits_file.c - valid and invalid limits files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "sessiond/limits_file.h"

static int parse(const char *text, struct wmk_limits *limits)
{
	return wmk_limits_parse("/etc/l", text, strlen(text), limits);
}

static void every_limit_in_the_limits_file_is_parsed(void **state)
{
	struct wmk_limits l;

	(void)state;
	assert_int_equal(parse("# all of them\n\n sessions = 1\nchannels=2\n\trules\t=\t3k # and why\nprograms = "
			       "4\nuser-programs=8\n"
			       "ring-memory = 5M\nusers-ring-memory = 9M\r\ntrace-size=6G\nuser-trace-size=7G",
			       &l),
			 0);
	assert_true(l.sessions == 1 && l.channels == 2 && l.rules == 3072 && l.programs == 4 && l.user_programs == 8);
	assert_true(l.ring_memory == 5 << 20);
	assert_true(l.users_ring_memory == 9 << 20 && l.trace_size == 6ull << 30 && l.user_trace_size == 7ull << 30);
	assert_int_equal(parse("", &l), 0);
	assert_true(!l.sessions && !l.channels && !l.rules && !l.programs && !l.user_programs &&
		    !l.ring_memory && !l.users_ring_memory && !l.trace_size && !l.user_trace_size);
	assert_int_equal(parse("sessions = 1\nsessions = 2\n", &l), 0);       /* the last line counts */
	assert_int_equal(l.sessions, 2);
}

static void invalid_limits_in_the_limits_file_are_refused(void **state)
{
	static const struct { const char *text, *words;
	} bad[] = {
		{ "sesions = 1", "did you mean: sessions" },
		{ "sessions", "name = number" },
		{ "sessions = ", "line 1" },
		{ "\n\nsessions = 0", "line 3" },
		{ "channels = 33", "allowed are 1 to 32" },
		{ "= 5", "unknown limit" },
		{ "sessions = 1x", "\"1x\"" },
		{ "trace-size = 99999999999999999999", "too large" },
		{ "sessions = 1025", "allowed are 1 to 1024" },
		{ "rules = 4097", "allowed are 1 to 4096" },
		{ "Sessions = 1", "sessions" },
		{ "sessions = 1 2", "line 1" },
	};
	struct wmk_limits l;
	char words[600], line[400];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_true(parse(bad[i].text, &l) < 0);
		wmk_error_text(words, sizeof(words));
		if (!strstr(words, bad[i].words) || !strstr(words, "/etc/l"))
			fail_msg("of '%s' is said: %s", bad[i].text, words);
	}
	assert_int_equal(wmk_limits_parse("/etc/l", "sessions\0= 1", 12, &l), -EINVAL);
	memset(line, '#', sizeof(line));
	assert_int_equal(wmk_limits_parse("/etc/l", line, sizeof(line), &l), -EINVAL);
}

static void limits_file_that_is_too_large_or_missing_is_refused(void **state)
{
	char path[] = "/tmp/waymark-limits-XXXXXX", words[600];
	int fd = mkstemp(path);
	struct wmk_limits l;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "rules = 7\n", 10), 10);
	assert_int_equal(wmk_limits_read(path, &l), 0);
	assert_int_equal(l.rules, 7);
	assert_int_equal(ftruncate(fd, WMK_LIMITS_FILE_MAX + 1), 0);
	assert_int_equal(wmk_limits_read(path, &l), -EFBIG);
	close(fd);
	unlink(path);
	assert_int_equal(wmk_limits_read(path, &l), -ENOENT);
	assert_int_equal(l.rules, 0);
	assert_int_equal(wmk_limits_read("/tmp", &l), -EINVAL);
	assert_non_null(strstr(wmk_error_text(words, sizeof(words)), "/tmp"));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_limit_in_the_limits_file_is_parsed),
					    cmocka_unit_test(invalid_limits_in_the_limits_file_are_refused),
					    cmocka_unit_test(limits_file_that_is_too_large_or_missing_is_refused) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
