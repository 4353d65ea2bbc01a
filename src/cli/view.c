/* SPDX-License-Identifier: MIT */
/* view.c - `waymark view`: print the records of traces as text (read/pipeline.h), or start another trace viewer. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/child.h"
#include "cli/current.h"
#include "cli/daemon.h"
#include "cli/reading.h"
#include "cli/remote_traces.h"
#include "cli/session_trace.h"
#include "cli/tail.h"
#include "read/json.h"

#define PATIENCE_S 0.5
#define PATIENCE_MAX_S 1000000000u

struct view_args {
	struct wmk_cli_which which;
	const char *path, *viewer;
	bool has_names, has_fields, has_clock, no_pager, has_wait, uncertainty, uncorrected, symbols;
	double wait;               /* seconds */
	enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } color;
	enum { STYLE_COLUMNS, STYLE_BABELTRACE } style;
	enum wmk_print_clock clock; /* valid if has_clock */
	struct wmk_print_options print; /* `names` and `fields` are valid if has_names and has_fields */
};

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int set_names(const struct wmk_cli_option *option, void *at, const char *value)
{
	(void)option;
	return wmk_print_names(value, at);
}

static int set_fields(const struct wmk_cli_option *option, void *at, const char *value)
{
	(void)option;
	return wmk_print_fields(value, at);
}

/*
 * Find the latest trace. Returns false with an empty `why` if no trace is known, or with the reason in `why` if the
 * trace cannot be shown.
 */
static bool find_recorded(struct wmk_session_trace *found, bool *since, char *why, size_t size)
{
	char words[8 * WMK_ERROR_LEN];
	int err = wmk_recorded_get(found->path, sizeof(found->path), since);

	found->session[0] = why[0] = '\0';
	found->active = false;
	if (err == 0 && is_directory(found->path))
		return true;
	if (err == 0)
		snprintf(why, size, "the latest trace, %s, no longer exists",
			 wmk_cli_clean(found->path));
	else if (err != -ENOENT)
		snprintf(why, size, "cannot find the latest trace: %s",
			 wmk_error_text(words, sizeof(words)));
	wmk_error_clear();
	return false;
}

/*
 * Find the trace of the current session, unless `view` shows the latest trace instead. `is_known`: the path of the
 * latest trace is stored, so `view` can show the latest trace. Returns 1 if `found` contains the trace, 0 if no trace
 * was found, or -errno with a cause chain.
 */
static int try_current(const struct view_args *args, struct wmk_session_trace *found, bool is_known, bool since)
{
	char words[8 * WMK_ERROR_LEN], name[sizeof(found->session)];
	const bool is_named = wmk_current_get(name, sizeof(name)) == 0;
	int err;

	wmk_error_clear();
	err = wmk_session_trace_find(&args->which.common, found);
	if (err < 0 && !is_known)
		return is_named ? err : wmk_error_add(err, "no trace given, and no latest trace is known");
	if (err < 0 && is_named)
		wmk_cli_warn("cannot show the current session: %s", wmk_error_text(words, sizeof(words)));
	wmk_error_clear();
	return err == 0 &&
	       (!is_known || (args->which.common.follow && found->active) || (!since && is_directory(found->path)));
}

/*
 * Without an argument, find the trace of the current session or the latest trace, depending on which of them was used
 * last. If the trace that was used last does not exist, use the other trace. With --follow, prefer the session while it
 * records, because the latest trace is already complete.
 */
static int find_trace(const struct view_args *args, struct wmk_session_trace *found)
{
	struct wmk_session_trace recorded;
	char why[9 * WMK_ERROR_LEN];
	bool since, is_known = find_recorded(&recorded, &since, why, sizeof(why));
	int rc = 0;

	if (!is_known || !since || args->which.common.follow)
		rc = try_current(args, found, is_known, since);
	if (why[0] && (since || rc < 0))
		wmk_cli_warn("%s", why);
	if (rc)
		return rc;
	*found = recorded;
	wmk_cli_note("showing the latest trace: %s", wmk_cli_clean(found->path));
	return 0;
}

/* ── another reader ──────────────────────────────────────────────────────────────────────────────────── */

/* Arguments after the trace, and arguments that begin with '-', are passed to the viewer. */
static int run_viewer(const char *wanted, const char *trace, char **rest, int n_rest)
{
	char viewer[PATH_MAX], **argv;
	int n = 0, err = wmk_child_find(wanted, viewer, sizeof(viewer));

	if (err < 0)
		return wmk_cli_failed();
	argv = calloc((size_t)n_rest + 3, sizeof(*argv));
	if (argv) {
		argv[n++] = viewer;
		for (int i = 0; i < n_rest; i++)
			argv[n++] = rest[i];
		argv[n] = strdup(trace);
		fflush(stdout);
		execv(viewer, argv);
		err = errno;
		free(argv[n]);
		free(argv);
		errno = err;
	}
	wmk_error(-errno, "cannot run %s", viewer);
	return wmk_cli_failed();
}

/* ── text ────────────────────────────────────────────────────────────────────────────────────────────── */

/* (with JSON, the style has no effect; losses are reported in the style of babeltrace2) */
static bool is_columns(const struct view_args *args)
{
	return args->style == STYLE_COLUMNS && !args->which.common.json;
}

static enum wmk_print_clock clock_of(const struct view_args *args)
{
	if (args->has_clock)
		return args->clock;
	/* The options --clock-date and --clock-gmt select how times are printed. */
	return is_columns(args) && !args->print.date && !args->print.gmt ? WMK_PRINT_RELATIVE : WMK_PRINT_TIME;
}

/* `session` is the session to which the trace belongs, or NULL. */
static int show_local(struct view_args *args, const char *session, const char *const *paths, unsigned n)
{
	const bool follows = args->which.common.follow, pages = !args->no_pager && !follows;
	static const struct wmk_print_options defaults = WMK_PRINT_OPTIONS;
	struct wmk_read_pipeline_options options = { .print = args->print,
						     .form = args->which.common.json ? &wmk_read_json : NULL,
						     .uncertainty = args->uncertainty,
						     .uncorrected = args->uncorrected };
	struct wmk_read_symbolizer symbolizer = { .find = wmk_symbols_find };
	struct wmk_read_pipeline_result done;
	struct wmk_symbols *symbols = NULL;
	struct wmk_pager pager = { 0 };
	struct wmk_tail tail;
	int err;

	if (follows && wmk_tail_open(&tail, session, (uint64_t)((args->has_wait ? args->wait : PATIENCE_S) * 1e9)) < 0)
		return wmk_cli_failed();
	options.follow = follows ? &tail.follow : NULL;
	if (!args->has_names)
		options.print.names = defaults.names;
	if (!args->has_fields)
		options.print.fields = defaults.fields;
	options.print.style = is_columns(args) ? WMK_PRINT_COLUMNS : WMK_PRINT_BABELTRACE;
	options.print.clock = clock_of(args);
	options.print.color =
		args->color == COLOR_ALWAYS || (args->color == COLOR_AUTO && *wmk_cli_color(stdout, WMK_CLI_BOLD));
	err = args->symbols ? wmk_cli_symbols(paths, n, &symbols) : 0;
	symbolizer.data = symbols;
	options.symbols = symbols ? &symbolizer : NULL;
	if (err >= 0)
		err = wmk_cli_read(&args->which, paths, n, &options, stdout, pages ? &pager : NULL, &done);
	wmk_symbols_free(symbols);
	if (err >= 0 && fflush(stdout) != 0)
		err = wmk_error(-errno, "cannot write the records");
	if (follows)
		wmk_tail_close(&tail);
	/* It is not a failure if the user quits the pager before the end. */
	if (err == -EPIPE && pager.pid) {
		wmk_error_clear();
		err = 0;
	}
	wmk_pager_end(&pager);
	if (err < 0)
		return wmk_cli_failed();
	return done.damages ? WMK_CLI_FAILED : 0;
}

/* Like show_local(), but the paths can also be URLs of sessions at relays. */
static int show(struct view_args *args, const char *session, const char *const *paths, unsigned n)
{
	struct wmk_remote_traces remote;
	int rc;

	if (wmk_remote_traces_open(&remote, paths, n, args->which.common.follow) < 0)
		return wmk_cli_failed();
	rc = show_local(args, session, remote.paths, n);
	return wmk_remote_traces_close(&remote) < 0 ? wmk_cli_failed() : rc;
}

/* Reject options that need another option, and options that are incompatible with another option. */
static int check_options(const struct view_args *args)
{
	if (args->has_wait && !args->which.common.follow)
		return wmk_error(-EINVAL, "--wait needs --follow");
	if (is_columns(args) && (args->has_names || args->has_fields || args->print.no_delta))
		return wmk_error(-EINVAL, "%s needs --style=babeltrace",
				 args->has_names ? "--names" : args->has_fields ? "--fields" : "--no-delta");
	if (!is_columns(args) && args->print.all)
		return wmk_error(-EINVAL, "cannot combine --all with --json or --style=babeltrace: both print all "
					  "records");
	if (!is_columns(args) && args->has_clock && args->clock == WMK_PRINT_RELATIVE)
		return wmk_error(-EINVAL, "--clock=relative needs --style=columns");
	if (args->symbols && args->which.common.follow)
		return wmk_error(-EINVAL, "--symbols and --follow exclude each other: view reads the object files of "
					  "all processes before the first record");
	if (args->viewer && args->which.common.follow)
		return wmk_error(-EINVAL, "--viewer and --follow exclude each other");
	return 0;
}

static int run_view(void *data, char **rest, int n_rest)
{
	struct view_args *args = data;
	struct wmk_session_trace found = { .session = "" };
	const char *one = found.path;
	bool is_argument = false;
	int err;

	if (check_options(args) < 0) {
		wmk_cli_failed();
		return WMK_CLI_USAGE;
	}
	/* The first argument is a trace or the name of a session. */
	if (n_rest && rest[0][0] != '-' && !args->path && !args->which.common.session) {
		if (!strchr(rest[0], '/') && !is_directory(rest[0])) {
			args->which.common.session = *rest++;
			is_argument = true;
			n_rest--;
		} else if (args->viewer) {
			args->path = *rest++;
			n_rest--;
		}
	}
	if (args->path && wmk_mirror_is_url(args->path) && !n_rest && !args->viewer)
		return show(args, NULL, &args->path, 1);
	if (!args->path && !args->which.common.session && n_rest && !args->viewer)
		return show(args, NULL, (const char *const *)rest, (unsigned)n_rest);
	if (args->path)
		err = snprintf(found.path, sizeof(found.path), "%s", args->path);
	else if (is_argument)
		err = wmk_session_trace_named(&args->which.common, &found);
	else if (args->which.common.session)
		err = wmk_session_trace_find(&args->which.common, &found);
	else
		err = find_trace(args, &found);
	if (err < 0)
		return wmk_cli_failed();
	/* (for a session that records, the first application creates the directory) */
	if (!is_directory(found.path) && !(args->which.common.follow && found.active)) {
		wmk_error(-EINVAL, args->path ? "cannot view %.240s: no such directory" :
			  found.active ? "no trace yet in %.240s: no application has registered" :
			  "no trace yet in %.240s: the session does not record (run `waymark start`)", found.path);
		return wmk_cli_failed();
	}
	if (args->viewer)
		return run_viewer(args->viewer, found.path, rest, n_rest);
	if (n_rest) {
		wmk_error(-EINVAL, "unexpected argument \"%.60s\": the session or --trace-path already selects the "
				   "trace", rest[0]);
		wmk_cli_failed();
		return WMK_CLI_USAGE;
	}
	return show(args, *found.session ? found.session : NULL, &one, 1);
}

static const char *const details[] = {
	"Prints the event records of a session, stopped or recording, or of any traces in Common Trace Format 1.8 or "
	"2. Reads all traces in and below the directories. Prints one line per record, in time order. For a trace that "
	"is being written, prints the records that have been written so far.",
	"A line has these columns, without those for which the traces have no data: the time since the first record of "
	"the traces, the CPU, the host if there are several, process and thread (name/process, or "
	"name/process/thread), the event, and its context and fields. --all adds the records of state dumps and the "
	"values of packets. The text is the same on a terminal and in a pipe, except for colours. --style=babeltrace "
	"prints lines like those of babeltrace2.",
	"Without a session or directory, shows either the current session or the latest trace, depending on which was "
	"used last. The latest trace is the trace of the last `waymark record`, or of the session that was destroyed "
	"last. The commands create, load, set-session, start, stop and clear count as a use of the current session; "
	"record and destroy count as a use of the latest trace. If view shows the latest trace, it prints the path on "
	"standard error. With --follow, view prefers the current session while the session records.",
	"Damaged parts of a trace are reported on standard error with their position. The rest is printed, and the "
	"exit status is 1. Lost records are reported there, too, after the records that precede them.",
	"With --follow, records are printed as they are written, until Ctrl-C. For a session, view also ends when the "
	"session is stopped or destroyed. For directories, view also ends when no process writes the traces. While a "
	"reader follows a trace, its records are written within 10 to 50 ms. A record that arrives after newer records "
	"of other CPUs have been printed is printed out of order; --wait sets how long to wait for such records. A "
	"trace of another tracer is read only up to its current end, because the trace does not show whether it is "
	"still being written.",
	"Times are corrected by the sync points that the consumer daemon writes to the trace. With --uncertainty, each "
	"line begins with the maximum error of its time. A `?` follows if the record may be older than a record of "
	"another clock that was printed before: the difference of their times is less than their uncertainties. All "
	"traces of one boot share one clock. If the trace has no sync points, the uncertainty is `?`.",
	"If traces of several hosts are read, each line has the host. Traces at a relay contain measurements of the "
	"relay's clock. All times are then in the relay's clock, and a `?` before the time marks a record with an "
	"unknown order, also without --uncertainty. Examples: waymark view /var/lib/waymark-relay, waymark view "
	"tls://relay. With --follow, and with --style=babeltrace without --uncertainty, times are in the clock of each "
	"host.",
	"If the real-time clock was set during recording, the printed times jump at that point. The order of the "
	"records does not change. --begin and --end use times without jumps, which equal real time after the last "
	"jump.",
	"With tls://RELAY[:PORT]/HOST/SESSION, shows a session at a relay (waymark-relayd), also while the session "
	"still records. The files of the session are copied to a temporary directory below $TMPDIR or /tmp, which is "
	"removed at the end. The viewer needs a certificate, which `waymark relay enroll NAME --viewer` creates at the "
	"relay. tcp://127.0.0.1:PORT/HOST/SESSION is for a relay on the same machine. Without SESSION, view shows all "
	"sessions of the host. Without HOST, view shows all sessions of all hosts that the certificate allows.",
	"With --json, each line is an object: time (seconds since 1970, as a string), trace, stream, event, level, "
	"packet, context, event_context, fields. An enumeration is an object with the members label and value. With "
	"--uncertainty, each object has the members uncertainty (seconds, as a string, or null) and order_unknown. If "
	"traces of several hosts are read, each object has the member host, and order_unknown if the times are in a "
	"relay's clock.",
	"With --viewer, arguments after `--` are passed to the viewer: waymark view --viewer babeltrace2 -- "
	"--clock-date.",
	NULL
};

/* (an option of the kind constant stores one byte; the macro below stores the whole enumeration) */
static int set_clock(const struct wmk_cli_option *option, void *at, const char *value)
{
	(void)value;
	*(enum wmk_print_clock *)at = (enum wmk_print_clock)option->max;
	return 0;
}

#define VIEW_CLOCK(number) \
	.store = set_clock, WMK_CLI_AT(enum wmk_print_clock, struct view_args, clock), .max = (number), \
	WMK_CLI_GIVEN(struct view_args, has_clock)

static const struct wmk_cli_option options[] = {
	WMK_CLI_OPTION_SESSION_NAMED("The session."),
	{ 't', "trace-path", "DIR", "Show the traces in this directory instead of a session.",
	  WMK_CLI_NAME(struct view_args, path, "a directory") },
	WMK_CLI_OPTIONS_WHICH,
	WMK_CLI_OPTION_FOLLOW("Print records as they are written to the traces, without a pager."),
	{ 0, "wait", "SECONDS",
	  "With --follow: the maximum time that records wait for older records of a silent stream. The default is 0.5.",
	  WMK_CLI_SECONDS(struct view_args, wait, PATIENCE_MAX_S), WMK_CLI_GIVEN(struct view_args, has_wait) },
	{ 0, "style", "STYLE", "The style of the lines: columns (the default), or babeltrace (the format of "
			       "babeltrace2).",
	  WMK_CLI_CHOICE(struct view_args, style, "columns babeltrace",
			 "unknown style '@': the styles are columns and babeltrace") },
	{ 'a', "all", NULL, "Also print the records of state dumps and the values of packets.",
	  WMK_CLI_FLAG(struct view_args, print.all) },
	{ 0, "clock", "CLOCK",
	  "The times to print: abs (time of day), seconds (since 1970), cycles (values of the trace's clock), or "
	  "relative (since the first record of the traces). The default is relative in columns, otherwise abs.",
	  WMK_CLI_CHOICE(struct view_args, clock, "abs seconds cycles relative",
			 "unknown clock '@': the values are abs, seconds, cycles and relative"),
	  WMK_CLI_GIVEN(struct view_args, has_clock) },
	{ 0, "clock-seconds", NULL, "The same as --clock=seconds.", VIEW_CLOCK(WMK_PRINT_SECONDS) },
	{ 0, "clock-cycles", NULL, "The same as --clock=cycles.", VIEW_CLOCK(WMK_PRINT_CYCLES) },
	{ 0, "clock-date", NULL, "Print times with the date.", WMK_CLI_FLAG(struct view_args, print.date) },
	{ 0, "clock-gmt", NULL, "Print times in UTC instead of the local time zone.",
	  WMK_CLI_FLAG(struct view_args, print.gmt) },
	{ 0, "clock-metadata", NULL,
	  "Compute times from the metadata alone, as other readers do, without the sync points of the trace. Implied "
	  "by --style=babeltrace, except with --uncertainty.",
	  WMK_CLI_FLAG(struct view_args, uncorrected) },
	{ 0, "uncertainty", NULL,
	  "Print before each record the uncertainty of its time in seconds, and a `?` if its order is unknown.",
	  WMK_CLI_FLAG(struct view_args, uncertainty) },
	{ 0, "no-delta", NULL, "With --style=babeltrace: do not print the time since the previous record.",
	  WMK_CLI_FLAG(struct view_args, print.no_delta) },
	{ 'n', "names", "NAMES",
	  "With --style=babeltrace: names to print, separated by commas: none, all, scope, header, context, payload. "
	  "The default is payload,context.",
	  .choices = "none all scope header context payload", .choose_many = true, .store = set_names,
	  WMK_CLI_AT(uint8_t, struct view_args, print.names), WMK_CLI_GIVEN(struct view_args, has_names) },
	{ 'f', "fields", "FIELDS",
	  "With --style=babeltrace: additional fields to print, separated by commas: all, trace, trace:hostname, "
	  "trace:domain, trace:procname, trace:vpid, loglevel, emf. The default is "
	  "trace:hostname,trace:procname,trace:vpid.",
	  .choose_many = true,
	  .choices = "all trace trace:hostname trace:domain trace:procname trace:vpid loglevel emf",
	  .store = set_fields, WMK_CLI_AT(uint8_t, struct view_args, print.fields),
	  WMK_CLI_GIVEN(struct view_args, has_fields) },
	{ 0, "color", "WHEN", "Use colours: auto (on a terminal, unless NO_COLOR is set), always, never.",
	  WMK_CLI_CHOICE(struct view_args, color, "auto always never",
			 "unknown value '@': the values are auto, always and never") },
	{ 0, "symbols", NULL, WMK_CLI_HELP_SYMBOLS, WMK_CLI_FLAG(struct view_args, symbols) },
	{ 0, "no-pager", NULL,
	  "Print without a pager. On a terminal, the default pager is $WAYMARK_PAGER, else $PAGER, else less.",
	  WMK_CLI_FLAG(struct view_args, no_pager) },
	WMK_CLI_OPTION_JSON,
	{ 'e', "viewer", "PROGRAM", "Show the trace with this program. Its last argument is the trace directory.",
	  WMK_CLI_NAME(struct view_args, viewer, "a program") },
};

const struct wmk_cli_command wmk_cli_view = {
	.name = "view",
	.arguments = "[SESSION | DIR... | tls://RELAY[/HOST[/SESSION]]...] [-- ARGUMENT...]",
	.summary = "Print the event records of traces",
	.details = details,
	WMK_CLI_OPTIONS(options),
	.args_size = sizeof(struct view_args),
	.run = run_view,
};
