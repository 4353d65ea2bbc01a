/* SPDX-License-Identifier: MIT */
/*
 * testdir.c - a directory for one test, and commands with captured output.
 */
#include "testdir.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

void testdir_make(char path[256])
{
	const char *tmp = getenv("TMPDIR");

	snprintf(path, 256, "%s/waymark-test-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
	if (!mkdtemp(path))
		fail_msg("cannot make a directory like %s", path);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

void testdir_remove(const char *path)
{
	if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) < 0)
		fail_msg("cannot remove %s", path);
}

char *testdir_slurp(const char *path, size_t *len)
{
	FILE *file = fopen(path, "re");
	struct stat st;
	char *bytes;

	if (!file || fstat(fileno(file), &st) < 0)
		fail_msg("cannot read %s", path);
	bytes = malloc((size_t)st.st_size + 1);
	assert_non_null(bytes);
	*len = fread(bytes, 1, (size_t)st.st_size, file);
	assert_int_equal(*len, st.st_size);
	bytes[*len] = '\0';
	fclose(file);
	return bytes;
}

int testdir_run(const char *command, char **out, char **err)
{
	char dir[256], line[4096], path[300];
	size_t len;
	int status;

	testdir_make(dir);
	snprintf(line, sizeof(line), "( %s ) >%s/out 2>%s/err </dev/null", command, dir, dir);
	status = system(line);
	snprintf(path, sizeof(path), "%s/out", dir);
	*out = testdir_slurp(path, &len);
	snprintf(path, sizeof(path), "%s/err", dir);
	*err = testdir_slurp(path, &len);
	testdir_remove(dir);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
