/* SPDX-License-Identifier: MIT */
/*
 * fuzz_clock.c - use arbitrary bytes as the file .clock of a trace. The parts of the line must follow each other, and
 * steady time must not go back. Points that are appended later must give the same lines as a file that had them from
 * the start. The first byte selects how much of the file is written later.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock_point.h"
#include "base/error.h"
#include "read/clock_points.h"
#include "read/relay_points.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void fuzz_set_up(void);
void fuzz_clean_up(void);

#define POINTS_MAX 64u
#define RELAY 254                    /* first byte of an input with points of a relay's clock */

/* The file is in memory, because it is rewritten often. */
static char top[] = "/dev/shm/waymark-fuzz-XXXXXX";
static int dir;

static void must(bool so)
{
	if (!so)
		abort();
}

static void put(const char *name, const void *bytes, size_t size, int flags)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);

	must(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	close(fd);
}

void fuzz_set_up(void)
{
	must(mkdtemp(top) != NULL);
	dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(dir >= 0);
}

void fuzz_clean_up(void)
{
	unlinkat(dir, WMK_CLOCK_FILE, 0);
	unlinkat(dir, WMK_CLOCK_RELAY_FILE, 0);
	close(dir);
	rmdir(top);
}

/* Walk all parts of the line. Returns their number. */
static unsigned walk(const struct wmk_read_clock_points *points, struct wmk_read_clock_line lines[POINTS_MAX + 1])
{
	int64_t last = INT64_MIN;
	double rounding;
	uint64_t value = 0;
	unsigned n = 0;

	for (;; n++) {
		must(n <= POINTS_MAX);
		struct wmk_read_clock_line *line = &lines[n];

		wmk_read_clock_line_find(points, value, line);
		rounding = 1000 + 1e-9 * ((double)(line->to - line->from) + (double)(n ? line->to - line[-1].from : 0));
		must(line->from == value && line->to > value && line->slope >= 0);
		for (unsigned i = 0; i < 4; i++) {
			const uint64_t at = value + (line->to - 1 - value) / 3 * i;
			const int64_t ns = wmk_read_clock_line_ns(line, at);

			/* (doubles are rounded at both ends) */
			must(ns >= last || (double)last - (double)ns <= rounding);
			must(wmk_read_clock_uncertainty(points, at) > 0);
			last = ns;
		}
		if (line->to == UINT64_MAX)
			return n + 1;
		value = line->to;
	}
}

static unsigned read_whole(const struct wmk_ctf_clock_class *clock, struct wmk_read_clock_line lines[POINTS_MAX + 1],
			   struct wmk_read_clock_points **points)
{
	const int err = wmk_read_clock_points_open(dir, clock, points);

	must(err == 0 || err == -EPROTO);
	wmk_error_clear();
	return *points ? walk(*points, lines) : 0;
}

/* The input has the points of a relay's clock. */
static int read_relay(const uint8_t *data, size_t size)
{
	const struct wmk_ctf_clock_class clock = { .name = "c", .freq = 1000000000 };
	const struct wmk_clock_head head = { .relay = "boot", .host = "web1" };
	uint8_t bytes[WMK_CLOCK_RELAY_HEAD + POINTS_MAX * WMK_CLOCK_POINT_BYTES];
	struct wmk_read_clock_line lines[POINTS_MAX + 1];
	struct wmk_read_relay_points list = { 0 };
	struct wmk_read_clock_points *points;
	struct wmk_clock_head found;
	size_t len = wmk_clock_head_encode(&head, bytes);

	size = size < sizeof(bytes) - len ? size : sizeof(bytes) - len;
	memcpy(bytes + len, data, size);
	put(WMK_CLOCK_RELAY_FILE, bytes, len + size, O_TRUNC);
	must(wmk_read_relay_head(dir, &found) && strcmp(found.host, "web1") == 0);
	/* Twice, as two traces of one clock. */
	for (int i = 0; i < 2; i++) {
		const int err = wmk_read_relay_points_add(dir, &list);

		must(err == 0 || err == -EPROTO);
	}
	wmk_error_clear();
	must(list.n <= 2 * POINTS_MAX);
	wmk_read_relay_points_choose(&list, 1);
	must(list.n <= POINTS_MAX);
	must(wmk_read_clock_points_make(&clock, "boot", list.points, list.n, &points) == 0);
	if (points)
		walk(points, lines);
	wmk_read_clock_points_free(points);
	free(list.points);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct wmk_ctf_clock_class clock = { .name = "c", .freq = 1000000000 };
	struct wmk_read_clock_line lines[POINTS_MAX + 1], later[POINTS_MAX + 1];
	struct wmk_read_clock_points *points;
	uint8_t bytes[WMK_CLOCK_FILE_HEAD + POINTS_MAX * WMK_CLOCK_POINT_BYTES], begin[WMK_CLOCK_RELAY_HEAD];
	struct wmk_clock_head head = { .kind = 0 };
	const size_t most = sizeof(bytes) - WMK_CLOCK_FILE_HEAD, given = size > 1 ? size - 1 : 0,
		     len = WMK_CLOCK_FILE_HEAD + (given < most ? given : most);
	size_t first = WMK_CLOCK_FILE_HEAD + WMK_CLOCK_POINT_BYTES + (size ? data[0] * 8u : 0);
	unsigned n, n_later;

	if (size && data[0] == RELAY)
		return read_relay(data + 1, size - 1);
	/* The input has the points. The beginning of the file is valid for most inputs. */
	snprintf(head.uuid, sizeof(head.uuid), "%s", size && data[0] == 255 ? "another" : "");
	memcpy(bytes, begin, wmk_clock_head_encode(&head, begin));
	if (size > 1)
		memcpy(bytes + WMK_CLOCK_FILE_HEAD, data + 1, len - WMK_CLOCK_FILE_HEAD);
	put(WMK_CLOCK_FILE, bytes, len, O_TRUNC);
	n = read_whole(&clock, lines, &points);
	wmk_read_clock_points_free(points);
	first = first < len ? first : len;
	put(WMK_CLOCK_FILE, bytes, first, O_TRUNC);
	n_later = read_whole(&clock, later, &points);
	if (points) {
		put(WMK_CLOCK_FILE, bytes + first, len - first, O_APPEND);
		must(wmk_read_clock_points_renew(points) <= 0);
		wmk_error_clear();
		n_later = walk(points, later);
		must(n_later == n && later[n - 1].value == lines[n - 1].value && later[n - 1].ns == lines[n - 1].ns);
	}
	wmk_read_clock_points_free(points);
	return 0;
}
