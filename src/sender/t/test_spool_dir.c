/* SPDX-License-Identifier: MIT */
/* test_spool_dir.c - the chunks that a scan of a spool finds (sender/spool_dir.h). */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sender/spool_dir.h"
#include "store/t/testdir.h"

#define TRACE "/ust/uid/0/64-bit"
#define CLOSED "/archives/20261129-100000-20261129-100001-0/ust/uid/0"
#define UUID "0123456789abcdef"

static void make(const char *dir, const char *name, const char *text)
{
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "%s%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void make_directory(const char *dir, const char *name)
{
	char command[600], *out, *err;

	snprintf(command, sizeof(command), "mkdir -p %s%s", dir, name);
	assert_int_equal(testdir_run(command, &out, &err), 0);
	free(out);
	free(err);
}

/* The numbers of the chunks of the only trace, in the order of the list. */
static void check_chunks(struct wmk_spool *spool, const char *expected)
{
	char found[64] = "";
	size_t len = 0;

	assert_int_equal(wmk_spool_scan(spool), 0);
	assert_non_null(spool->traces);
	for (const struct wmk_spool_chunk *chunk = spool->traces->chunks; chunk; chunk = chunk->next)
		len += (size_t)snprintf(found + len, sizeof(found) - len, "%llu ", (unsigned long long)chunk->number);
	assert_string_equal(found, expected);
}

/* A rotation creates the directory of the next chunk: metadata, then .chunk, then .uuid. Scan after each step. */
static void spool_chunk_is_found_after_its_number_is_written(void **state)
{
	char dir[256], from[400], to[400];
	struct wmk_spool spool;

	(void)state;
	testdir_make(dir);
	make_directory(dir, TRACE);
	assert_int_equal(wmk_spool_open(dir, false, &spool), 0);
	make(dir, TRACE "/metadata", "");
	assert_int_equal(wmk_spool_scan(&spool), 0);
	assert_null(spool.traces);
	make(dir, TRACE "/.uuid", UUID);
	check_chunks(&spool, "0 ");

	make_directory(dir, CLOSED);
	snprintf(from, sizeof(from), "%s" TRACE, dir);
	snprintf(to, sizeof(to), "%s" CLOSED "/64-bit", dir);
	assert_int_equal(rename(from, to), 0);
	check_chunks(&spool, "0 ");
	make_directory(dir, TRACE);
	check_chunks(&spool, "0 ");
	make(dir, TRACE "/metadata", "");
	check_chunks(&spool, "0 ");
	make(dir, TRACE "/.chunk", "1\n");
	check_chunks(&spool, "0 1 ");
	make(dir, TRACE "/.uuid", UUID);
	check_chunks(&spool, "0 1 ");
	wmk_spool_close(&spool);
	testdir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(spool_chunk_is_found_after_its_number_is_written) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
