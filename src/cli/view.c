/* SPDX-License-Identifier: MIT */
/*
 * view.c - `waymark view`: the records of traces as text (read/pipeline.h), or by another reader that is asked for.
 */
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
#include "cli/tail.h"
#include "read/json.h"

#define PATIENCE_S 0.5
#define PATIENCE_MAX_S 1000000000u

struct view_args {
	struct wmk_cli_which which;
	const char *path, *viewer;
	bool has_names, has_fields, no_pager, has_wait;
	double wait;               /* seconds */
	enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } color;
	struct wmk_print_options print; /* `names` and `fields` where they were given */
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

/* A session's trace. */
struct found {
	char path[PATH_MAX], session[sizeof(((struct wmk_daemon *)0)->session)];
	bool active;
};

/* The trace of the session that is named, else of the current one. -errno with a cause chain. */
static int find_session(const struct wmk_cli_common *common, struct found *found)
{
	struct wmk_cli_common quiet = *common;
	const struct waymark_ctl_session_info *session;
	struct wmk_daemon daemon;
	int err = wmk_daemon_open(&daemon, common, WMK_DAEMON_SESSION);

	if (err == 0)
		err = wmk_daemon_did(&daemon, waymark_ctl_list_sessions(daemon.ctl, daemon.session, &daemon.result));
	session = err == 0 ? wmk_daemon_session(&daemon) : NULL;
	snprintf(found->path, sizeof(found->path), "%s", session ? session->path : "");
	snprintf(found->session, sizeof(found->session), "%s", session ? session->name : "");
	found->active = session && session->active;
	/* JSON is asked for of the records. */
	quiet.json = false;
	wmk_daemon_close(&daemon, &quiet, 0);
	return err;
}

/*
 * The same for an argument, which may be a trace or a session: it is no directory. Without a session daemon there are
 * no sessions. Else the chain keeps what the daemon replied.
 */
static int find_named(const struct wmk_cli_common *common, struct found *found)
{
	const char *what = access(common->session, F_OK) == 0 ? "is a file, but a trace is a directory"
		: "is no directory";
	char words[WMK_ERROR_DEPTH * WMK_ERROR_LEN];
	const char *reply;
	int err = find_session(common, found);

	if (err == 0)
		return 0;
	reply = strstr(wmk_error_text(words, sizeof(words)), "there is no session");
	if (err == -ENOENT && reply)
		return wmk_error_add(wmk_error_said(err, "%s", reply), "no such trace or session: '%.60s' %s",
				     common->session, what);
	if (err == -ENOENT || err == -ECONNREFUSED)
		return wmk_error_said(err, "no such trace or session: '%.60s' %s, and no session has this name",
				      common->session, what);
	return wmk_error_add(err, "no such trace: '%.60s' %s; sessions cannot be listed", common->session, what);
}

/* The trace that was recorded last; false: none is known, or, as `why` says then, it cannot be shown. */
static bool find_recorded(struct found *found, bool *since, char *why, size_t size)
{
	char words[8 * WMK_ERROR_LEN];
	int err = wmk_recorded_get(found->path, sizeof(found->path), since);

	found->session[0] = why[0] = '\0';
	found->active = false;
	if (err == 0 && is_directory(found->path))
		return true;
	if (err == 0)
		snprintf(why, size, "the trace that was recorded last, %s, is not there any more",
			 wmk_cli_clean(found->path));
	else if (err != -ENOENT)
		snprintf(why, size, "which trace was recorded last is not known: %s",
			 wmk_error_text(words, sizeof(words)));
	wmk_error_clear();
	return false;
}

/*
 * The current session, where it is meant; else what was recorded last remains (`is_known`). 1: it is in `found`; 0:
 * not; -errno with a cause chain.
 */
static int try_current(const struct view_args *args, struct found *found, bool is_known, bool since)
{
	char words[8 * WMK_ERROR_LEN], name[sizeof(found->session)];
	const bool is_named = wmk_current_get(name, sizeof(name)) == 0;
	int err;

	wmk_error_clear();
	err = find_session(&args->which.common, found);
	if (err < 0 && !is_known)
		return is_named ? err : wmk_error_add(err, "which trace? None is known that was recorded last");
	if (err < 0 && is_named)
		wmk_cli_warn("the current session cannot be shown: %s", wmk_error_text(words, sizeof(words)));
	wmk_error_clear();
	return err == 0 &&
	       (!is_known || (args->which.common.follow && found->active) || (!since && is_directory(found->path)));
}

/*
 * None was named: the current session's, or the one that was recorded last, whichever was meant later; the other one
 * where that is not there. What is followed is the session, if it records: nothing comes to the other one.
 */
static int find_trace(const struct view_args *args, struct found *found)
{
	struct found recorded;
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
	wmk_cli_say("the trace that was recorded last: %s", wmk_cli_clean(found->path));
	return 0;
}

/* ── another reader ──────────────────────────────────────────────────────────────────────────────────── */

/* What follows the trace, and what begins with '-', is the viewer's. */
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

/* ── our own ─────────────────────────────────────────────────────────────────────────────────────────── */

/* `session`: whose trace it is, or NULL. */
static int show(struct view_args *args, const char *session, const char *const *paths, unsigned n)
{
	const bool follows = args->which.common.follow, pages = !args->no_pager && !follows;
	static const struct wmk_print_options defaults = WMK_PRINT_OPTIONS;
	struct wmk_read_pipeline_options options = { .print = args->print,
						     .form = args->which.common.json ? &wmk_read_json : NULL };
	struct wmk_read_pipeline_result done;
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
	options.print.color =
		args->color == COLOR_ALWAYS || (args->color == COLOR_AUTO && *wmk_cli_color(stdout, WMK_CLI_BOLD));
	err = wmk_cli_read(&args->which, paths, n, &options, stdout, pages ? &pager : NULL, &done);
	if (err >= 0 && fflush(stdout) != 0)
		err = wmk_error(-errno, "cannot write the records");
	if (follows)
		wmk_tail_close(&tail);
	/* The pager was left before the end: that is no failure. */
	if (err == -EPIPE && pager.pid) {
		wmk_error_clear();
		err = 0;
	}
	wmk_pager_end(&pager);
	if (err < 0)
		return wmk_cli_failed();
	return done.damages ? WMK_CLI_FAILED : 0;
}

/* Options that say nothing where others are given, or are not. */
static int check_options(const struct view_args *args)
{
	if (args->has_wait && !args->which.common.follow)
		return wmk_error(-EINVAL, "--wait is for --follow");
	if (args->viewer && args->which.common.follow)
		return wmk_error(-EINVAL, "with --viewer nothing is followed");
	return 0;
}

static int run_view(void *data, char **rest, int n_rest)
{
	struct view_args *args = data;
	struct found found = { .session = "" };
	const char *one = found.path;
	bool is_argument = false;
	int err;

	if (check_options(args) < 0) {
		wmk_cli_failed();
		return WMK_CLI_USAGE;
	}
	/* The first argument may be a trace, or a session. */
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
	if (!args->path && !args->which.common.session && n_rest && !args->viewer)
		return show(args, NULL, (const char *const *)rest, (unsigned)n_rest);
	if (args->path)
		err = snprintf(found.path, sizeof(found.path), "%s", args->path);
	else if (is_argument)
		err = find_named(&args->which.common, &found);
	else if (args->which.common.session)
		err = find_session(&args->which.common, &found);
	else
		err = find_trace(args, &found);
	if (err < 0)
		return wmk_cli_failed();
	/* (of one that records the first program makes it) */
	if (!is_directory(found.path) && !(args->which.common.follow && found.active)) {
		wmk_error(-EINVAL, args->path ? "cannot view %.240s: there is no such directory" :
			  "nothing is in %.240s yet: `waymark start` lets the session record", found.path);
		return wmk_cli_failed();
	}
	if (args->viewer)
		return run_viewer(args->viewer, found.path, rest, n_rest);
	if (n_rest) {
		wmk_error(-EINVAL, "'%.60s' is too much: with a session or --trace-path, that one is shown", rest[0]);
		wmk_cli_failed();
		return WMK_CLI_USAGE;
	}
	return show(args, *found.session ? found.session : NULL, &one, 1);
}

static const char *const details[] = {
	"Prints the event records of a session that has stopped, or that still records, or of any traces in Common "
	"Trace Format 1.8 or 2, whoever wrote them: all that is at and below the directories, in the order of time, a "
	"line for each record. Of what is still written that is what is there now.",
	"Where neither a session nor a directory is named, it is the trace of the current session, or the one that was "
	"recorded last, by `waymark record` or in a session that was destroyed: what was used later, the session by "
	"create, load, set-session, start, stop or clear, or the trace by record or destroy. If it is the trace, "
	"standard error says which. With --follow, the session goes first while it records.",
	"What is damaged is said on standard error, with its place; the rest is shown, and the exit status is 1. What "
	"was lost while it was recorded is said there too, behind the records before it.",
	"With --follow, of traces that are being written, records are shown as they come, until Ctrl-C, until the "
	"session has stopped or is destroyed, or, of directories, until nobody writes them any more. A record comes to "
	"the files when the sub-buffer that it is in is full (of each CPU one; 1 MiB unless enable-channel or record "
	"have another --subbuf-size), and when the session stops: of programs that record little, small sub-buffers "
	"show it soon. Where a CPU's records come so late that those of others, which are younger, have been shown, "
	"they are shown behind them; --wait says how long it is waited for them. What other tracers write is followed "
	"to where it ends now, as only ours tell that they still write.",
	"With --json, a line is an object: time (seconds since 1970, as a string), trace, stream, event, level, "
	"packet, context, event_context, fields. Enumerations are objects of label and value.",
	"With --viewer, what follows `--` is for that reader: waymark view --viewer babeltrace2 -- --clock-date.",
	NULL
};

static const struct wmk_cli_option options[] = {
	WMK_CLI_OPTION_SESSION_NAMED("The session."),
	{ 't', "trace-path", "DIR", "The traces in this directory, instead of a session's.",
	  WMK_CLI_NAME(struct view_args, path, "a directory") },
	WMK_CLI_OPTIONS_WHICH,
	WMK_CLI_OPTION_FOLLOW("Show records as they come, while the traces are written. There is no pager then."),
	{ 0, "wait", "SECONDS", "With --follow: how long records wait for older ones of a stream to which nothing "
	  "comes. The default is 0.5.", WMK_CLI_SECONDS(struct view_args, wait, PATIENCE_MAX_S),
	  WMK_CLI_GIVEN(struct view_args, has_wait) },
	{ 0, "clock-seconds", NULL, "Times as seconds since 1970.",
	  WMK_CLI_CONSTANT(struct view_args, print.clock, WMK_PRINT_SECONDS) },
	{ 0, "clock-cycles", NULL, "Times as the clock's own values.",
	  WMK_CLI_CONSTANT(struct view_args, print.clock, WMK_PRINT_CYCLES) },
	{ 0, "clock-date", NULL, "Times with the date.", WMK_CLI_FLAG(struct view_args, print.date) },
	{ 0, "clock-gmt", NULL, "Times of UTC, not of the local time zone.",
	  WMK_CLI_FLAG(struct view_args, print.gmt) },
	{ 0, "no-delta", NULL, "No time since the record before.", WMK_CLI_FLAG(struct view_args, print.no_delta) },
	{ 'n', "names", "NAMES", "Names to show, with commas between: none, all, scope, header, context, payload. The "
	  "default is payload,context.", .choices = "none all scope header context payload", .choose_many = true,
	  .store = set_names, WMK_CLI_AT(uint8_t, struct view_args, print.names),
	  WMK_CLI_GIVEN(struct view_args, has_names) },
	{ 'f', "fields", "FIELDS", "What to show besides, with commas between: all, trace, trace:hostname, "
	  "trace:domain, trace:procname, trace:vpid, loglevel, emf. The default is "
	  "trace:hostname,trace:procname,trace:vpid.", .choose_many = true,
	  .choices = "all trace trace:hostname trace:domain trace:procname trace:vpid loglevel emf",
	  .store = set_fields, WMK_CLI_AT(uint8_t, struct view_args, print.fields),
	  WMK_CLI_GIVEN(struct view_args, has_fields) },
	{ 0, "color", "WHEN", "Colours: auto (on a terminal, unless NO_COLOR is set), always, never.",
	  WMK_CLI_CHOICE(struct view_args, color, "auto always never", "'@' is none of auto, always, never") },
	{ 0, "no-pager", NULL, "Straight to the terminal. Else $WAYMARK_PAGER, or $PAGER, or less shows it there, page "
	  "by page.", WMK_CLI_FLAG(struct view_args, no_pager) },
	WMK_CLI_OPTION_JSON,
	{ 'e', "viewer", "PROGRAM", "Show it by this program. It gets the trace's directory as its last argument.",
	  WMK_CLI_NAME(struct view_args, viewer, "a program") },
};

const struct wmk_cli_command wmk_cli_view = {
	.name = "view",
	.arguments = "[SESSION | DIR...] [-- ARGUMENT...]",
	.summary = "Show the event records of traces",
	.details = details,
	WMK_CLI_OPTIONS(options),
	.args_size = sizeof(struct view_args),
	.run = run_view,
};
