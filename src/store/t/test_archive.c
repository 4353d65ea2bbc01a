/* SPDX-License-Identifier: MIT */
/*
 * test_archive.c - chunks of a trace: they are moved to archives once, and each directory knows its chunk.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "store/archive.h"
#include "testdir.h"

#define SUB "ust/uid/1/64-bit"

static char dir[256], trace[300];

static bool exists(const char *name)
{
	char path[700];

	snprintf(path, sizeof(path), "%s/%s", trace, name);
	return access(path, F_OK) == 0;
}

static uint64_t number_of(struct wmk_store *store, uint64_t open)
{
	uint64_t number;

	assert_int_equal(wmk_store_chunk(store, open, &number), 0);
	return number;
}

static void rotated_trace_is_moved_once_and_the_next_gets_a_number(void **state)
{
	struct wmk_store *store;

	(void)state;
	assert_int_equal(wmk_store_create(trace, SUB, &store), 0);
	assert_int_equal(number_of(store, 0), 0);
	assert_int_equal(wmk_store_metadata(store, "x", 1), 0);
	/* The directory has metadata, so it belongs to the first chunk, and not to a later one that is open. */
	assert_int_equal(number_of(store, 1), 0);
	assert_int_equal(wmk_store_archive(trace, SUB, "one"), 0);
	assert_true(exists("archives/.one/" SUB "/metadata"));
	assert_false(exists(SUB));
	/* Rotate a second time, as the next process does. */
	assert_int_equal(wmk_store_archive(trace, SUB, "one"), 0);
	wmk_store_close(store);
	assert_int_equal(wmk_store_archive_end(trace, "one"), 0);
	assert_int_equal(wmk_store_archive_end(trace, "one"), 0);
	assert_true(exists("archives/one/" SUB "/metadata"));
	assert_false(exists("archives/.one"));
	assert_int_equal(wmk_store_add(trace, SUB, &store), 0);
	assert_int_equal(number_of(store, 1), 1);
	assert_int_equal(wmk_store_metadata(store, "x", 1), 0);
	wmk_store_close(store);
	assert_int_equal(wmk_store_open(trace, SUB, &store), 0);
	assert_int_equal(number_of(store, 2), 1);
	wmk_store_close(store);
}

static void journal_of_closed_chunk_moves_to_the_open_chunk(void **state)
{
	struct wmk_store *store;
	char *text;

	(void)state;
	assert_int_equal(wmk_store_open(trace, SUB, &store), 0);
	assert_int_equal(wmk_store_journal_read(store, &text), -ENOENT);
	assert_int_equal(wmk_store_journal_write(store, "first", 5), 0);
	assert_int_equal(wmk_store_journal_write(store, "second", 6), 0);
	assert_int_equal(wmk_store_journal_read(store, &text), 0);
	assert_string_equal(text, "second");
	free(text);
	assert_int_equal(wmk_store_begins_read(store, &text), -ENOENT);
	wmk_store_close(store);
	/* The closed chunk is found under its hidden name and under its final name. */
	for (int closed = 0; closed < 2; closed++) {
		const char *const name = closed ? "three" : "two";

		assert_int_equal(wmk_store_archive(trace, SUB, name), 0);
		if (closed)
			assert_int_equal(wmk_store_archive_end(trace, name), 0);
		assert_int_equal(wmk_store_add(trace, SUB, &store), 0);
		wmk_store_begins_take(store, SUB, name);
		wmk_store_begins_take(store, SUB, name);
		assert_int_equal(wmk_store_begins_read(store, &text), 0);
		assert_string_equal(text, "second");
		free(text);
		assert_int_equal(wmk_store_journal_read(store, &text), -ENOENT);
		assert_int_equal(wmk_store_journal_write(store, "second", 6), 0);
		assert_int_equal(wmk_store_metadata(store, "x", 1), 0);
		if (closed) {
			wmk_store_begins_remove(store);
			assert_int_equal(wmk_store_begins_read(store, &text), -ENOENT);
		}
		wmk_store_close(store);
	}
}

static void archive_name_with_a_path_is_refused(void **state)
{
	static const char *const names[] = { "", ".", "..", ".x", "a/b", "../x" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_int_equal(wmk_store_archive(trace, SUB, names[i]), -EINVAL);
		assert_int_equal(wmk_store_archive_end(trace, names[i]), -EINVAL);
	}
	wmk_error_clear();
	assert_true(exists(SUB "/metadata"));
}

static int set_up(void **state)
{
	(void)state;
	testdir_make(dir);
	snprintf(trace, sizeof(trace), "%s/trace", dir);
	return 0;
}

static int clean_up(void **state)
{
	(void)state;
	testdir_remove(dir);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rotated_trace_is_moved_once_and_the_next_gets_a_number),
		cmocka_unit_test(journal_of_closed_chunk_moves_to_the_open_chunk),
		cmocka_unit_test(archive_name_with_a_path_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up, clean_up);
}
