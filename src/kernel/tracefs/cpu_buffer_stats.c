/* SPDX-License-Identifier: MIT */
/* cpu_buffer_stats.c - per_cpu/cpuN/stats: "overrun: 12", a count in a line. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/tracefs/cpu_buffer_modes.h"

static bool number(const char *at, const char *end, uint64_t *value)
{
	uint64_t sum = 0;

	if (at == end)
		return false;
	for (; at < end; at++) {
		if (*at < '0' || *at > '9' || __builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)(*at - '0'), &sum))
			return false;
	}
	*value = sum;
	return true;
}

static bool find(const char *text, size_t len, const char *name, uint64_t *value)
{
	const size_t n = strlen(name);

	while (len) {
		const char *newline = memchr(text, '\n', len);
		const size_t line = newline ? (size_t)(newline - text) : len;

		if (line > n + 2 && memcmp(text, name, n) == 0 && memcmp(text + n, ": ", 2) == 0)
			return number(text + n + 2, text + line, value);
		text += newline ? line + 1 : line;
		len -= newline ? line + 1 : line;
	}
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

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		if (!find(text, len, counts[i].name, counts[i].value))
			return wmk_error(-EPROTO, "the kernel's counts of a buffer lack \"%s\"", counts[i].name);
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
