/* SPDX-License-Identifier: MIT */
/* chunk_lock.c - the names of closed chunks, and the lock of a reader (see chunk_lock.h). */
#include "store/chunk_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

#define STAMP 20u                  /* bytes of "20261128T214455+0000" */
/* number of attempts to lock a chunk while its compressed form replaces it, and the time between two attempts */
#define LOCK_ATTEMPTS 100u
#define LOCK_WAIT_NS 10000000

static void stamp_format(time_t at, char text[32])
{
	struct tm tm;

	localtime_r(&at, &tm);
	strftime(text, 32, "%Y%m%dT%H%M%S%z", &tm);
}

void wmk_chunk_name_format(char name[WMK_CHUNK_NAME_MAX], time_t begin, time_t end, uint64_t number)
{
	char from[32], to[32];

	stamp_format(begin, from);
	stamp_format(end, to);
	snprintf(name, WMK_CHUNK_NAME_MAX, "%.20s-%.20s-%" PRIu64, from, to, number);
}

static bool stamp_parse(const char *name, time_t *at)
{
	char text[STAMP + 1];
	struct tm tm = { 0 };
	const char *end;

	snprintf(text, sizeof(text), "%s", name);
	end = strptime(text, "%Y%m%dT%H%M%S%z", &tm);
	const long offset = tm.tm_gmtoff;
	*at = timegm(&tm) - offset;
	return end == text + STAMP;
}

/* The form is BEGIN-END-NUMBER. */
bool wmk_chunk_name_parse(const char *name, uint64_t *number, time_t *end)
{
	const size_t len = strlen(name), head = 2 * STAMP + 2;
	time_t begin;

	if (len <= head || len >= WMK_CHUNK_NAME_MAX || name[STAMP] != '-' || name[head - 1] != '-' ||
	    strspn(name + head, "0123456789") != len - head)
		return false;
	*number = strtoull(name + head, NULL, 10);
	return stamp_parse(name, &begin) && stamp_parse(name + STAMP + 1, end);
}

/* Truncate the path of a trace after the name of its chunk. Returns false if the trace is not in a closed chunk. */
static bool cut_at_chunk(char *path)
{
	char *at = path;
	uint64_t number;
	time_t end;

	while ((at = strstr(at, "/" WMK_ARCHIVES "/"))) {
		char name[WMK_CHUNK_NAME_MAX];

		at += sizeof(WMK_ARCHIVES) + 1;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, "/"), at);
		if (wmk_chunk_name_parse(name, &number, &end)) {
			at[strcspn(at, "/")] = '\0';
			return true;
		}
	}
	return false;
}

static bool is_at(int dir, const char *path)
{
	struct stat ours, now;

	return fstat(dir, &ours) == 0 && stat(path, &now) == 0 && ours.st_ino == now.st_ino &&
	       ours.st_dev == now.st_dev;
}

int wmk_chunk_lock(const char *path, int *lock)
{
	const struct timespec wait = { .tv_nsec = LOCK_WAIT_NS };
	char chunk[PATH_MAX];
	int fd, err = -EWOULDBLOCK;

	*lock = -1;
	if (!realpath(path, chunk))
		snprintf(chunk, sizeof(chunk), "%s", path);
	if (!cut_at_chunk(chunk))
		return 0;
	fd = open(chunk, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (unsigned i = 0; fd >= 0 && err == -EWOULDBLOCK && i < LOCK_ATTEMPTS; i++) {
		if (i)
			clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, NULL);
		err = flock(fd, LOCK_SH | LOCK_NB) < 0 ? -errno : 0;
		if (is_at(fd, chunk))
			continue;
		/* The chunk was deleted, or was replaced by its compressed form. */
		close(fd);
		err = -EWOULDBLOCK;
		fd = open(chunk, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (fd < 0)
		return errno == ENOENT ? wmk_errorx(-ESTALE, "the chunk %.160s has been deleted, by the retention "
						    "of its session or by a user", chunk)
				       : 0;
	/* Ignore an error of flock(), because some file systems do not support locks. */
	*lock = fd;
	return 0;
}
