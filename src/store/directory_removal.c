/* SPDX-License-Identifier: MIT */
/* directory_removal.c - remove directories with traces (see directory_removal.h). */
#include "store/directory_removal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

#define DEPTH_MAX 16               /* "ust/uid/1000/64-bit/index" has 5 */

static int empty(int dir, unsigned depth)
{
	const int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	int err = entries ? 0 : wmk_error(-errno, "cannot list a directory");
	struct dirent *entry;

	if (!entries && fd >= 0)
		close(fd);
	unlinkat(dir, "metadata", 0);
	while (err >= 0 && (entry = readdir(entries))) {
		const bool is_dots = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
		int below;

		if (is_dots || unlinkat(dir, entry->d_name, 0) == 0)
			continue;
		below = depth < DEPTH_MAX ? openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
					  : -1;
		if (below >= 0) {
			err = empty(below, depth + 1);
			close(below);
		}
		if (err >= 0 && unlinkat(dir, entry->d_name, AT_REMOVEDIR) < 0)
			err = wmk_error(-errno, "cannot remove '%.240s'", entry->d_name);
	}
	if (entries)
		closedir(entries);
	return err;
}

int wmk_directory_empty(int dir)
{
	return empty(dir, 0);
}

int wmk_directory_remove(int parent, const char *name)
{
	const int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int err = dir < 0 ? wmk_error(-errno, "cannot open '%.240s'", name) : wmk_directory_empty(dir);

	if (dir >= 0)
		close(dir);
	if (err >= 0 && unlinkat(parent, name, AT_REMOVEDIR) < 0)
		err = wmk_error(-errno, "cannot remove '%.240s'", name);
	return err;
}
