/* SPDX-License-Identifier: MIT */
/* spool_sync.c - writes a spool to its disk (see spool_sync.h). */
#include "sender/spool_sync.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int sync_file(void *data, int at, const char *name)
{
	const time_t *since = data;
	struct stat st;
	int fd;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) || st.st_mtim.tv_sec < *since)
		return 0;
	fd = openat(at, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0) {
		fdatasync(fd);
		close(fd);
	}
	return 0;
}

static void sync_directory(int dir, time_t since)
{
	wmk_spool_each_entry(dir, sync_file, &since);
	fsync(dir);
}

void wmk_spool_sync(const struct wmk_spool *spool, time_t since)
{
	for (const struct wmk_spool_trace *trace = spool->traces; trace; trace = trace->next)
		for (const struct wmk_spool_chunk *chunk = trace->chunks; chunk; chunk = chunk->next) {
			int index = openat(chunk->dir, "index", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

			sync_directory(chunk->dir, since);
			if (index >= 0) {
				sync_directory(index, since);
				close(index);
			}
		}
	sync_directory(spool->root, since);
}
