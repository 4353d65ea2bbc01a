/* SPDX-License-Identifier: MIT */
/* hints.c - see hints.h. */
#include "wire/hints.h"

#include "base/error.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Called with the lock held. If the write fails, the error is ignored, because the hints file contains only hints. */
static void write_out(struct wmk_hints_file *file)
{
	if (pwrite(file->fd, &file->is, sizeof(file->is), 0) < 0)
		return;
}

int wmk_hints_create(struct wmk_hints_file *file, int rundir_fd)
{
	unlinkat(rundir_fd, WMK_HINTS_FILE, 0);
	file->is = (struct wmk_hints){ .magic = WMK_HINTS_MAGIC };
	file->fd = openat(rundir_fd, WMK_HINTS_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file->fd < 0 || fchmod(file->fd, 0644) != 0) {
		const int err = wmk_error(-errno, "cannot create \"" WMK_HINTS_FILE "\" in the runtime directory");

		if (file->fd >= 0)
			close(file->fd);
		file->fd = -1;
		return err;
	}
	pthread_mutex_init(&file->lock, NULL);
	write_out(file);
	return 0;
}

void wmk_hints_set_daemon(struct wmk_hints_file *file, pid_t pid, uint64_t start)
{
	pthread_mutex_lock(&file->lock);
	file->is.pid = (uint32_t)pid;
	file->is.start = start;
	write_out(file);
	pthread_mutex_unlock(&file->lock);
}

void wmk_hints_count_dumps(struct wmk_hints_file *file, bool more)
{
	pthread_mutex_lock(&file->lock);
	file->is.dumps += more ? 1u : -1u;
	write_out(file);
	pthread_mutex_unlock(&file->lock);
}

void wmk_hints_remove(struct wmk_hints_file *file, int rundir_fd)
{
	if (file->fd < 0)
		return;
	unlinkat(rundir_fd, WMK_HINTS_FILE, 0);
	close(file->fd);
	file->fd = -1;
	pthread_mutex_destroy(&file->lock);
}

bool wmk_hints_read(const char *rundir, uid_t owner, struct wmk_hints *hints)
{
	const int fd = wmk_rundir_file_open(rundir, WMK_HINTS_FILE, S_IFREG, owner);
	const bool good = fd >= 0 && read(fd, hints, sizeof(*hints)) == (ssize_t)sizeof(*hints) &&
			  hints->magic == WMK_HINTS_MAGIC;

	if (fd >= 0)
		close(fd);
	if (!good)
		memset(hints, 0, sizeof(*hints));
	return good;
}
