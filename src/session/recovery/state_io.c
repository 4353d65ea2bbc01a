/* SPDX-License-Identifier: MIT */
/* state_io.c - read whole files of the state directory, and replace them atomically. */
#include "session/recovery/state_entry.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

long wmk_state_read_file(int dir, const char *name, size_t max, uint8_t **bytes)
{
	struct stat st;
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	long len = 0;

	*bytes = NULL;
	if (fd < 0 || fstat(fd, &st) != 0)
		len = wmk_error(-errno, "cannot open %s", name);
	else if (!S_ISREG(st.st_mode) || st.st_size < 0 || (uint64_t)st.st_size > max)
		len = wmk_error(-EINVAL, "%s is not a regular file, or is too long", name);
	else if ((*bytes = malloc((size_t)st.st_size + 1)) == NULL)
		len = wmk_error(-ENOMEM, "no memory to read %s", name);
	while (*bytes && len < st.st_size) {
		ssize_t n = read(fd, *bytes + len, (size_t)(st.st_size - len));

		if (n <= 0)
			break;
		len += n;
	}
	if (fd >= 0)
		close(fd);
	return len;
}

int wmk_state_bytes_write(int dir, const char *name, const char *fresh, const void *bytes, size_t len)
{
	size_t done = 0;
	int fd = openat(dir, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return wmk_error(-errno, "cannot write the state for the next session daemon (%s)", name);
	while (done < len) {
		ssize_t n = write(fd, (const char *)bytes + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int err = n < 0 ? -errno : -ENOSPC;

			close(fd);
			unlinkat(dir, fresh, 0);
			return wmk_error(err, "cannot write the state for the next session daemon (%s)", name);
		}
		done += (size_t)n;
	}
	close(fd);
	return renameat(dir, fresh, dir, name) == 0
		       ? 0
		       : wmk_error(-errno, "cannot write the state for the next session daemon (%s)", name);
}
