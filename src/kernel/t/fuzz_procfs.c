/* SPDX-License-Identifier: MIT */
/*
 * fuzz_procfs.c - any bytes as a text of /proc; the first byte selects which. No read goes beyond the text; results are
 * within their limits; the lines of a file are complete.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/proc/procfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool so)
{
	if (!so)
		abort();
}

static void fuzz_stat(const char *text, size_t len)
{
	struct wmk_kproc_stat stat;

	if (wmk_kproc_stat_parse(text, len, &stat) < 0)
		return;
	must(stat.tid >= 0 && stat.ppid >= 0 && stat.name[WMK_KPROC_NAME - 1] == '\0');
}

static void one_line(const char *line, size_t len, struct wmk_kproc_status *status)
{
	struct wmk_kproc_map map;
	uint32_t number;
	uint64_t big;
	const char *value;
	size_t value_len;

	wmk_kproc_status_line(line, len, status);
	must(status->n_tids <= WMK_KPROC_LEVELS && status->n_tgids <= WMK_KPROC_LEVELS && status->tgid >= 0);
	if (wmk_kproc_map_parse(line, len, &map) == 0)
		must(map.start <= map.end);
	wmk_kproc_fdinfo_flags(line, len, &number);
	for (unsigned kind = 0; kind < WMK_KNS_KINDS; kind++)
		wmk_kns_parse(kind, line, len, &number);
	if (wmk_kproc_id_inside(line, len, 1000, &number))
		must(len >= 5);
	if (wmk_kproc_value(line, len, "model name", &value, &value_len))
		must(value >= line && value + value_len <= line + len);
	must(wmk_kproc_number(line, len, 10, INT32_MAX, &big) <= len &&
	     wmk_kproc_number(line, len, 16, UINT64_MAX, &big) <= len);
}

/* Parse each line in memory of its own, in the order of the file. */
static void fuzz_lines(const char *text, size_t len)
{
	static struct wmk_kproc_lines lines;
	struct wmk_kproc_status status = { .tgid = 0 };
	const int fd = memfd_create("fuzz", 0);
	const char *at = text, *end = text + len, *line;
	char path[32];
	size_t n;

	must(fd >= 0 && write(fd, text, len) == (ssize_t)len);
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	/* Links are not followed: the descriptor itself is read. */
	must(wmk_kproc_lines_open(&lines, -1, path) < 0);
	lines = (struct wmk_kproc_lines){ .fd = fd, .left = WMK_KPROC_FILE };
	must(lseek(fd, 0, SEEK_SET) == 0);
	while (wmk_kproc_lines_next(&lines, &line, &n) > 0) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const size_t whole = (size_t)((newline ? newline : end) - at);
		char *copy = malloc(n ? n : 1);

		must(copy != NULL && at <= end && n <= whole && (n == whole || whole > 7000) &&
		     memcmp(at, line, n) == 0);
		memcpy(copy, line, n);
		one_line(copy, n, &status);
		free(copy);
		at += whole + (newline ? 1 : 0);
	}
	must(at == end);
	wmk_kproc_lines_close(&lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] == 's')
		fuzz_stat((const char *)data + 1, size - 1);
	else
		fuzz_lines((const char *)data + 1, size - 1);
	return 0;
}
