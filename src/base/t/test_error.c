/* SPDX-License-Identifier: MIT */
/* test_error.c - the chain of causes: order, overflow, text of strerror, threads. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/utf8.h"

static void error_text_starts_with_the_outermost_cause(void **state)
{
	char buf[512];

	(void)state;
	wmk_error_clear();
	assert_null(wmk_error_get(0));
	assert_string_equal(wmk_error_text(buf, sizeof(buf)), "");
	assert_int_equal(wmk_error(-ENOENT, "cannot open %s", "x"), -ENOENT);
	assert_int_equal(wmk_error_add(-EIO, "cannot start"), -EIO);
	assert_string_equal(wmk_error_get(0), "cannot start");
	assert_string_equal(wmk_error_get(1), "cannot open x");
	assert_null(wmk_error_get(2));
	assert_int_equal(wmk_error_number(), -ENOENT);           /* the innermost number, not that of an outer layer */
	assert_string_equal(wmk_error_text(buf, sizeof(buf)), "cannot start: cannot open x: No such file or directory");
	wmk_error(-EINVAL, "the name is empty");
	assert_string_equal(wmk_error_text(buf, sizeof(buf)), "the name is empty");
	wmk_error(-ENOENT, "cannot open x: No such file or directory");
	assert_string_equal(wmk_error_text(buf, sizeof(buf)), "cannot open x: No such file or directory");
	wmk_errorx(-ENOBUFS, "40 are the limit");
	wmk_error_add(-EIO, "no rings");
	assert_string_equal(wmk_error_text(buf, sizeof(buf)), "no rings: 40 are the limit");
	assert_int_equal(wmk_error_number(), -ENOBUFS);
	wmk_error_clear();
	assert_null(wmk_error_get(0));
	assert_int_equal(wmk_error_number(), 0);
	wmk_error_add(-EIO, "no inner cause");
	assert_int_equal(wmk_error_number(), -EIO);
	wmk_error_clear();
}

/* Truncation at any place leaves no part of a UTF-8 character. */
static void truncated_error_text_ends_at_a_whole_utf8_character(void **state)
{
	/* characters of 1, 2, 3 and 4 bytes */
	static const char all[] = "a\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80";
	static const size_t ends[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10 };
	char buf[WMK_ERROR_DEPTH * WMK_ERROR_LEN], longer[WMK_ERROR_LEN + 16];

	(void)state;
	for (size_t size = 1; size <= sizeof(all); size++) {
		wmk_error_format(buf, size, "%s", all);
		assert_int_equal(strlen(buf), ends[size - 1]);
		assert_memory_equal(buf, all, ends[size - 1]);
		/* If a precision cuts a character inside the message, '?' replaces its bytes. */
		wmk_error(-EINVAL, "'%.*s'", (int)size - 1, all);
		assert_true(wmk_utf8_is(wmk_error_get(0)));
		assert_int_equal(strlen(wmk_error_get(0)), 2 + ends[size - 1] + (ends[size - 1] != size - 1));
		/* A message of the chain, and the joined line. */
		memset(longer, 'x', sizeof(longer));
		strcpy(longer + WMK_ERROR_LEN - size, all);
		wmk_error(-EINVAL, "%s", longer);
		assert_int_equal(strlen(wmk_error_get(0)), WMK_ERROR_LEN - size + ends[size - 1]);
		wmk_error(-EINVAL, "%s", all);
		wmk_error_text(buf, size);
		assert_int_equal(strlen(buf), ends[size - 1]);
	}
	wmk_error(-EINVAL, "caf\xe9.txt and \x80\x80\xff");
	assert_string_equal(wmk_error_get(0), "caf?.txt and ?");
	wmk_error_clear();
}

static void test_long_errors_and_chains_are_cut(void **state)
{
	char buf[16], longer[400];

	(void)state;
	memset(longer, 'a', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	wmk_error(-EINVAL, "%s", longer);
	assert_int_equal(strlen(wmk_error_get(0)), WMK_ERROR_LEN - 1);
	for (int i = 1; i <= 10; i++)
		wmk_error_add(-EINVAL, "%d", i);
	assert_string_equal(wmk_error_get(0), "10");
	assert_string_equal(wmk_error_get(WMK_ERROR_DEPTH - 1), "3");
	assert_null(wmk_error_get(WMK_ERROR_DEPTH));
	assert_string_equal(wmk_error_text(buf, sizeof(buf)), "10: 9: 8: 7: 6:");
	assert_string_equal(wmk_error_text(buf, 1), "");
}

static void error_text_has_errno_and_leaves_it_unchanged(void **state)
{
	(void)state;
	errno = EBADF;
	wmk_error(-EBADF, "close: %m");
	assert_int_equal(errno, EBADF);
	assert_string_equal(wmk_error_get(0), "close: Bad file descriptor");
}

static void *other_thread(void *data)
{
	if (wmk_error_get(0))
		return data;          /* another thread's chain */
	wmk_error(-EIO, "mine");
	return NULL;
}

static void test_errors_are_per_thread(void **state)
{
	pthread_t thread;
	int token;
	void *wrong;

	(void)state;
	wmk_error(-EINVAL, "main");
	assert_int_equal(pthread_create(&thread, NULL, other_thread, &token), 0);
	assert_int_equal(pthread_join(thread, &wrong), 0);
	assert_null(wrong);
	assert_string_equal(wmk_error_get(0), "main");
}

static void *works_for_another(void *data)
{
	struct wmk_error_chain **chain = data;

	assert_null(wmk_error_take());
	wmk_error(-ENOENT, "cannot open %s", "x");
	wmk_error_add(-EIO, "cannot start");
	*chain = wmk_error_take();
	return (void *)(uintptr_t)(wmk_error_get(0) != NULL);
}

static void error_chain_of_one_thread_is_passed_on_to_another(void **state)
{
	struct wmk_error_chain *chain;
	pthread_t thread;
	void *left;
	char buf[100];

	(void)state;
	wmk_error(-EINVAL, "mine");
	assert_int_equal(pthread_create(&thread, NULL, works_for_another, &chain), 0);
	assert_int_equal(pthread_join(thread, &left), 0);
	assert_null(left);
	assert_string_equal(wmk_error_get(0), "mine");
	wmk_error_give(chain);
	assert_string_equal(wmk_error_text(buf, sizeof(buf)), "cannot start: cannot open x: No such file or directory");
	wmk_error_give(NULL);
	assert_null(wmk_error_get(0));
	wmk_error(-EIO, "again");        /* the thread can start a new chain */
	assert_int_equal(wmk_error_number(), -EIO);
	wmk_error_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(error_text_starts_with_the_outermost_cause),
		cmocka_unit_test(truncated_error_text_ends_at_a_whole_utf8_character),
		cmocka_unit_test(test_long_errors_and_chains_are_cut),
		cmocka_unit_test(error_text_has_errno_and_leaves_it_unchanged),
		cmocka_unit_test(test_errors_are_per_thread),
		cmocka_unit_test(error_chain_of_one_thread_is_passed_on_to_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
