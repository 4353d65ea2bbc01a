/* SPDX-License-Identifier: MIT */
/* runtime_directory.c - open or create a runtime directory (see runtime_directory.h). */
#include "session/apps/runtime_directory.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int wmk_runtime_directory_open(const char *path, bool shared, bool *created)
{
	const mode_t forbidden = shared ? 022 : 077;
	struct stat st;

	*created = mkdir(path, 0700) == 0;
	if (!*created && errno != EEXIST)
		return wmk_error(-errno, "cannot create the runtime directory %s", path);
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int err = fd < 0 || fstat(fd, &st) != 0 ? wmk_error(-errno, "cannot open the runtime directory %s", path) : 0;

	if (err == 0 && (st.st_uid != geteuid() || (st.st_mode & forbidden)))
		err = wmk_errorx(-EACCES,
				 "the runtime directory %s belongs to user %u and has mode %04o: it must be yours, "
				 "with mode %s",
				 path, (unsigned)st.st_uid, (unsigned)st.st_mode & 07777, shared ? "0755" : "0700");
	if (err < 0 && fd >= 0)
		close(fd);
	return err < 0 ? err : fd;
}
