/* SPDX-License-Identifier: MIT */
/* shm_path.c - see shm_path.h. */
#include "session/model/shm_path.h"

#include "base/array.h"
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

/* Another user with write access to the directory could replace the files. */
static int dir_check(int at, const char *name, const char *path, int *dir)
{
	struct stat st;
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), err;

	if (fd < 0)
		return wmk_error(-errno, "cannot open %.200s for rings (--shm-path)", path);
	if (fstat(fd, &st) != 0)
		err = wmk_error(-errno, "cannot open %.200s for rings (--shm-path)", path);
	else if (st.st_uid != geteuid() || (st.st_mode & 022))
		err = wmk_errorx(-EACCES,
				 "the directory for rings (--shm-path) must belong to user %u, and only that user "
				 "may have write access; it belongs to user %u and has mode %04o: %.60s",
				 (unsigned)geteuid(), (unsigned)st.st_uid, (unsigned)st.st_mode & 07777, path);
	else {
		*dir = fd;
		return 0;
	}
	close(fd);
	return err;
}

/* Create directory `name`, with a number appended if that name exists; the buffer must have space for the number. */
static int make_below(int parent, char *name, size_t size)
{
	const size_t len = strlen(name);
	int made = mkdirat(parent, name, 0700);

	for (unsigned n = 2; made != 0 && errno == EEXIST && n <= SAME_SECOND_MAX; n++) {
		snprintf(name + len, size - len, "-%u", n);
		made = mkdirat(parent, name, 0700);
	}
	return made == 0 ? 0 : wmk_error(-errno, "cannot create the directory of a session's rings (--shm-path)");
}

int wmk_shm_make(const char *parent, const char *name, uint64_t created, char **path, int *dir)
{
	const time_t at = (time_t)created;
	char below[512], when[32];
	struct tm tm;
	int up = -1;

	if (parent[0] != '/' || strlen(parent) >= WMK_SHM_PATH_MAX)
		return wmk_error(-EINVAL,
				 "the directory for rings (--shm-path) must be an absolute path of less than %u bytes",
				 WMK_SHM_PATH_MAX);
	if (!wmk_utf8_is(parent))        /* the state file of the session has the path as JSON */
		return wmk_error(-EINVAL, "the name of the directory for rings (--shm-path) is not valid UTF-8");
	if (mkdir(parent, 0700) != 0 && errno != EEXIST)
		return wmk_error(-errno, "cannot create %.200s for rings (--shm-path)", parent);
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

	/*
	 * The path comes from a file and may name any directory. The daemon writes only to the directory of a session.
	 */
	if (err == 0 && faccessat(*dir, WMK_SHM_JSON, F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
		err = wmk_error(-errno, "%.240s has no rings of a session (--shm-path)", path);
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
	return wmk_errorx(-EBUSY, alone ? "the session is in use by a session daemon or another recovery"
					: "another process recovers the rings of the session");
}

static void file_name(char name[FILE_NAME], uint64_t id)
{
	snprintf(name, FILE_NAME, "%" PRIu64 RINGS, id);
}

/*
 * Lock an open file of rings. The lock belongs to the open file description, and lasts until its last descriptor and
 * mapping are closed. Applications that have mapped the file therefore hold the lock, too.
 */
static int locked(int fd, int lock, const char *name)
{
	if (flock(fd, lock | LOCK_NB) == 0)
		return fd;
	int err = errno == EWOULDBLOCK
			  ? wmk_errorx(-EBUSY,
				       lock == LOCK_EX ? "an application or a daemon still uses the rings %s"
						       : "another process recovers the rings %s",
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
	return fd < 0 ? wmk_error(-errno, "cannot create the file %s for rings", name) : locked(fd, LOCK_SH, name);
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

/*
 * wmk_shm_remove() removes only files with these names: a state file contains the path of the directory, so the path
 * may lead to any directory.
 */
static bool is_ours(const char *name)
{
	static const char *const ours[] = { WMK_SHM_JSON, "1.ids",      "1.new",          "new",           "clock.json",
					    "clock.new",  "identities", "identities.old", "identities.new" };

	for (size_t i = 0; i < WMK_ARRAY_LEN(ours); i++)
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
