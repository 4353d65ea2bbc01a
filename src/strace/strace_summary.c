/* SPDX-License-Identifier: MIT */
/*
 * strace_summary.c - `waymark strace -c` prints the number of calls, the number of failures and the total time of each
 * system call, as strace's table or as JSON.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strace/strace.h"

struct row {
	const char *name;
	struct wmk_strace_count count;
};

/* Sorts rows by total time, the longest time first, and then by name. */
static int compare(const void *a, const void *b)
{
	const struct row *one = a, *other = b;

	if (one->count.ns != other->count.ns)
		return one->count.ns < other->count.ns ? 1 : -1;
	return strcmp(one->name, other->name);
}

/* System calls with the same name share one row, even if their ABIs differ. */
static unsigned gather(const struct wmk_strace_lines *lines, struct row *rows, struct wmk_strace_count *total)
{
	unsigned n = 0;

	for (unsigned abi = 0; abi < WMK_SYSCALLS_ABIS; abi++)
		for (unsigned number = 0; number < WMK_SYSCALLS_NUMBERS; number++) {
			const struct wmk_strace_count *count = &lines->counts[abi][number];
			const char *name = lines->prints->calls[abi][number].call.name;
			unsigned i = 0;

			if (!count->calls)
				continue;
			while (i < n && strcmp(rows[i].name, name) != 0)
				i++;
			if (i == n)
				rows[n++] = (struct row){ .name = name };
			rows[i].count.calls += count->calls;
			rows[i].count.errors += count->errors;
			rows[i].count.ns += count->ns;
			total->calls += count->calls;
			total->errors += count->errors;
			total->ns += count->ns;
		}
	qsort(rows, n, sizeof(*rows), compare);
	return n;
}

static void put_row(struct wmk_kline *out, const char *name, const struct wmk_strace_count *count,
		    const struct wmk_strace_count *total)
{
	char text[160], errors[24] = "";

	if (count->errors)
		snprintf(errors, sizeof(errors), "%" PRIu64, count->errors);
	snprintf(text, sizeof(text), "%6.2f %11.6f %11" PRIu64 " %9" PRIu64 " %9s %s\n",
		 total->ns ? 100.0 * (double)count->ns / (double)total->ns : 0.0, (double)count->ns / 1e9,
		 count->calls ? count->ns / count->calls / 1000 : 0, count->calls, errors, name);
	wmk_kline_put(out, text);
}

static void put_json(struct wmk_kline *out, const char *name, const struct wmk_strace_count *count)
{
	char text[200];

	snprintf(text, sizeof(text),
		 "{\"summary\":\"%s\",\"calls\":%" PRIu64 ",\"errors\":%" PRIu64 ",\"ns\":%" PRIu64 "}\n", name,
		 count->calls, count->errors, count->ns);
	wmk_kline_put(out, text);
}

void wmk_strace_summary(struct wmk_strace_lines *lines)
{
	static const char line[] = "------ ----------- ----------- --------- --------- ----------------\n";
	struct row *rows = calloc(WMK_SYSCALLS_ABIS * WMK_SYSCALLS_NUMBERS, sizeof(*rows));
	struct wmk_strace_count total = { 0 };
	const unsigned n = rows ? gather(lines, rows, &total) : 0;
	struct wmk_kline *out = &lines->out;

	if (lines->args->json) {
		for (unsigned i = 0; i < n; i++)
			put_json(out, rows[i].name, &rows[i].count);
	} else if (n) {
		wmk_kline_put(out, "% time     seconds  usecs/call     calls    errors syscall\n");
		wmk_kline_put(out, line);
		for (unsigned i = 0; i < n; i++)
			put_row(out, rows[i].name, &rows[i].count, &total);
		wmk_kline_put(out, line);
		put_row(out, "total", &total, &total);
	}
	free(rows);
}
