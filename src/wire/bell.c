/* SPDX-License-Identifier: MIT */
/* bell.c - see bell.h. */
#include "wire/bell.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ── root's daemon ───────────────────────────────────────────────────────────────────────────────────── */

int wmk_bells_open(int rundir_fd)
{
	struct stat st;

	if (mkdirat(rundir_fd, WMK_BELLS_DIR, 0700) != 0 && errno != EEXIST)
		return wmk_error(-errno, "cannot make the directory " WMK_BELLS_DIR);
	int fd = openat(rundir_fd, WMK_BELLS_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return wmk_error(-errno, "cannot open the directory " WMK_BELLS_DIR);
	int err = fstat(fd, &st) != 0 ? -errno : st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)) ? -EACCES : 0;

	/* (whatever the umask is) */
	if (err == 0 && fchmod(fd, 0755) != 0)
		err = -errno;
	if (err == 0)
		return fd;
	close(fd);
	return wmk_error(err, "the directory " WMK_BELLS_DIR " is not ours alone to write");
}

int wmk_bell_make(int bells_fd, uid_t uid)
{
	char name[16];

	snprintf(name, sizeof(name), "%u", (unsigned)uid);
	const int is_new = mkfifoat(bells_fd, name, 0600) == 0;

	/* also of one that was there: the daemon before may have come no further */
	if ((!is_new && errno != EEXIST) || fchownat(bells_fd, name, uid, (gid_t)-1, AT_SYMLINK_NOFOLLOW) != 0 ||
	    (uid == 0 && fchmodat(bells_fd, name, 0644, 0) != 0))
		return wmk_error(-errno, "cannot make " WMK_BELLS_DIR "/%s", name);
	return is_new;
}

/* ── who comes, and who waits ────────────────────────────────────────────────────────────────────────── */

/* What has that name, if it is a pipe of that user's. A descriptor, or -errno. */
static int open_bell(const char *rundir, uid_t uid, int how)
{
	char path[256];
	struct stat st;
	const int n = snprintf(path, sizeof(path), "%s/" WMK_BELLS_DIR "/%u", rundir, (unsigned)uid);

	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	int fd = open(path, how | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) && st.st_uid == uid)
		return fd;
	close(fd);
	return -EPERM;
}

void wmk_bell_ring(const char *rundir, uid_t uid)
{
	int fd = open_bell(rundir, uid, O_WRONLY);

	if (fd >= 0)
		close(fd);
}

int wmk_bell_open(const char *rundir, uid_t uid)
{
	return open_bell(rundir, uid, O_RDONLY);
}
