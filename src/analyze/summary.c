/* SPDX-License-Identifier: MIT */
/*
 * summary.c - findings from the tables of several analyses (see summary.h). A finding uses columns of results by name.
 * The finding also names the analysis that a user can run to check the finding.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/io.h"
#include "analyze/locks.h"
#include "analyze/loss.h"
#include "analyze/rates.h"
#include "analyze/sched.h"
#include "analyze/spans.h"
#include "analyze/summary.h"
#include "analyze/syscalls.h"
#include "base/array.h"

const struct wmk_analyze_module *const wmk_summary_modules[] = {
	&wmk_analyze_sched, &wmk_analyze_spans, &wmk_analyze_syscalls, &wmk_analyze_io,
	&wmk_analyze_locks, &wmk_analyze_events, &wmk_analyze_loss,    NULL
};

/* Tables that a summary prints. The summary uses the other tables only for findings. */
static const char *const shown[] = { "cpus",     "threads", "spans",   "slowest",
				     "syscalls", "devices", "futexes", "events" };

#define MUCH 10.0                      /* percent of the length of the trace */
#define NUMBERED_MAX 96                         /* bytes of a number with a name */

static const struct wmk_result_table *table_of(const struct wmk_result *result, const char *name)
{
	for (unsigned i = 0; i < result->n_tables; i++)
		if (!strcmp(result->tables[i].name, name) && result->tables[i].n_rows)
			return &result->tables[i];
	return NULL;
}

/* Return the cell of a row; `key` must be the name of a column. */
static const struct wmk_cell *cell(const struct wmk_result_table *table, uint32_t row, const char *key)
{
	unsigned i = 0;

	while (i + 1 < table->n_columns && strcmp(table->columns[i].key, key))
		i++;
	return &table->cells[(size_t)row * table->n_columns + i];
}

static const char *text(const struct wmk_result_table *table, uint32_t row, const char *key)
{
	const struct wmk_cell *is = cell(table, row, key);

	return is->text ? is->text : "";
}

static int64_t number(const struct wmk_result_table *table, uint32_t row, const char *key)
{
	const struct wmk_cell *is = cell(table, row, key);

	return is->has ? is->number : 0;
}

static const char *duration(int64_t ns, char buf[32])
{
	const struct wmk_column column = { .kind = WMK_COLUMN_NS };
	const struct wmk_cell is = { .has = true, .number = ns };

	return wmk_cell_format(&column, &is, buf, 32);
}

/* The number of a thread or a process, and its name if the trace has one. */
static const char *numbered(const struct wmk_result_table *table, uint32_t row, const char *number_key,
			    const char *name_key, char buf[NUMBERED_MAX])
{
	const char *name = text(table, row, name_key);

	if (*name)
		snprintf(buf, NUMBERED_MAX, "%" PRId64 " (%s)", number(table, row, number_key), name);
	else
		snprintf(buf, NUMBERED_MAX, "%" PRId64, number(table, row, number_key));
	return buf;
}

static double percent(const struct wmk_result *result, int64_t ns)
{
	const int64_t length = result->end - result->begin;

	return length > 0 ? 100.0 * (double)ns / (double)length : 0;
}

/* Return the row with the greatest value in the column `key`. */
static uint32_t greatest(const struct wmk_result_table *table, const char *key)
{
	uint32_t most = 0;

	for (uint32_t row = 1; row < table->n_rows; row++)
		if (number(table, row, key) > number(table, most, key))
			most = row;
	return most;
}

static void find_cpu_use(struct wmk_result *result)
{
	const struct wmk_result_table *cpus = table_of(result, "cpus"), *threads = table_of(result, "threads");
	int64_t busy = 0, known = 0, waited = 0;
	uint32_t most;
	char buf[2][32], thread[NUMBERED_MAX];

	for (uint32_t row = 0; cpus && row < cpus->n_rows; row++) {
		busy += number(cpus, row, "busy_ns");
		known += number(cpus, row, "busy_ns") + number(cpus, row, "idle_ns");
	}
	if (!threads || !known)
		return;
	for (uint32_t row = 0; row < threads->n_rows; row++)
		waited += number(threads, row, "runnable_ns");
	most = greatest(threads, "running_ns");
	wmk_result_note(result, "%u CPU%s busy for %.0f %%; most by thread %s: %s", cpus->n_rows,
			cpus->n_rows == 1 ? " was" : "s were", 100.0 * (double)busy / (double)known,
			numbered(threads, most, "tid", "name", thread),
			duration(number(threads, most, "running_ns"), buf[0]));
	most = greatest(threads, "runnable_ns");
	if (percent(result, waited) >= MUCH)
		wmk_result_note(result, "threads waited %s for a CPU; longest thread %s: %s "
					"(`waymark analyze sched --sort=runnable_ns`)",
				duration(waited, buf[0]), numbered(threads, most, "tid", "name", thread),
				duration(number(threads, most, "runnable_ns"), buf[1]));
}

/*
 * Report findings about waits that another thread or a device ends. A finding names the thread that had the longest
 * wait.
 */
static void find_waits(struct wmk_result *result)
{
	static const struct {
		const char *key, *words, *analysis;
	} waits[] = { { "futex_ns", "futexes", "locks" }, { "disk_ns", "disks", "io" },
		      { "uninterruptible_ns", "disks or kernel locks", "io" } };
	const struct wmk_result_table *threads = table_of(result, "threads");
	char buf[2][32], thread[NUMBERED_MAX];

	for (unsigned i = 0; threads && i < WMK_ARRAY_LEN(waits); i++) {
		const uint32_t most = greatest(threads, waits[i].key);
		int64_t sum = 0;

		for (uint32_t row = 0; row < threads->n_rows; row++)
			sum += number(threads, row, waits[i].key);
		if (percent(result, sum) >= MUCH)
			wmk_result_note(result, "threads waited %s for %s; longest thread %s: %s "
						"(`waymark analyze %s`)",
					duration(sum, buf[0]), waits[i].words,
					numbered(threads, most, "tid", "name", thread),
					duration(number(threads, most, waits[i].key), buf[1]), waits[i].analysis);
	}
}

static void find_slow(struct wmk_result *result)
{
	const struct wmk_result_table *futexes = table_of(result, "futexes"), *slowest = table_of(result, "slowest"),
				      *devices = table_of(result, "devices"), *calls = table_of(result, "syscalls");
	char buf[3][32], owner[NUMBERED_MAX];

	if (futexes && percent(result, number(futexes, 0, "total_ns")) >= MUCH &&
	    number(futexes, 0, "most_waiters") > 1)
		wmk_result_note(result, "the futex %s of process %s had up to %" PRId64
					" waiters, for %s in %" PRId64 " waits (`waymark analyze locks`)",
				text(futexes, 0, "address"), numbered(futexes, 0, "pid", "process", owner),
				number(futexes, 0, "most_waiters"), duration(number(futexes, 0, "total_ns"), buf[0]),
				number(futexes, 0, "waits"));
	if (slowest)
		wmk_result_note(result, "the slowest span is %s of thread %s: %s "
					"(`waymark analyze %s`)",
				text(slowest, 0, "span"), numbered(slowest, 0, "tid", "name", owner),
				duration(number(slowest, 0, "duration_ns"), buf[0]),
				cell(slowest, 0, "running_ns")->has ? "path" : "spans");
	if (devices)
		wmk_result_note(result, "%s had %" PRId64 " %s requests, 99 %% within %s (`waymark analyze io`)",
				text(devices, 0, "device"), number(devices, 0, "requests"),
				text(devices, 0, "operation"), duration(number(devices, 0, "p99_ns"), buf[0]));
	for (uint32_t row = 0; calls && row < calls->n_rows; row++) {
		const int64_t errors = number(calls, row, "errors"), count = number(calls, row, "count");

		if (errors * 2 > count && errors > 100)
			wmk_result_note(result, "%" PRId64 " of %" PRId64 " calls of %s failed (`waymark analyze "
						"syscalls`)",
					errors, count, text(calls, row, "name"));
	}
}

static void find_loss(struct wmk_result *result)
{
	if (result->lost || result->is_lost_unknown)
		wmk_result_note(result, "%" PRIu64 "%s records were lost, so states are partly unknown (`waymark "
					"analyze loss`)",
				result->lost, result->is_lost_unknown ? " or more" : "");
}

/* Report the analyses for which the trace has no events. */
static void find_missing(struct wmk_result *result)
{
	static const struct {
		const char *table, *words;
		const struct wmk_analyze_module *module;
	} wanted[] = { { "threads", "states of threads", &wmk_analyze_sched },
		       { "syscalls", "system calls", &wmk_analyze_syscalls },
		       { "devices", "requests of block devices", &wmk_analyze_io } };

	for (unsigned i = 0; i < WMK_ARRAY_LEN(wanted); i++)
		if (!table_of(result, wanted[i].table))
			wmk_result_note(result, "%s are not in the trace; to record them: `waymark record %s -- "
						"COMMAND`",
					wanted[i].words, wanted[i].module->options);
}

static bool is_shown(const char *name)
{
	for (unsigned i = 0; i < WMK_ARRAY_LEN(shown); i++)
		if (!strcmp(shown[i], name))
			return true;
	return false;
}

int wmk_summary_make(struct wmk_result *result)
{
	unsigned n = 0;

	while (result->n_notes)
		free(result->notes[--result->n_notes]);
	find_loss(result);
	find_cpu_use(result);
	find_waits(result);
	find_slow(result);
	find_missing(result);
	for (unsigned i = 0; i < result->n_tables; i++)
		if (is_shown(result->tables[i].name) && result->tables[i].n_rows) {
			const struct wmk_result_table kept = result->tables[i];

			result->tables[i] = result->tables[n];
			result->tables[n++] = kept;
		}
	for (unsigned i = n; i < result->n_tables; i++)
		wmk_result_table_free(&result->tables[i]);
	result->n_tables = n;
	result->is_summary = true;
	return result->err;
}
