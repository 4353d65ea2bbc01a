/* SPDX-License-Identifier: MIT */
/*
 * rundir.c - the runtime directory, in which applications and clients find the daemons (docs/control.md). The path of
 * the directory depends only on the uid, so an application and its daemon use the same directory in any environment.
 * WAYMARK_RUNDIR overrides the default path of the directory, for private runs.
 */
#include "wire/wire.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/*
 * The maximum length of the directory's path. The path of a socket also contains a file name of at most 15 bytes, such
 * as "/app.sock".
 */
#define RUNDIR_MAX (sizeof(((struct sockaddr_un *)0)->sun_path) - sizeof("/123456789012345"))

#define FILE_BYTES 128             /* maximum path of a file in the directory */

/*
 * Append `text` at the position `at`, followed by `uid` unless it is UINT_MAX. The function does not use printf(),
 * because each application calls the function when it starts.
 */
static size_t append(char *buf, size_t size, size_t at, const char *text, uid_t uid)
{
	char digits[10];
	unsigned n = 0;

	for (; *text; text++, at++)
		if (at < size)
			buf[at] = *text;
	if (uid != (uid_t)-1)
		do
			digits[n++] = (char)('0' + uid % 10);
		while ((uid /= 10) != 0);
	for (; n > 0; at++) {
		n--;
		if (at < size)
			buf[at] = digits[n];
	}
	if (size > 0)
		buf[at < size ? at : size - 1] = '\0';
	return at;
}

int wmk_rundir_of(uid_t uid, const char *chosen, char *buf, size_t size)
{
	const uid_t none = (uid_t)-1;
	struct stat st;
	char user[32];
	size_t n;

	if (chosen && *chosen) {
		if (*chosen != '/')
			return wmk_error(-EINVAL, "WAYMARK_RUNDIR=%.80s is not an absolute path", chosen);
		n = append(buf, size, 0, chosen, none);
	} else if (uid == 0) {
		n = append(buf, size, 0, "/run/waymark", none);
	} else {
		append(user, sizeof(user), 0, "/run/user/", uid);
		if (stat(user, &st) == 0 && S_ISDIR(st.st_mode))
			n = append(buf, size, append(buf, size, 0, user, none), "/waymark", none);
		else
			n = append(buf, size, 0, "/tmp/waymark-", uid);
	}
	if (n >= size || n > RUNDIR_MAX)
		return wmk_error(-ENAMETOOLONG, "the runtime directory's path %.60s... has more than %zu bytes", buf,
				 RUNDIR_MAX);
	return (int)n;
}

int wmk_rundir(uid_t uid, int getenv_ok, char *buf, size_t size)
{
	return wmk_rundir_of(uid, getenv_ok ? secure_getenv("WAYMARK_RUNDIR") : NULL, buf, size);
}

bool wmk_rundir_file_is_trusted(const struct stat *st, mode_t type, uid_t owner)
{
	return (st->st_mode & S_IFMT) == type && (st->st_uid == owner || st->st_uid == 0) &&
	       !(st->st_mode & (S_IWGRP | S_IWOTH));
}

int wmk_rundir_file_open(const char *rundir, const char *name, mode_t type, uid_t owner)
{
	const uid_t none = (uid_t)-1;
	char path[FILE_BYTES];
	size_t n = append(path, sizeof(path), 0, rundir, none);
	struct stat st;
	int fd;

	n = append(path, sizeof(path), n, "/", none);
	if (append(path, sizeof(path), n, name, none) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && wmk_rundir_file_is_trusted(&st, type, owner))
		return fd;
	close(fd);
	return -EPERM;
}
