/* SPDX-License-Identifier: MIT */
/*
 * write_all.h - write all bytes to a file. Internal to src/read.
 */
#ifndef WMK_READ_WRITE_ALL_H
#define WMK_READ_WRITE_ALL_H

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

/*
 * Write the bytes at position `at` of the file. -errno without a cause chain; the file may then have a part of the
 * bytes.
 */
static inline int wmk_read_write_all(int fd, const void *bytes, size_t len, uint64_t at)
{
	for (size_t done = 0; done < len;) {
		const ssize_t n = pwrite(fd, (const char *)bytes + done, len - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}

#endif
