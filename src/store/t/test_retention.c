/* SPDX-License-Identifier: MIT */
/* test_retention.c - which closed chunks are deleted, and the lock of a reader. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "store/chunk_lock.h"
#include "store/retention.h"
#include "store/t/testdir.h"

static const char *path_of(const char *top, const char *below)
{
	static char path[600];

	snprintf(path, sizeof(path), "%s/%s", top, below);
	return path;
}

/* A chunk with one file of `bytes`, which was closed `age` seconds ago. */
static void chunk_make(const char *top, unsigned number, long age, size_t bytes, char name[64])
{
	const time_t end = time(NULL) - age;
	char stamp[24], below[200], content[4096] = { 0 };
	struct tm tm;

	localtime_r(&end, &tm);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S%z", &tm);
	assert_true(snprintf(name, 64, "%s-%s-%u", stamp, stamp, number) < 64);
	mkdir(path_of(top, WMK_ARCHIVES), 0700);
	snprintf(below, sizeof(below), WMK_ARCHIVES "/%s", name);
	assert_int_equal(mkdir(path_of(top, below), 0700), 0);
	snprintf(below, sizeof(below), WMK_ARCHIVES "/%s/stream", name);
	int fd = open(path_of(top, below), O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, content, bytes), bytes);
	close(fd);
}

static bool has_chunk(const char *top, const char *name)
{
	char below[200];

	snprintf(below, sizeof(below), WMK_ARCHIVES "/%s", name);
	return access(path_of(top, below), F_OK) == 0;
}

static unsigned logged;
static void log_words(const char *words)
{
	assert_non_null(strstr(words, "retention: "));
	logged++;
}

static void oldest_chunks_are_deleted_at_each_limit(void **state)
{
	static const struct {
		struct wmk_retention keep;
		unsigned deleted;
	} rows[] = {
		{ { .size = 0 }, 0 },    { { .size = 5000 }, 0 },  { { .size = 4999 }, 1 }, { { .size = 1 }, 4 },
		{ { .count = 4 }, 0 },   { { .count = 1 }, 3 },    { { .us = 150000000 }, 2 },
		{ { .us = 9999000000 }, 0 }, { { .size = 3500, .count = 3 }, 2 },
	};
	char top[256];

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wmk_retained retained;
		char names[4][64];

		testdir_make(top);
		/* (in the order of numbers, not of names) */
		for (unsigned k = 0; k < 4; k++)
			chunk_make(top, 8 + k, 300 - 100 * (long)k, 1000, names[k]);
		assert_int_equal(wmk_retention_apply(top, &rows[i].keep, log_words, &retained), 0);
		assert_int_equal(retained.deleted, rows[i].deleted);
		assert_int_equal(retained.bytes, 1000 * (4 - rows[i].deleted));
		for (unsigned k = 0; k < 4; k++)
			assert_int_equal(has_chunk(top, names[k]), k >= rows[i].deleted);
		testdir_remove(top);
	}
	assert_int_equal(logged, 0);
}

static void locked_chunk_is_kept_without_deleting_newer_ones_instead(void **state)
{
	const struct wmk_retention keep = { .count = 1 };
	struct wmk_retained retained;
	char top[256], names[3][64], below[200];
	int lock, none;

	(void)state;
	testdir_make(top);
	for (unsigned k = 0; k < 3; k++)
		chunk_make(top, k, 30, 10, names[k]);
	snprintf(below, sizeof(below), WMK_ARCHIVES "/%s", names[0]);
	assert_int_equal(wmk_chunk_lock(path_of(top, below), &lock), 0);
	assert_true(lock >= 0);
	assert_int_equal(wmk_chunk_lock(top, &none), 0);
	assert_int_equal(none, -1);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(wmk_retention_apply(top, &keep, log_words, &retained), 0);
		assert_int_equal(retained.bytes, 20);
		assert_int_equal(logged, 1);
	}
	assert_true(has_chunk(top, names[0]) && !has_chunk(top, names[1]) && has_chunk(top, names[2]));
	close(lock);
	assert_int_equal(wmk_retention_apply(top, &keep, log_words, &retained), 0);
	assert_true(!has_chunk(top, names[0]) && has_chunk(top, names[2]));
	/* The reader learns that the chunk which it has found is deleted. */
	assert_int_equal(wmk_chunk_lock(path_of(top, below), &lock), -ESTALE);
	wmk_error_clear();
	testdir_remove(top);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(oldest_chunks_are_deleted_at_each_limit),
		cmocka_unit_test(locked_chunk_is_kept_without_deleting_newer_ones_instead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
