/* SPDX-License-Identifier: MIT */
/*
 * intervals.c - convert the tables of modules to those of `waymark top` (see intervals.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/counters.h"
#include "analyze/io.h"
#include "analyze/rates.h"
#include "analyze/sched.h"
#include "analyze/spans.h"
#include "analyze/stats.h"
#include "analyze/syscalls.h"
#include "base/array.h"
#include "base/error.h"
#include "top/intervals.h"

const struct wmk_analyze_module *const wmk_top_modules[] = {
	&wmk_analyze_sched, &wmk_analyze_syscalls, &wmk_analyze_spans, &wmk_analyze_io,
	&wmk_analyze_counters, &wmk_analyze_events, NULL
};

/*
 * A column of `top`, and the key of the module's column from which the values come. A rate is computed from a count,
 * and bytes per second are computed from bytes.
 */
struct pick {
	struct wmk_column column;
	const char *from;
};

#define COLUMNS_MAX 12u

struct top_table {
	const char *from, *name, *title;
	const struct pick *picks;
	unsigned n_picks;
	int sort;
};

static const struct pick threads[] = {
	{ { "tid", "thread", WMK_COLUMN_ID, true }, "tid" },
	{ { "pid", "process", WMK_COLUMN_ID, true }, "pid" },
	{ { "cpu_percent", "CPU", WMK_COLUMN_PERCENT, false }, "running_percent" },
	{ { "running_ns", "running", WMK_COLUMN_NS, false }, "running_ns" },
	{ { "runnable_ns", "runnable", WMK_COLUMN_NS, false }, "runnable_ns" },
	{ { "switches_per_s", "switches/s", WMK_COLUMN_RATE, false }, "switches" },
	{ { "latency_p99_ns", "latency 99 %", WMK_COLUMN_NS, false }, "latency_p99_ns" },
	{ { "name", "name", WMK_COLUMN_TEXT, true }, "name" },
};
enum { TID, PID, CPU, RUNNING, RUNNABLE, SWITCHES, LATENCY, THREAD_NAME };
static const struct pick syscalls[] = {
	{ { "per_s", "per second", WMK_COLUMN_RATE, false }, "count" },
	{ { "count", "count", WMK_COLUMN_COUNT, false }, "count" },
	{ { "errors", "errors", WMK_COLUMN_COUNT, false }, "errors" },
	{ { "average_ns", "mean", WMK_COLUMN_NS, false }, "average_ns" },
	{ { "p99_ns", "99 %", WMK_COLUMN_NS, false }, "p99_ns" },
	{ { "max_ns", "max", WMK_COLUMN_NS, false }, "max_ns" },
	{ { "total_ns", "total", WMK_COLUMN_NS, false }, "total_ns" },
	{ { "name", "system call", WMK_COLUMN_TEXT, true }, "name" },
};
static const struct pick spans[] = {
	{ { "per_s", "per second", WMK_COLUMN_RATE, false }, "count" },
	{ { "count", "count", WMK_COLUMN_COUNT, false }, "count" },
	{ { "average_ns", "mean", WMK_COLUMN_NS, false }, "average_ns" },
	{ { "p99_ns", "99 %", WMK_COLUMN_NS, false }, "p99_ns" },
	{ { "max_ns", "max", WMK_COLUMN_NS, false }, "max_ns" },
	{ { "total_ns", "total", WMK_COLUMN_NS, false }, "total_ns" },
	{ { "span", "span", WMK_COLUMN_TEXT, true }, "span" },
};
static const struct pick io[] = {
	{ { "pid", "process", WMK_COLUMN_ID, true }, "pid" },
	{ { "bytes_per_s", "bytes/s", WMK_COLUMN_BYTES, false }, "bytes" },
	{ { "requests_per_s", "requests/s", WMK_COLUMN_RATE, false }, "requests" },
	{ { "average_ns", "mean", WMK_COLUMN_NS, false }, "average_ns" },
	{ { "p99_ns", "99 %", WMK_COLUMN_NS, false }, "p99_ns" },
	{ { "max_ns", "max", WMK_COLUMN_NS, false }, "max_ns" },
	{ { "operation", "operation", WMK_COLUMN_TEXT, true }, "operation" },
	{ { "name", "name", WMK_COLUMN_TEXT, true }, "process" },
};
static const struct pick counters[] = {
	{ { "pid", "process", WMK_COLUMN_ID, true }, "pid" },
	{ { "per_s", "per second", WMK_COLUMN_RATE, false }, "count" },
	{ { "last", "last", WMK_COLUMN_VALUE, false }, "last" },
	{ { "min", "min", WMK_COLUMN_VALUE, false }, "min" },
	{ { "max", "max", WMK_COLUMN_VALUE, false }, "max" },
	{ { "average", "mean", WMK_COLUMN_VALUE, false }, "average" },
	{ { "counter", "counter", WMK_COLUMN_TEXT, true }, "counter" },
};
static const struct pick events[] = {
	{ { "per_s", "per second", WMK_COLUMN_RATE, false }, "count" },
	{ { "count", "count", WMK_COLUMN_COUNT, false }, "count" },
	{ { "percent", "share", WMK_COLUMN_PERCENT, false }, "percent" },
	{ { "event", "event", WMK_COLUMN_TEXT, true }, "event" },
};
static const struct top_table tables[] = {
	{ "threads", "threads", "Threads", threads, WMK_ARRAY_LEN(threads), CPU },
	{ "syscalls", "syscalls", "System calls", syscalls, WMK_ARRAY_LEN(syscalls), 0 },
	{ "spans", "spans", "Spans", spans, WMK_ARRAY_LEN(spans), 0 },
	{ "processes", "io", "I/O", io, WMK_ARRAY_LEN(io), 1 },
	{ "counters", "counters", "Counters", counters, WMK_ARRAY_LEN(counters), 1 },
	{ "events", "events", "Events", events, WMK_ARRAY_LEN(events), 0 },
};

/* Return the columns for wmk_result_table(), which keeps the pointer. */
static struct wmk_column columns[WMK_ARRAY_LEN(tables)][COLUMNS_MAX];

enum { TOTAL_RECORDS, TOTAL_LOST, TOTAL_CPU, TOTAL_SYSCALLS, TOTAL_SPANS };
static const struct wmk_column total_columns[] = {
	{ "records_per_s", "records/s", WMK_COLUMN_RATE, false },
	{ "lost", "lost", WMK_COLUMN_COUNT, false },
	{ "cpu_percent", "CPU", WMK_COLUMN_PERCENT, false },
	{ "syscalls_per_s", "system calls/s", WMK_COLUMN_RATE, false },
	{ "spans_per_s", "spans/s", WMK_COLUMN_RATE, false },
};
enum { PROCESS_PID, PROCESS_CPU, PROCESS_THREADS, PROCESS_NAME };
static const struct wmk_column process_columns[] = {
	{ "pid", "process", WMK_COLUMN_ID, true },
	{ "cpu_percent", "CPU", WMK_COLUMN_PERCENT, false },
	{ "threads", "threads", WMK_COLUMN_COUNT, false },
	{ "name", "name", WMK_COLUMN_TEXT, true },
};

/* ── one table ───────────────────────────────────────────────────────────────────────────────────────── */

static int column_of(const struct wmk_result_table *table, const char *key)
{
	int i = (int)table->n_columns - 1;

	while (i >= 0 && strcmp(table->columns[i].key, key) != 0)
		i--;
	return i;
}

static const struct wmk_result_table *find(const struct wmk_result *result, const char *name)
{
	for (unsigned i = 0; i < result->n_tables; i++)
		if (!strcmp(result->tables[i].name, name))
			return &result->tables[i];
	return NULL;
}

/* Two modules have a table `processes`: take the table with all columns. */
static const struct wmk_result_table *find_source(const struct wmk_result *result, const struct top_table *spec)
{
	for (unsigned i = 0; i < result->n_tables; i++) {
		const struct wmk_result_table *table = &result->tables[i];
		unsigned n = 0;

		while (n < spec->n_picks && column_of(table, spec->picks[n].from) >= 0)
			n++;
		if (n == spec->n_picks && !strcmp(table->name, spec->from))
			return table;
	}
	return NULL;
}

static void copy(const struct pick *pick, const struct wmk_cell *from, int64_t length, struct wmk_result_table *table,
		 struct wmk_cell *cell)
{
	if (!from->has)
		return;
	if (pick->column.kind == WMK_COLUMN_RATE) {
		if (length > 0)
			wmk_cell_real(cell, 1e9 * (double)from->number / (double)length);
	} else if (pick->column.kind == WMK_COLUMN_BYTES) {
		if (length > 0)
			wmk_cell_number(cell, (int64_t)(1e9 * (double)from->number / (double)length));
	} else if (pick->column.kind == WMK_COLUMN_TEXT) {
		wmk_cell_text(table, cell, from->text);
	} else {
		*cell = (struct wmk_cell){ .has = true, .number = from->number, .real = from->real };
	}
}

/* Show only threads that ran, were runnable or were switched in the interval. */
static bool is_shown(const struct wmk_result_table *from, const struct wmk_cell *row, const int *at, pid_t own)
{
	if (strcmp(from->name, "threads") != 0)
		return true;
	return row[at[TID]].number != own && row[at[PID]].number != own &&
	       (row[at[RUNNING]].number || row[at[RUNNABLE]].number || row[at[SWITCHES]].number);
}

static void convert(const struct wmk_result *result, const struct top_table *spec, struct wmk_column *made, pid_t own,
		    struct wmk_result *shown)
{
	const struct wmk_result_table *from = find_source(result, spec);
	struct wmk_result_table *table;
	int at[COLUMNS_MAX];

	if (!from)
		return;
	for (unsigned i = 0; i < spec->n_picks; i++) {
		made[i] = spec->picks[i].column;
		at[i] = column_of(from, spec->picks[i].from);
	}
	table = wmk_result_table(shown, spec->name, spec->title, made, spec->n_picks);
	table->sort = spec->sort;
	for (uint32_t r = 0; r < from->n_rows; r++) {
		const struct wmk_cell *row = from->cells + (size_t)r * from->n_columns;
		struct wmk_cell *cells = is_shown(from, row, at, own) ? wmk_result_row(table) : NULL;

		for (unsigned i = 0; cells && i < spec->n_picks; i++)
			copy(&spec->picks[i], &row[at[i]], result->end - result->begin, table, &cells[i]);
	}
}

/* ── sums ────────────────────────────────────────────────────────────────────────────────────────────── */

static double sum_of(const struct wmk_result_table *table, const char *key)
{
	const int at = column_of(table, key);
	double sum = 0;

	for (uint32_t r = 0; r < table->n_rows; r++) {
		const struct wmk_cell *cell = &table->cells[(size_t)r * table->n_columns + (unsigned)at];

		sum += table->columns[at].kind == WMK_COLUMN_COUNT ? (double)cell->number : cell->real;
	}
	return sum;
}

static void add_totals(const struct wmk_result *result, struct wmk_result *shown)
{
	const double seconds = (double)(result->end - result->begin) / 1e9;
	struct wmk_result_table *table =
		wmk_result_table(shown, "totals", "Totals", total_columns, WMK_ARRAY_LEN(total_columns));
	const struct wmk_result_table *cpus = find(result, "cpus"), *calls = find(result, "syscalls"),
				      *all_spans = find(result, "spans");
	struct wmk_cell *row = wmk_result_row(table);

	wmk_cell_number(&row[TOTAL_LOST], (int64_t)result->lost);
	if (seconds <= 0)
		return;
	wmk_cell_real(&row[TOTAL_RECORDS], (double)result->records / seconds);
	if (cpus)
		wmk_cell_real(&row[TOTAL_CPU], sum_of(cpus, "busy_percent"));
	if (calls)
		wmk_cell_real(&row[TOTAL_SYSCALLS], sum_of(calls, "count") / seconds);
	if (all_spans)
		wmk_cell_real(&row[TOTAL_SPANS], sum_of(all_spans, "count") / seconds);
}

/* A process has the name of its main thread, or else of its first thread in the table. */
static int add_processes(struct wmk_result *shown)
{
	const struct wmk_result_table *from = find(shown, "threads");
	struct wmk_result_table *table;
	struct wmk_stats rows;
	int err = 0;

	if (!from)
		return 0;
	wmk_stats_begin(&rows);
	table = wmk_result_table(shown, "processes", "Processes", process_columns, WMK_ARRAY_LEN(process_columns));
	table->sort = PROCESS_CPU;
	for (uint32_t r = 0; r < from->n_rows && err >= 0; r++) {
		const struct wmk_cell *thread = from->cells + (size_t)r * from->n_columns;
		const int64_t tid = thread[TID].number, pid = thread[PID].has ? thread[PID].number : tid;
		struct wmk_stat *stat = wmk_stats_get(&rows, (uint64_t)pid, 0);
		struct wmk_cell *row;

		if (!stat) {
			err = -ENOMEM;
			break;
		}
		/* (count: the number of the row, plus 1) */
		if (!stat->count) {
			row = wmk_result_row(table);
			stat->count = table->n_rows;
			wmk_cell_number(&row[PROCESS_PID], pid);
			wmk_cell_text(table, &row[PROCESS_NAME], thread[THREAD_NAME].text);
		}
		if (shown->err < 0)
			break;
		row = table->cells + (size_t)(stat->count - 1) * table->n_columns;
		wmk_cell_real(&row[PROCESS_CPU], row[PROCESS_CPU].real + thread[CPU].real);
		wmk_cell_number(&row[PROCESS_THREADS], row[PROCESS_THREADS].number + 1);
		if (tid == pid && row[PROCESS_NAME].has) {
			free(row[PROCESS_NAME].text);
			wmk_cell_text(table, &row[PROCESS_NAME], thread[THREAD_NAME].text);
		}
	}
	wmk_stats_free(&rows);
	return err;
}

int wmk_top_convert(const struct wmk_result *result, pid_t own, struct wmk_result *shown)
{
	int err = 0;

	*shown = (struct wmk_result){ .name = "top", .begin = result->begin, .end = result->end,
				      .records = result->records, .lost = result->lost,
				      .is_lost_unknown = result->is_lost_unknown };
	add_totals(result, shown);
	for (unsigned i = 0; i < WMK_ARRAY_LEN(tables) && err >= 0; i++) {
		convert(result, &tables[i], columns[i], own, shown);
		if (tables[i].picks == threads)
			err = add_processes(shown);
	}
	return err < 0 ? err : shown->err;
}

int wmk_top_interval(struct wmk_analysis *analysis, int64_t elapsed_ns, pid_t own, struct wmk_result *shown)
{
	struct wmk_result result;
	int err = wmk_analysis_interval(analysis, elapsed_ns, &result);

	if (err >= 0)
		err = wmk_top_convert(&result, own, shown);
	else
		*shown = (struct wmk_result){ .name = "top" };
	wmk_result_free(&result);
	return err;
}
