/* SPDX-License-Identifier: MIT */
/* path.c - opens the path to a trace without trusting links of other users (see path.h). */
#include "store/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40               /* the kernel's limit of links in a path */

static int walk_counting(int at, const char *path, unsigned how, unsigned *links);

int wmk_path_start(const char *path)
{
	int fd = open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Follow the symbolic link `fd`, which is in the directory `at`. */
static int follow(int at, int fd, const struct stat *st, unsigned *links)
{
	if (++*links > LINKS_MAX)
		return -ELOOP;
	if (st->st_uid != 0 && st->st_uid != (uid_t)setfsuid((uid_t)-1))
		return -EMLINK;
	/* The buffer is not on the stack, because links can be nested and the daemons' threads have small stacks. */
	char *target = calloc(1, PATH_MAX);
	const ssize_t n = target ? readlinkat(fd, "", target, PATH_MAX) : -1;
	int err = !target ? -ENOMEM : n < 0 ? -errno : n == 0 || n == PATH_MAX ? -ENAMETOOLONG : 0;

	if (err == 0) {
		err = target[0] == '/' ? wmk_path_start(target) : wmk_path_enter(at, ".", 0);
		if (err >= 0)
			err = walk_counting(err, target, WMK_PATH_FOLLOW, links);
	}
	free(target);
	return err;
}

static int enter(int at, const char *name, unsigned how, unsigned *links)
{
	struct stat st;
	int fd, err;

	if ((how & WMK_PATH_MAKE) && mkdirat(at, name, 0700) < 0 && errno != EEXIST)
		return errno == EMLINK ? -ENOSPC : -errno;       /* -EMLINK means an untrusted link here */
	/*
	 * O_PATH: opening a directory as a part of the path requires no permission to list the directory. O_DIRECTORY:
	 * triggers an automount.
	 */
	fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 || (errno != ENOTDIR && errno != ELOOP))
		return fd < 0 ? -errno : fd;
	fd = how & WMK_PATH_FOLLOW ? openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1;
	if (fd < 0)
		return -ENOTDIR;
	err = fstat(fd, &st) < 0 ? -errno : S_ISLNK(st.st_mode) ? follow(at, fd, &st, links) : -ENOTDIR;
	close(fd);
	return err;
}

/* The last component of a link's target may also be a link. */
static int walk_counting(int at, const char *path, unsigned how, unsigned *links)
{
	char *copy = strdup(path), *rest = copy, *name, *next;
	const bool is_target = *links > 0;
	int fd = at;

	if (!copy) {
		close(at);
		return -ENOMEM;
	}
	for (name = strtok_r(copy, "/", &rest); name && fd >= 0; name = next) {
		next = strtok_r(NULL, "/", &rest);
		int entered = enter(fd, name, next || is_target ? how : how & ~WMK_PATH_FOLLOW, links);

		close(fd);
		fd = entered;
	}
	free(copy);
	return fd;
}

int wmk_path_enter(int at, const char *name, unsigned how)
{
	unsigned links = 0;

	return enter(at, name, how, &links);
}

int wmk_path_walk(int at, const char *path, unsigned how)
{
	unsigned links = 0;

	return walk_counting(at, path, how, &links);
}

int wmk_path_open(const char *path)
{
	int start = path[0] ? wmk_path_start(path) : -ENOENT,
	    at = start < 0 ? start : wmk_path_walk(start, path, WMK_PATH_FOLLOW), fd;

	if (at < 0)
		return at;
	fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const int err = fd < 0 ? -errno : fd;

	close(at);
	return err;
}
