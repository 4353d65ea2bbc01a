/* SPDX-License-Identifier: MIT */
/* analyze.c - `waymark analyze`: compute statistics from the records of traces (analyze/analysis.h). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/locks.h"
#include "analyze/fields.h"
#include "analyze/path.h"
#include "analyze/spans.h"
#include "analyze/summary.h"
#include "base/array.h"
#include "base/error.h"
#include "cli/reading.h"

#define ROWS_DEFAULT 20u
#define ROWS_OF_SUMMARY 5u
#define WMK_ANALYSES "sched, syscalls, io, irq, memory, spans, locks, path, counters, events, fields, loss"

struct analyze_args {
	struct wmk_cli_which which;
	bool csv;
	uint64_t limit;
	bool has_limit;
	const char *sort, *diff, *span;
	uint64_t slowest;              /* 0: the default */
	bool folded, symbols;
	const char *from, *to, *event;
};

static void print(const struct analyze_args *args, const struct wmk_result *result)
{
	if (args->which.common.json)
		wmk_result_json(result, stdout);
	else if (args->csv)
		wmk_result_csv(result, stdout);
	else
		wmk_result_print(result,
				 args->has_limit      ? args->limit
				 : result->is_summary ? ROWS_OF_SUMMARY
						      : ROWS_DEFAULT,
				 *wmk_cli_color(stdout, WMK_CLI_BOLD) != '\0', stdout);
}

/* Run the modules over the traces. The caller frees *analysis, even after an error. */
static int compute(const struct analyze_args *args, const struct wmk_analyze_module *const *modules,
		   const char *const *paths, unsigned n, const struct wmk_read_symbolizer *symbolizer,
		   struct wmk_analysis **analysis, uint64_t *damages)
{
	struct wmk_read_pipeline_options options = { .form = &wmk_analysis_form, .print = WMK_PRINT_OPTIONS };
	struct wmk_read_pipeline_result done;
	int err = wmk_analysis_create(modules, analysis);

	if (err < 0)
		return err;
	if (symbolizer->data)
		wmk_locks_symbols(*analysis, symbolizer);
	if (args->from)
		err = wmk_analysis_set_span(*analysis, args->from, args->to);
	if (err < 0)
		return err;
	if (modules[0] == &wmk_analyze_fields)
		wmk_fields_choose(*analysis, args->event);
	if (modules[0] == &wmk_analyze_path)
		wmk_path_choose(*analysis, args->span, args->slowest ? (unsigned)args->slowest : 1);
	options.whole = *analysis;
	err = wmk_cli_read(&args->which, paths, n, &options, stdout, NULL, &done);
	*damages += done.damages;
	if (err >= 0)
		err = wmk_result_sort(wmk_analysis_result(*analysis), args->diff ? NULL : args->sort);
	if (err >= 0 && modules == wmk_summary_modules)
		err = wmk_summary_make(wmk_analysis_result(*analysis));
	return err;
}

static int compare(const struct analyze_args *args, struct wmk_analysis *before, struct wmk_analysis *after)
{
	struct wmk_result result;
	int err = wmk_result_diff(wmk_analysis_result(before), wmk_analysis_result(after), &result);

	if (err >= 0)
		err = wmk_result_sort(&result, args->sort);
	if (err >= 0)
		print(args, &result);
	wmk_result_free(&result);
	return err;
}

static int analyze(const struct analyze_args *args, const struct wmk_analyze_module *const *modules,
		   const char *const *paths, unsigned n)
{
	struct wmk_analysis *before = NULL, *analysis = NULL;
	uint64_t damages = 0;
	struct wmk_read_symbolizer symbolizer = { .find = wmk_symbols_find };
	struct wmk_symbols *symbols = NULL;
	int err = args->diff ? compute(args, modules, &args->diff, 1, &symbolizer, &before, &damages) : 0;

	if (err >= 0 && args->symbols)
		err = wmk_cli_symbols(paths, n, &symbols);
	symbolizer.data = symbols;
	if (err >= 0)
		err = compute(args, modules, paths, n, &symbolizer, &analysis, &damages);
	if (err >= 0 && before)
		err = compare(args, before, analysis);
	else if (err >= 0 && args->folded)
		err = wmk_path_folded(analysis, stdout);
	else if (err >= 0)
		print(args, wmk_analysis_result(analysis));
	if (err >= 0 && fflush(stdout) != 0)
		err = wmk_error(-errno, "cannot write the result");
	wmk_analysis_free(before);
	wmk_analysis_free(analysis);
	wmk_symbols_free(symbols);
	if (err < 0)
		return wmk_cli_failed();
	return damages ? WMK_CLI_FAILED : 0;
}

static int run_analyze(void *data, char **rest, int n_rest)
{
	const struct analyze_args *args = data;
	const struct wmk_analyze_module *modules[2] = { n_rest ? wmk_analyze_module_find(rest[0]) : NULL, NULL };
	const int n_names = modules[0] != NULL;

	if (args->csv && args->which.common.json)
		return wmk_error(-EINVAL, "--csv and --json exclude each other");
	if (args->folded && (args->csv || args->which.common.json || args->diff))
		return wmk_error(-EINVAL, "--folded excludes --csv, --json and --diff");
	if (args->symbols && (modules[0] != &wmk_analyze_locks || args->diff))
		return wmk_error(-EINVAL, "--symbols is an option of `analyze locks`, without --diff: "
					  "`waymark analyze locks --symbols TRACE`");
	if ((args->span || args->slowest || args->folded) && modules[0] != &wmk_analyze_path)
		return wmk_error(-EINVAL, "--span, --slowest and --folded are options of `analyze path`: "
					  "`waymark analyze path --span=NAME TRACE`");
	if ((args->from || args->to) && modules[0] != &wmk_analyze_path && modules[0] != &wmk_analyze_spans)
		return wmk_error(-EINVAL, "--from and --to are options of `analyze spans` and `analyze path`");
	if (args->event && modules[0] != &wmk_analyze_fields)
		return wmk_error(-EINVAL, "--event is an option of `analyze fields`");
	if (!args->from != !args->to)
		return wmk_error(-EINVAL, "--from and --to must be given together");
	if (n_rest == n_names)
		return wmk_error(-EINVAL, "no trace given: give its directory, or a directory above it");
	if (!modules[0] && n_rest > 1 && access(rest[0], F_OK) != 0)
		return wmk_error(-EINVAL, "unknown analysis '%.80s'; the analyses are " WMK_ANALYSES, rest[0]);
	return analyze(args, modules[0] ? modules : wmk_summary_modules, (const char *const *)rest + n_names,
		       (unsigned)(n_rest - n_names));
}

static const char *const details[] = {
	"Reads all traces in and below the directories once, and prints tables. Without ANALYSIS, prints a summary: "
	"findings, each with the analysis that has the details, then the first rows of the most important tables. "
	"The analyses are:",
	"sched: for each thread the time in the states running, runnable (waiting for a CPU) and blocked, what the "
	"thread mostly waited for, switches, migrations and wake-up latencies; for each CPU the busy and idle "
	"time; for each pair of threads how often one woke the other. Needs "
	"`waymark record --preset=sched`.",
	"syscalls: counts, errors and durations of system calls, by name, by process and by file. Needs "
	"--preset=syscalls.",
	"irq: counts and durations of interrupts and softirqs, and the time from raise to entry. Needs --preset=irq.",
	"io: requests of block devices: count, bytes, merges, time in the queue and latency, by device, by size and by "
	"process. Needs --preset=io.",
	"memory: pages that the kernel allocates and frees, by process and by size. Needs --preset=memory.",
	"spans: spans of applications (waymark_span()): count, total and self time, quantiles, and the slowest spans. "
	"With kernel records of sched_switch and sched_wakeup: the states of the thread during the slowest spans.",
	"locks: futexes: which process and address, number of waits and waiters, time, and the last thread that woke a "
	"waiter. Needs --preset=sched.",
	"path: the critical path of the slowest span (with --span: of the slowest span of that name), in the order of "
	"time. While the thread of the span waits for another thread, the path shows the states of the other thread. "
	"Needs spans and --preset=sched.",
	"counters: counters of applications (waymark_counter()): number of values, last, minimum, maximum and average "
	"value, by process.",
	"events: the count of each event, its average and maximum rate, and a chart of the rate over time. fields: "
	"distributions of the values of fields, by event. loss: where and when records were lost.",
	"A state is unknown before the first record of a thread, and after records were lost. The times of the states "
	"add up to the length of the trace. docs/analyze.md describes how each figure is computed. If the trace "
	"lacks the events of an analysis, a message names them and the command that records them.",
	"Durations are in ns in JSON and CSV, and all columns are printed. Damaged parts and lost records are reported "
	"on standard error; the exit status is 1 if a part is damaged.",
	NULL
};

static const struct wmk_cli_option options[] = {
	{ 'n', "limit", "N",
	  "Print at most N rows of each table. 0: all. The default is 20. JSON and CSV have all rows.",
	  WMK_CLI_NUMBER(struct analyze_args, limit, UINT32_MAX), WMK_CLI_GIVEN(struct analyze_args, has_limit) },
	{ 's', "sort", "TEXT",
	  "Sort rows by this column, in descending order. Columns have their names in --json, for example running_ns.",
	  WMK_CLI_NAME(struct analyze_args, sort, "a column") },
	{ 0, "diff", "DIR",
	  "Compare with an earlier trace: print the values of DIR, those of TRACE, and the change. Rows of the same "
	  "name are summed, because numbers of threads and processes differ between two traces.",
	  WMK_CLI_NAME(struct analyze_args, diff, "a trace") },
	{ 0, "span", "NAME", "With path: spans of this name. The default is any name.",
	  WMK_CLI_NAME(struct analyze_args, span, "a span") },
	{ 0, "from", "EVENT",
	  "With spans and path: a span begins with this event, and ends in the same thread with the next event of "
	  "--to. Other spans are left out.",
	  WMK_CLI_NAME(struct analyze_args, from, "an event") },
	{ 0, "to", "EVENT", "With --from: the event that ends a span. It may be the same event.",
	  WMK_CLI_NAME(struct analyze_args, to, "an event") },
	{ 0, "event", "EVENT", "With fields: only fields of this event. The default is all events.",
	  WMK_CLI_NAME(struct analyze_args, event, "an event") },
	{ 0, "slowest", "N", "With path: the N slowest spans, at most 16. The default is 1.",
	  WMK_CLI_NUMBER(struct analyze_args, slowest, WMK_PATHS_MAX) },
	{ 0, "symbols", NULL,
	  "With locks: print names of global variables at the addresses of futexes. Needs the objects of processes: "
	  "record events of the application in the same trace.",
	  WMK_CLI_FLAG(struct analyze_args, symbols) },
	{ 0, "folded", NULL,
	  "With path: print stacks for a flame graph (flamegraph.pl, speedscope), with nanoseconds. The thread that "
	  "ends a wait is a child frame of this wait.",
	  WMK_CLI_FLAG(struct analyze_args, folded) },
	WMK_CLI_OPTIONS_TIME,
	{ 0, "csv", NULL, "Print CSV instead of text: for each table a line of names, then one line for each row.",
	  WMK_CLI_FLAG(struct analyze_args, csv) },
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_analyze = {
	.name = "analyze",
	.arguments = "[ANALYSIS] TRACE...",
	.choices = "sched syscalls io irq memory spans locks path counters events fields loss",
	.summary = "Compute where time goes from the records of traces",
	.details = details,
	WMK_CLI_OPTIONS(options),
	.args_size = sizeof(struct analyze_args),
	.run = run_analyze,
};
