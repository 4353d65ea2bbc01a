/* SPDX-License-Identifier: MIT */
/*
 * current.c - see current.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/current.h"
#include "cli/path.h"

#define DIRECTORY ".waymark"
#define FILE_NAME "session"
#define RECORDED "trace"                /* the trace was recorded after the last use of the current session */
#define RECORDED_BEFORE "trace-before"  /* the trace was recorded before the last use of the current session */
#define NAME_MAX_BYTES 255

int wmk_current_home(char *buf, size_t size)
{
	const char *home = secure_getenv("WAYMARK_HOME");

	if (!home || !*home)
		home = secure_getenv("HOME");
	if (!home || !*home) {
		const struct passwd *user = getpwuid(geteuid());

		home = user ? user->pw_dir : NULL;
	}
	if (!home || home[0] != '/')
		return wmk_error(-ENOENT,
				 "no home directory: set HOME, or WAYMARK_HOME, to an absolute path");
	if ((size_t)snprintf(buf, size, "%s", home) >= size)
		return wmk_error(-ENAMETOOLONG, "the path of the home directory is too long: the maximum is %zu bytes",
				 size - 1);
	return 0;
}

/*
 * Open ~/.waymark; if `make` is true, create the directory if necessary. Returns a descriptor, or -errno with a cause
 * chain (-ENOENT: not found).
 */
static int open_directory(bool make)
{
	char home[4096];
	struct stat st;
	int err = wmk_current_home(home, sizeof(home)), at, fd;

	if (err < 0)
		return err;
	at = open(home, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return wmk_error(-errno, "cannot open the home directory %s", home);
	if (make && mkdirat(at, DIRECTORY, 0700) < 0 && errno != EEXIST) {
		err = errno;
		close(at);
		return wmk_error(-err, "cannot create %s/" DIRECTORY, home);
	}
	fd = openat(at, DIRECTORY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	err = errno;
	close(at);
	if (fd < 0)
		return wmk_error(-err, "cannot open %s/" DIRECTORY, home);
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 022)) {
		close(fd);
		return wmk_error(-EPERM,
				 "cannot trust %s/" DIRECTORY
				 ": it belongs to another user, or others may write in it; set HOME, or WAYMARK_HOME, "
				 "to a directory of your own",
				 home);
	}
	return fd;
}

/*
 * Read at most `size` bytes of a regular file of the user; `at` and `file` give its path. Returns their number, or
 * -errno.
 */
static ssize_t read_own(int at, const char *file, char *text, size_t size)
{
	struct stat st;
	int fd = openat(at, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), err = 0;
	ssize_t n = -1;

	if (fd < 0)
		return wmk_error(-errno, "cannot open ~/" DIRECTORY "/%s", file);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		err = EPERM;
	else if ((n = read(fd, text, size)) < 0)
		err = errno;
	close(fd);
	return err ? wmk_error(-err, "cannot read ~/" DIRECTORY "/%s", file) : n;
}

/* Read the session name in the file `at`/session. */
static int read_name(int at, char *name, size_t size)
{
	char text[NAME_MAX_BYTES + 2];
	const ssize_t n = read_own(at, FILE_NAME, text, sizeof(text) - 1);

	if (n < 0)
		return (int)n;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (!text[0] || strlen(text) > NAME_MAX_BYTES || strlen(text) >= size)
		return wmk_error(-ENOENT, "~/" DIRECTORY "/" FILE_NAME " does not hold the name of a session");
	memcpy(name, text, strlen(text) + 1);
	return 0;
}

int wmk_current_get(char *name, size_t size)
{
	int at = open_directory(false), err;

	if (at < 0)
		return at;
	err = read_name(at, name, size);
	close(at);
	return err;
}

/* Write the line to a new file, and rename this file over the old one. */
static int replace(int at, const char *file, const char *line)
{
	char temporary[32];
	size_t len = strlen(line);
	int fd, err = 0;

	snprintf(temporary, sizeof(temporary), "%s.%d", file, getpid());
	fd = openat(at, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	/* a killed process with the same pid has left this file */
	if (fd < 0 && errno == EEXIST && unlinkat(at, temporary, 0) == 0)
		fd = openat(at, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return wmk_error(-errno, "cannot write ~/" DIRECTORY "/%s", file);
	errno = ENOSPC;
	if (fchmod(fd, 0600) < 0 || write(fd, line, len) != (ssize_t)len || write(fd, "\n", 1) != 1)
		err = errno;
	if (close(fd) < 0 && !err)
		err = errno;
	if (!err && renameat(at, temporary, at, file) < 0)
		err = errno;
	if (!err)
		return 0;
	unlinkat(at, temporary, 0);
	return wmk_error(-err, "cannot write ~/" DIRECTORY "/%s", file);
}

int wmk_current_set(const char *name)
{
	int at = open_directory(true), err;

	if (at < 0)
		return at;
	err = replace(at, FILE_NAME, name);
	if (err == 0)
		renameat(at, RECORDED, at, RECORDED_BEFORE);     /* fails if there is no trace */
	close(at);
	return err;
}

int wmk_current_forget(const char *name)
{
	char is[NAME_MAX_BYTES + 1];
	int at = open_directory(false), err = 0;

	if (at < 0) {
		if (at == -ENOENT)
			wmk_error_clear();
		return at == -ENOENT ? 0 : at;
	}
	if (name) {
		err = read_name(at, is, sizeof(is));
		if (err == 0 && strcmp(is, name) != 0)
			err = -ENOENT;           /* another session */
	}
	if (err == 0 && unlinkat(at, FILE_NAME, 0) < 0)
		err = errno == ENOENT ? -ENOENT : wmk_error(-errno, "cannot remove ~/" DIRECTORY "/" FILE_NAME);
	close(at);
	if (err == -ENOENT)
		wmk_error_clear();
	return err == -ENOENT ? 0 : err;
}

void wmk_current_meant(const char *name)
{
	char is[NAME_MAX_BYTES + 1];
	int at = open_directory(false);

	if (at >= 0) {
		if (read_name(at, is, sizeof(is)) == 0 && (!name || strcmp(is, name) == 0))
			renameat(at, RECORDED, at, RECORDED_BEFORE);
		close(at);
	}
	wmk_error_clear();
}

/* ── the latest trace ────────────────────────────────────────────────────────────────────────────────── */

/*
 * Return whether the home directory belongs to the user. ~/.waymark is not created in the home directory of another
 * user.
 */
static bool home_is_own(void)
{
	char home[4096];
	struct stat st;

	return wmk_current_home(home, sizeof(home)) == 0 && stat(home, &st) == 0 && st.st_uid == geteuid();
}

void wmk_recorded_set(const char *path)
{
	char absolute[PATH_MAX];
	struct stat st;
	int at;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
	    wmk_cli_absolute_path(path, absolute, sizeof(absolute)) == 0) {
		at = open_directory(home_is_own());
		if (at >= 0) {
			replace(at, RECORDED, absolute);
			close(at);
		}
	}
	wmk_error_clear();
}

/* Read the path that is stored in `at`/`file`, without the final newline. `size`: at most PATH_MAX. */
static int read_path(int at, const char *file, char *path, size_t size)
{
	char text[PATH_MAX + 1];
	const ssize_t n = read_own(at, file, text, sizeof(text));

	if (n < 0)
		return (int)n;
	if (n < 2 || (size_t)n > size || text[0] != '/' || text[n - 1] != '\n' || memchr(text, '\0', (size_t)n))
		return wmk_error(-EINVAL, "~/" DIRECTORY "/%s does not hold the path of a directory; remove it", file);
	memcpy(path, text, (size_t)n - 1);
	path[n - 1] = '\0';
	return 0;
}

int wmk_recorded_get(char *path, size_t size, bool *since)
{
	int at = open_directory(false), err;

	*since = false;
	if (at < 0)
		return at;
	err = read_path(at, RECORDED, path, size);
	*since = err != -ENOENT;
	if (err == -ENOENT) {
		wmk_error_clear();
		err = read_path(at, RECORDED_BEFORE, path, size);
	}
	close(at);
	return err;
}
