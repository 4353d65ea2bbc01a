/* SPDX-License-Identifier: MIT */
/* notify_fifo.c - see notify_fifo.h. */
#include "wire/notify_fifo.h"

#include "base/error.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOW (O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

int wmk_notify_create(int rundir_fd)
{
	struct stat st;

	/* an existing FIFO is reused, after its mode is set */
	if (fstatat(rundir_fd, WMK_NOTIFY_FIFO, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (wmk_rundir_file_is_trusted(&st, S_IFIFO, geteuid()) && st.st_nlink == 1 &&
		    fchmodat(rundir_fd, WMK_NOTIFY_FIFO, 0644, 0) == 0)
			return 0;
		unlinkat(rundir_fd, WMK_NOTIFY_FIFO, 0);
	}
	if (mkfifoat(rundir_fd, WMK_NOTIFY_FIFO, 0600) != 0 || fchmodat(rundir_fd, WMK_NOTIFY_FIFO, 0644, 0) != 0)
		return wmk_error(-errno, "cannot create the FIFO \"" WMK_NOTIFY_FIFO "\" in the runtime directory");
	return 0;
}

void wmk_notify_send(int rundir_fd)
{
	/* ENXIO: no application has the FIFO open */
	int fd = openat(rundir_fd, WMK_NOTIFY_FIFO, O_WRONLY | HOW);

	if (fd >= 0)
		close(fd);
}

int wmk_notify_open(const char *rundir, uid_t owner)
{
	return wmk_rundir_file_open(rundir, WMK_NOTIFY_FIFO, S_IFIFO, owner);
}
