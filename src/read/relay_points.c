/* SPDX-License-Identifier: MIT */
/* relay_points.c - read the sync points of a relay's clock (see relay_points.h). */
#include "read/relay_points.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "read/write_all.h"

#define POINTS_MAX (1u << 20)            /* four months of points */
#define READ_POINTS 256u
#define SLOPE_ERROR_MOST 0.05
#define STEER_MOST 500e-6                /* greatest rate at which Linux steers a clock */

static int open_file(int dir)
{
	struct stat st;
	int fd = openat(dir, WMK_CLOCK_RELAY_FILE, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);

	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

bool wmk_read_relay_head(int dir, struct wmk_clock_head *head)
{
	uint8_t bytes[WMK_CLOCK_RELAY_HEAD];
	int fd = open_file(dir);
	const bool is_whole = fd >= 0 && pread(fd, bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes);

	if (fd >= 0)
		close(fd);
	return is_whole && wmk_clock_head_decode(bytes, sizeof(bytes), head) == 0 &&
	       wmk_peer_name_is_valid(head->host);
}

static int add(struct wmk_read_relay_points *list, uint32_t first, const struct wmk_clock_point *point, uint64_t at)
{
	const struct wmk_clock_point *last = list->n > first ? &list->points[list->n - 1] : NULL;
	struct wmk_clock_point *all;

	if (last && (point->value <= last->value || point->monotonic_ns < last->monotonic_ns))
		return wmk_error(-EPROTO, WMK_CLOCK_RELAY_FILE ": the clock goes back at byte %" PRIu64, at);
	if (list->n >= POINTS_MAX)
		return wmk_error(-EPROTO, WMK_CLOCK_RELAY_FILE ": more than %u sync points", POINTS_MAX);
	all = wmk_array_room(list->points, list->n, &list->cap, sizeof(*all));
	if (!all)
		return wmk_error(-ENOMEM, "no memory for %u sync points", list->n + 1);
	list->points = all;
	all[list->n++] = *point;
	return 0;
}

int wmk_read_relay_points_add(int dir, struct wmk_read_relay_points *list)
{
	uint8_t bytes[READ_POINTS * WMK_CLOCK_POINT_BYTES];
	const uint32_t first = list->n;
	uint64_t at = WMK_CLOCK_RELAY_HEAD;
	int fd = open_file(dir), err = 0;
	ssize_t got = 1;

	while (fd >= 0 && err >= 0 && got > 0) {
		got = pread(fd, bytes, sizeof(bytes), (off_t)at);
		/* Ignore an incomplete sync point at the end of the file. */
		got -= got > 0 ? got % (ssize_t)WMK_CLOCK_POINT_BYTES : 0;
		for (ssize_t i = 0; i < got && err >= 0; i += WMK_CLOCK_POINT_BYTES, at += WMK_CLOCK_POINT_BYTES) {
			struct wmk_clock_point point;

			wmk_clock_point_decode(bytes + i, &point);
			err = add(list, first, &point, at);
		}
	}
	if (fd >= 0)
		close(fd);
	return err;
}

int wmk_read_relay_points_copy(int dir, int to)
{
	const uint64_t most = WMK_CLOCK_RELAY_HEAD + (uint64_t)POINTS_MAX * WMK_CLOCK_POINT_BYTES;
	uint8_t bytes[READ_POINTS * WMK_CLOCK_POINT_BYTES];
	struct wmk_clock_head head;
	uint64_t at = 0;
	ssize_t got = 1;
	int from, fd, err = 0;

	if (!wmk_read_relay_head(dir, &head))
		return 0;
	from = open_file(dir);
	fd = openat(to, WMK_CLOCK_RELAY_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (from < 0 || fd < 0)
		err = wmk_error(-errno, "cannot copy " WMK_CLOCK_RELAY_FILE);
	while (err >= 0 && got > 0 && at < most) {
		got = pread(from, bytes, sizeof(bytes), (off_t)at);
		if (got > 0)
			err = wmk_read_write_all(fd, bytes, (size_t)got, at);
		if (got < 0 || err < 0)
			err = wmk_error(err < 0 ? err : -errno, "cannot copy " WMK_CLOCK_RELAY_FILE);
		at += got > 0 ? (uint64_t)got : 0;
	}
	if (from >= 0)
		close(from);
	if (fd >= 0)
		close(fd);
	return err;
}

static int compare(const void *a, const void *b)
{
	const struct wmk_clock_point *first = a, *second = b;

	return first->value < second->value ? -1 : first->value > second->value;
}

void wmk_read_relay_points_choose(struct wmk_read_relay_points *list, double ns)
{
	struct wmk_clock_point *all = list->points;
	uint32_t kept = 0;

	if (list->n)
		qsort(all, list->n, sizeof(*all), compare);
	for (uint32_t i = 0; i < list->n; i++) {
		const struct wmk_clock_point *point = &all[i];
		struct wmk_clock_point *last = kept ? &all[kept - 1] : NULL;
		const double apart = last ? (double)(point->value - last->value) * ns : 0;

		if (!last || (double)point->uncertainty_ns + last->uncertainty_ns <= SLOPE_ERROR_MOST * apart)
			all[kept++] = *point;
		else if (point->uncertainty_ns + STEER_MOST * apart < last->uncertainty_ns)
			*last = *point;
	}
	list->n = kept;
}
