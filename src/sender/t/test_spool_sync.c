/* SPDX-License-Identifier: MIT */
/* test_spool_sync.c - the files of a spool that are written to its disk (sender/spool_sync.h). */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "sender/spool_sync.h"
#include "store/t/testdir.h"

#define TRACE "/ust/uid/0/64-bit"

int __wrap_fdatasync(int fd);

static char synced[512];                     /* the names of the files, in any order */

int __wrap_fdatasync(int fd)
{
	char path[300] = "", link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, path, sizeof(path) - 1) < 0)
		return -1;
	strcat(strcat(synced, strrchr(path, '/')), " ");
	return 0;
}

static void make(const char *dir, const char *name, time_t modified)
{
	const struct timespec times[2] = { { .tv_sec = modified }, { .tv_sec = modified } };
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "%s%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "0123456789abcdef", 16), 16);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

static void modified_spool_files_are_synced_to_disk(void **state)
{
	char dir[256], command[600], *out, *err;
	struct wmk_spool spool;

	(void)state;
	testdir_make(dir);
	snprintf(command, sizeof(command), "mkdir -p %s" TRACE "/index", dir);
	assert_int_equal(testdir_run(command, &out, &err), 0);
	free(out);
	free(err);
	make(dir, TRACE "/metadata", 100);
	make(dir, TRACE "/.uuid", 100);
	make(dir, TRACE "/app_0_6", 150);
	make(dir, TRACE "/app_0_7", 200);
	make(dir, TRACE "/index/app_0_7.idx", 201);
	make(dir, "/.relay", 100);
	assert_int_equal(wmk_spool_open(dir, false, &spool), 0);
	assert_int_equal(wmk_spool_scan(&spool), 0);
	wmk_spool_sync(&spool, 200);
	assert_string_equal(synced, "/app_0_7 /app_0_7.idx ");
	synced[0] = '\0';
	wmk_spool_sync(&spool, 100);
	assert_non_null(strstr(synced, "/metadata "));
	assert_non_null(strstr(synced, "/app_0_6 "));
	assert_non_null(strstr(synced, "/.relay "));
	wmk_spool_close(&spool);
	testdir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(modified_spool_files_are_synced_to_disk) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
