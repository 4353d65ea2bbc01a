/* SPDX-License-Identifier: MIT */
/* shm_path.c - see shm_path.h. */
#include "session/model/shm_path.h"

#include "base/error.h"
#include "base/utf8.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FILE_NAME 32                 /* "18446744073709551615.rings" */
#define RINGS ".rings"
#define SAME_SECOND_MAX 64u

/* Who can write to it could put other files in the place of ours. */
static int dir_check(int at, const char *name, const char *path, int *dir)
{
	struct stat st;
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), err;

	if (fd < 0)
		return wmk_error(-errno, "cannot open %.200s for rings (--shm-path)", path);
	if (fstat(fd, &st) != 0)
		err = wmk_error(-errno, "cannot open %.200s for rings (--shm-path)", path);
	else if (st.st_uid != geteuid() || (st.st_mode & 022))
		err = wmk_error_said(-EACCES,
				     "rings (--shm-path) need a directory of user %u to which nobody else may write; "
				     "of user %u, mode %04o: %.60s",
				     (unsigned)geteuid(), (unsigned)st.st_uid, (unsigned)st.st_mode & 07777, path);
	else {
		*dir = fd;
		return 0;
	}
	close(fd);
	return err;
}

/* `name` has room for a number behind it. */
static int make_below(int parent, char *name, size_t size)
{
	const size_t len = strlen(name);
	int made = mkdirat(parent, name, 0700);

	for (unsigned n = 2; made != 0 && errno == EEXIST && n <= SAME_SECOND_MAX; n++) {
		snprintf(name + len, size - len, "-%u", n);
		made = mkdirat(parent, name, 0700);
	}
	return made == 0 ? 0 : wmk_error(-errno, "cannot make the directory of a session's rings (--shm-path)");
}

int wmk_shm_make(const char *parent, const char *name, uint64_t created, char **path, int *dir)
{
	const time_t at = (time_t)created;
	char below[512], when[32];
	struct tm tm;
	int up = -1;

	if (parent[0] != '/' || strlen(parent) >= WMK_SHM_PATH_MAX)
		return wmk_error(-EINVAL,
				 "the directory of rings (--shm-path) is an absolute path of less than %u bytes",
				 WMK_SHM_PATH_MAX);
	if (!wmk_utf8_is(parent))        /* else it could not be told to the next daemon */
		return wmk_error(-EINVAL, "the directory of rings (--shm-path) has a name in UTF-8");
	if (mkdir(parent, 0700) != 0 && errno != EEXIST)
		return wmk_error(-errno, "cannot make %.200s for rings (--shm-path)", parent);
	int err = dir_check(AT_FDCWD, parent, parent, &up);
	if (err < 0)
		return err;
	localtime_r(&at, &tm);
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
	snprintf(below, sizeof(below), "%.255s-%s", name, when);
	err = make_below(up, below, sizeof(below));
	if (err == 0 && asprintf(path, "%s/%s", strcmp(parent, "/") ? parent : "", below) < 0) {
		*path = NULL;
		err = wmk_error(-ENOMEM, "no memory for a path");
	}
	if (err == 0)
		err = dir_check(up, below, *path, dir);
	if (err == 0 && (err = wmk_shm_lock(*dir, false)) < 0) {
		close(*dir);
		*dir = -1;
	}
	if (err < 0) {
		unlinkat(up, below, AT_REMOVEDIR);
		free(*path);
		*path = NULL;
	}
	close(up);
	return err;
}

int wmk_shm_open(const char *path, int *dir)
{
	int err = dir_check(AT_FDCWD, path, path, dir);

	/* What is written down may lead anywhere: nothing is written where no session is. */
	if (err == 0 && faccessat(*dir, WMK_SHM_JSON, F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
		err = wmk_error(-errno, "%.240s has no session's rings (--shm-path)", path);
		close(*dir);
		*dir = -1;
	}
	return err;
}

int wmk_shm_lock(int dir, bool alone)
{
	if (flock(dir, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return wmk_error(-errno, "cannot lock the directory of a session's rings (--shm-path)");
	return wmk_error_said(-EBUSY, alone ? "a session daemon has the session, or somebody else recovers it"
					    : "the session's rings are being recovered");
}

static void file_name(char name[FILE_NAME], uint64_t id)
{
	snprintf(name, FILE_NAME, "%" PRIu64 RINGS, id);
}

/* The lock goes with the open file, wherever its descriptors and mappings are: programs hold it too. */
static int locked(int fd, int lock, const char *name)
{
	if (flock(fd, lock | LOCK_NB) == 0)
		return fd;
	int err = errno == EWOULDBLOCK ? wmk_error_said(-EBUSY,
							lock == LOCK_EX ? "a program or a daemon still has the rings %s"
									: "the rings %s are being recovered",
							name)
				       : wmk_error(-errno, "cannot lock the rings %s", name);
	close(fd);
	return err;
}

int wmk_shm_file_make(int dir, uint64_t id)
{
	char name[FILE_NAME];

	file_name(name, id);
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? wmk_error(-errno, "cannot make the file %s for rings", name) : locked(fd, LOCK_SH, name);
}

int wmk_shm_file_open(int dir, uint64_t id, bool alone)
{
	char name[FILE_NAME];

	file_name(name, id);
	int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? wmk_error(-errno, "cannot open the rings in %s", name)
		      : locked(fd, alone ? LOCK_EX : LOCK_SH, name);
}

void wmk_shm_file_remove(int dir, uint64_t id)
{
	char name[FILE_NAME];

	file_name(name, id);
	unlinkat(dir, name, 0);
}

static bool is_rings(const char *name)
{
	const size_t digits = strspn(name, "0123456789");

	return digits > 0 && strcmp(name + digits, RINGS) == 0;
}

/* Whatever a path that was written down leads to: nothing else is removed. */
static bool is_ours(const char *name)
{
	static const char *const ours[] = { WMK_SHM_JSON, "1.ids",      "1.new",          "new",           "clock.json",
					    "clock.new",  "identities", "identities.old", "identities.new" };

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (strcmp(name, ours[i]) == 0)
			return true;
	return is_rings(name);
}

void wmk_shm_remove(int dir, const char *path, bool unless_rings)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *files = fd >= 0 ? fdopendir(fd) : NULL;
	bool keep = false, was_ours = false;

	if (!files && fd >= 0)
		close(fd);
	for (struct dirent *file; files && unless_rings && !keep && (file = readdir(files)) != NULL;)
		keep = is_rings(file->d_name);
	if (files)
		rewinddir(files);
	for (struct dirent *file; files && !keep && (file = readdir(files)) != NULL;)
		if (is_ours(file->d_name) && unlinkat(dir, file->d_name, 0) == 0)
			was_ours = true;
	if (files)
		closedir(files);
	if (was_ours)
		rmdir(path);
}
