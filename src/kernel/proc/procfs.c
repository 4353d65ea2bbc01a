/* SPDX-License-Identifier: MIT */
/*
 * procfs.c - files of /proc and /sys, read in bounded memory (see procfs.h).
 */
#include "kernel/proc/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int wmk_kproc_open(int dir, const char *path, bool is_dir)
{
	const int fd = openat(dir, path,
			      O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW | (is_dir ? O_DIRECTORY : 0));

	return fd < 0 ? -errno : fd;
}

int wmk_kproc_open_task(int proc, int32_t tid)
{
	char path[32];

	snprintf(path, sizeof(path), proc == AT_FDCWD ? "/proc/%" PRId32 : "%" PRId32, tid);
	return wmk_kproc_open(proc, path, true);
}

bool wmk_kproc_is_gone(int err)
{
	return err != -EMFILE && err != -ENFILE && err != -ENOMEM;
}

static long read_some(int fd, char *buf, size_t size)
{
	ssize_t n;

	do
		n = read(fd, buf, size);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

long wmk_kproc_read(int dir, const char *file, char *buf, size_t size)
{
	const int fd = wmk_kproc_open(dir, file, false);
	size_t len = 0;
	long n;

	if (fd < 0)
		return fd;
	do {
		n = read_some(fd, buf + len, size - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0 && len < size - 1);
	close(fd);
	buf[len] = '\0';
	return n < 0 ? n : (long)len;
}

int wmk_kproc_read_number(int dir, const char *file, uint64_t *number)
{
	char text[32];
	const long len = wmk_kproc_read(dir, file, text, sizeof(text));
	size_t used;

	if (len < 0)
		return (int)len;
	used = wmk_kproc_number(text, (size_t)len, 10, UINT64_MAX, number);
	return used && (used == (size_t)len || text[used] == '\n') ? 0 : -EPROTO;
}

DIR *wmk_kproc_opendir(int dir, const char *path)
{
	const int fd = wmk_kproc_open(dir, path, true);
	DIR *stream;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	stream = fdopendir(fd);
	if (!stream)
		close(fd);
	return stream;
}

int wmk_kproc_next_number(DIR *dir, int32_t *number)
{
	struct dirent *entry;
	uint64_t n;

	while ((entry = readdir(dir)) != NULL) {
		const size_t len = strlen(entry->d_name);

		/* Accept only canonical decimal names, so that no number is returned twice ("7" and "07"). */
		if (wmk_kproc_number(entry->d_name, len, 10, INT32_MAX, &n) != len ||
		    (len > 1 && entry->d_name[0] == '0'))
			continue;
		*number = (int32_t)n;
		return 1;
	}
	return 0;
}

/* ── lines ───────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_kproc_lines_open(struct wmk_kproc_lines *lines, int dir, const char *file)
{
	lines->fd = wmk_kproc_open(dir, file, false);
	lines->begin = lines->end = 0;
	lines->left = WMK_KPROC_FILE;
	lines->at_end = false;
	return lines->fd < 0 ? lines->fd : 0;
}

void wmk_kproc_lines_close(struct wmk_kproc_lines *lines)
{
	close(lines->fd);
}

/* The limit protects against a forged file without an end. */
static long read_bounded(struct wmk_kproc_lines *lines, char *buf, size_t size)
{
	const long n = read_some(lines->fd, buf, size < lines->left ? size : lines->left);

	lines->left -= n > 0 ? (size_t)n : 0;
	return n;
}

/* Moves the unread bytes to the beginning of the buffer, and reads bytes of the file into the rest of the buffer. */
static int fill(struct wmk_kproc_lines *lines)
{
	long n;

	memmove(lines->buf, lines->buf + lines->begin, lines->end - lines->begin);
	lines->end -= lines->begin;
	lines->begin = 0;
	n = read_bounded(lines, lines->buf + lines->end, sizeof(lines->buf) - lines->end);
	if (n < 0)
		return (int)n;
	lines->end += (size_t)n;
	lines->at_end = n == 0;
	return 0;
}

/*
 * Skips the rest of a line that is longer than the buffer. The buffer keeps the first bytes of the line and its
 * newline.
 */
static int skip_rest(struct wmk_kproc_lines *lines)
{
	char rest[512];
	long n;

	for (;;) {
		/*
		 * A second buffer receives the rest of the line. The newline and the bytes behind the newline then
		 * replace the last bytes of the cut line in the first buffer.
		 */
		n = read_bounded(lines, rest, sizeof(rest));
		if (n <= 0) {
			lines->at_end = true;
			return (int)n;
		}
		const char *newline = memchr(rest, '\n', (size_t)n);

		if (newline) {
			const size_t behind = (size_t)(rest + n - newline);

			lines->end = sizeof(lines->buf) - behind;
			memcpy(lines->buf + lines->end, newline, behind);
			lines->end += behind;
			return 0;
		}
	}
}

int wmk_kproc_lines_next(struct wmk_kproc_lines *lines, const char **line, size_t *len)
{
	size_t searched = 0;
	int err = 0;

	for (;;) {
		const char *at = lines->buf + lines->begin, *newline;
		const size_t have = lines->end - lines->begin;

		newline = have > searched ? memchr(at + searched, '\n', have - searched) : NULL;
		if (newline || (lines->at_end && have)) {
			*line = at;
			*len = newline ? (size_t)(newline - at) : have;
			lines->begin += *len + (newline ? 1 : 0);
			return 1;
		}
		if (lines->at_end)
			return 0;
		/* A cut line is returned as well; the next line begins after the newline of the cut line. */
		searched = have == sizeof(lines->buf) ? 0 : have;
		err = have == sizeof(lines->buf) ? skip_rest(lines) : fill(lines);
		if (err < 0)
			return err;
	}
}

/* ── files that combine these ────────────────────────────────────────────────────────────────────────── */

int wmk_kproc_stat_read(int task, struct wmk_kproc_stat *stat)
{
	char text[WMK_KPROC_STAT];
	const long len = wmk_kproc_read(task, "stat", text, sizeof(text));

	return len < 0 ? (int)len : wmk_kproc_stat_parse(text, (size_t)len, stat);
}

int wmk_kproc_stat_of(int32_t tid, struct wmk_kproc_stat *stat)
{
	const int task = wmk_kproc_open_task(AT_FDCWD, tid), err = task < 0 ? task : wmk_kproc_stat_read(task, stat);

	if (task >= 0)
		close(task);
	return err;
}

int wmk_kproc_status_of(struct wmk_kproc_lines *lines, int32_t tid, struct wmk_kproc_status *status)
{
	const int task = wmk_kproc_open_task(AT_FDCWD, tid),
		  err = task < 0 ? task : wmk_kproc_status_read(lines, task, status);

	if (task >= 0)
		close(task);
	return err;
}

int wmk_kproc_status_read(struct wmk_kproc_lines *lines, int task, struct wmk_kproc_status *status)
{
	const char *line;
	size_t len;
	int err = wmk_kproc_lines_open(lines, task, "status");

	*status = (struct wmk_kproc_status){ .tgid = 0 };
	if (err < 0)
		return err;
	while ((err = wmk_kproc_lines_next(lines, &line, &len)) > 0)
		wmk_kproc_status_line(line, len, status);
	wmk_kproc_lines_close(lines);
	return err;
}

int wmk_kns_read(int task, enum wmk_kns kind, uint32_t *inum)
{
	char path[32], text[64];
	ssize_t len;

	snprintf(path, sizeof(path), "ns/%s", wmk_kns_names[kind]);
	len = readlinkat(task, path, text, sizeof(text));
	return len < 0 ? -errno : wmk_kns_parse(kind, text, (size_t)len, inum);
}
