/* SPDX-License-Identifier: MIT */
/* top.c - `waymark top`: follow a session or a directory, and print the event rates of each interval (top/top.h). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor_limit.h"
#include "base/error.h"
#include "cli/reading.h"
#include "cli/session_trace.h"
#include "cli/tail.h"
#include "cli/top_session.h"
#include "top/top.h"

#define DELAY_S 1.0
#define DELAY_MAX_S 86400u
#define PATIENCE_NS UINT64_C(500000000)
#define ROWS_DEFAULT 10u

struct top_args {
	struct wmk_cli_which which;
	bool batch, record, has_delay, has_limit;
	double delay;              /* seconds */
	uint64_t count, limit;
	const char *sort;
};

struct top_run {
	struct wmk_tail tail;
	struct wmk_top *top;
	int err;                   /* error of the last tick */
};

static enum wmk_read_still still(void *data)
{
	struct top_run *run = data;
	const int over = wmk_top_tick(run->top);

	run->err = over < 0 ? over : run->err;
	return over ? WMK_READ_OVER : run->tail.follow.still(run->tail.follow.data);
}

/* Do not print reports of damage on the screen. wmk_read_pipeline_result counts it. */
static void drop_damage(void *data, int err)
{
	(void)data;
	(void)err;
	wmk_error_clear();
}

static int read_all(const struct top_args *args, struct top_run *run, const char *path,
		    struct wmk_read_pipeline_result *done)
{
	const struct wmk_read_follow follow = { .patience_ns = PATIENCE_NS, .still = still, .data = run,
						.wake = wmk_top_wake(run->top) };
	struct wmk_read_pipeline_options options = { .form = &wmk_analysis_form, .print = WMK_PRINT_OPTIONS,
						     .whole = wmk_top_analysis(run->top), .follow = &follow,
						     .begin = args->which.begin, .end = args->which.end,
						     .damage = drop_damage };
	int err;

	if (args->batch)
		return wmk_cli_read(&args->which, &path, 1, &options, stdout, NULL, done);
	wmk_descriptor_limit_raise();
	err = wmk_read_pipeline_run(&path, 1, &options, stdout, done);
	return err;
}

/* `session` is NULL if `path` was given as a directory. */
static int show(const struct top_args *args, const char *session, const char *path)
{
	struct top_run run = { .err = 0 };
	struct wmk_top_options options = {
		.delay_ns = (uint64_t)((args->has_delay ? args->delay : DELAY_S) * 1e9),
		.count = args->count, .is_batch = args->batch, .json = args->which.common.json,
		.limit = args->has_limit ? args->limit : ROWS_DEFAULT, .sort = args->sort,
		.source = session ? session : path, .own = getpid(),
	};
	struct wmk_read_pipeline_result done = { 0, 0, 0 };
	int err = wmk_tail_open(&run.tail, session, PATIENCE_NS);

	if (err < 0)
		return err;
	options.wake = run.tail.follow.wake;
	err = wmk_top_open(&options, &run.top);
	if (err >= 0)
		err = read_all(args, &run, path, &done);
	if (err == -ECANCELED) {
		wmk_error_clear();
		err = 0;
	}
	err = err >= 0 ? run.err : err;
	if (err >= 0 && !run.tail.is_over)
		err = wmk_top_finish(run.top);
	wmk_top_close(run.top);
	wmk_tail_close(&run.tail);
	return err < 0 ? err : done.damages > 0;
}

static int show_own(const struct top_args *args)
{
	struct wmk_top_session session;
	int err = wmk_top_session_begin(&session);

	if (err >= 0)
		err = show(args, session.name, session.path);
	wmk_top_session_end(&session);
	return err;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Returns 1 if parts of the trace are damaged. */
static int choose(struct top_args *args, const char *argument)
{
	struct wmk_session_trace found;
	int err;

	if (args->record)
		return show_own(args);
	if (argument && (strchr(argument, '/') || is_directory(argument)))
		return show(args, NULL, argument);
	if (argument)
		args->which.common.session = argument;
	err = argument ? wmk_session_trace_named(&args->which.common, &found)
		       : wmk_session_trace_find(&args->which.common, &found);
	if (args->which.common.session)
		return err < 0 ? err : show(args, found.session, found.path);
	if (err >= 0 && found.active)
		return show(args, found.session, found.path);
	wmk_error_clear();
	return show_own(args);
}

static int run_top(void *data, char **rest, int n_rest)
{
	struct top_args *args = data;
	int err;

	if (n_rest > 1 || (n_rest && (args->record || args->which.common.session)))
		return wmk_error(-EINVAL, "unexpected argument \"%.60s\"", rest[n_rest - 1]);
	if (args->record && args->which.common.session)
		return wmk_error(-EINVAL, "--record and --session exclude each other");
	if (!args->batch && (args->which.common.json || args->has_limit))
		return wmk_error(-EINVAL, "%s needs --batch", args->which.common.json ? "--json" : "--limit");
	if (args->has_delay && args->delay < 0.01)
		return wmk_error(-EINVAL, "--delay is at least 0.01");
	err = choose(args, n_rest ? rest[0] : NULL);
	return err < 0 ? wmk_cli_failed() : err ? WMK_CLI_FAILED : 0;
}

static const char *const details[] = {
	"Follows the trace of a session, or a trace directory that is being written, and shows figures of the last "
	"interval: records and lost records; the use of CPUs by threads and processes; system calls and spans with "
	"their rates and durations; I/O of block devices by process; counters of applications; the events with the "
	"most records. A table needs the events of the analysis that has the same name. docs/analyze.md lists these "
	"events, and describes how each figure is computed.",
	"Without an argument, shows the current session if it records. Otherwise, and with --record, creates a "
	"temporary session, and destroys it and removes its trace at the end. This session records all events of "
	"applications and, for root, the scheduler, all system calls and the requests of "
	"block devices.",
	"Rates are counts of an interval divided by its length, measured by the times of the records. The first "
	"interval includes earlier records of the trace; --begin omits them. Kernel records of this command itself "
	"are left out; the use of CPUs in the header includes it. Threads that did not run are not shown.",
	"Keys: q quits; the arrows, PgUp and PgDn scroll; Tab shows the next table; F6 or > orders by the next column, "
	"< by the previous one; / selects rows by a part of their name; p pauses; h shows the keys.",
	"Ends when the session is stopped or destroyed, or when no process writes to the directory. On a terminal, "
	"the last figures remain visible until a key is pressed. The exit status is 1 if parts of the trace are "
	"damaged.",
	"With --batch --json, each line is an object: begin and length_ns of the interval, records, lost, and the "
	"tables totals, threads, processes, syscalls, spans, io, counters and events, as far as the trace has their "
	"events.",
	NULL
};

static const struct wmk_cli_option options[] = {
	WMK_CLI_OPTION_SESSION,
	{ 'd', "delay", "SECONDS", "Length of an interval. The default is 1.",
	  WMK_CLI_SECONDS(struct top_args, delay, DELAY_MAX_S), WMK_CLI_GIVEN(struct top_args, has_delay) },
	{ 'n', "count", "N", "End after N intervals.", WMK_CLI_NUMBER(struct top_args, count, UINT32_MAX) },
	{ 0, "record", NULL, "Record in a temporary session, even if the current session records.",
	  WMK_CLI_FLAG(struct top_args, record) },
	{ 0, "sort", "TEXT",
	  "Sort the tables that have this column by this column. Columns have their names in --json, for example "
	  "p99_ns.",
	  WMK_CLI_NAME(struct top_args, sort, "a column") },
	{ 0, "batch", NULL, "Print the tables of each interval as text, without the screen.",
	  WMK_CLI_FLAG(struct top_args, batch) },
	{ 0, "limit", "N", "With --batch: print at most N rows of each table. 0: all. The default is 10.",
	  WMK_CLI_NUMBER(struct top_args, limit, UINT32_MAX), WMK_CLI_GIVEN(struct top_args, has_limit) },
	WMK_CLI_OPTIONS_TIME,
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_top = {
	.name = "top",
	.arguments = "[SESSION|DIR]",
	.summary = "Show rates of records, CPU use, system calls and spans while they are recorded",
	.details = details,
	WMK_CLI_OPTIONS(options),
	.args_size = sizeof(struct top_args),
	.run = run_top,
};
