/* SPDX-License-Identifier: MIT */
/* cpu_buffer_stats.c - per_cpu/cpuN/stats: one count in each line, like "overrun: 12". */
#include <errno.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/scan.h"
#include "kernel/tracefs/cpu_buffer_modes.h"

static bool find(const char *text, size_t len, const char *name, uint64_t *value)
{
	struct wmk_scan scan = { text, text + len }, line;

	while (wmk_scan_line(&scan, &line))
		if (wmk_scan_take(&line, name) && wmk_scan_take(&line, ": "))
			return wmk_scan_number(&line, 10, UINT64_MAX, value) && line.at == line.end;
	return false;
}

int wmk_kcpu_stats_parse(const char *text, size_t len, struct wmk_kcpu_stats *stats)
{
	const struct {
		const char *name;
		uint64_t *value;
	} counts[] = {
		{ "entries", &stats->entries },
		{ "bytes", &stats->bytes },
		{ "overrun", &stats->overrun },
		{ "dropped events", &stats->dropped },
		{ "commit overrun", &stats->commit_overrun },
		{ "read events", &stats->read },
	};

	for (size_t i = 0; i < WMK_ARRAY_LEN(counts); i++)
		if (!find(text, len, counts[i].name, counts[i].value))
			return wmk_error(-EPROTO, "the kernel's buffer statistics have no valid \"%s\"",
					 counts[i].name);
	return 0;
}

int wmk_kcpu_stats(struct wmk_kcpu *buffer, struct wmk_kcpu_stats *stats)
{
	char text[1024];
	const ssize_t n = pread(buffer->stats_fd, text, sizeof(text), 0);

	if (n < 0)
		return wmk_error(-errno, "cannot read per_cpu/cpu%u/stats", buffer->cpu);
	return wmk_kcpu_stats_parse(text, (size_t)n, stats);
}
