/* SPDX-License-Identifier: MIT */
/*
 * session.c - `waymark create`, `destroy`, `start`, `stop`, `clear`, `set-session`: a session's life.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/current.h"
#include "cli/daemon.h"
#include "cli/path.h"
#include "cli/session.h"
#include "cli/show.h"

/* The session of -s or of the one argument; with --all, none. */
static int which(struct wmk_session_args *args, char **rest, int n_rest)
{
	int err = wmk_cli_session_argument(&args->common, rest, n_rest);

	if (err == 0 && args->all && args->common.session)
		return wmk_error(-EINVAL, "--all and the name of a session do not go together");
	return err;
}

#define ARGUMENT "[SESSION]"
#define OPTION_ALL(help) { 'a', "all", NULL, help, WMK_CLI_FLAG(struct wmk_session_args, all) }

/* ── create ──────────────────────────────────────────────────────────────────────────────────────────── */

static int set_max_size(const struct wmk_cli_option *option, void *at, const char *value)
{
	int err = wmk_cli_store_size(option, at, value);

	return err == 0 && !*(uint64_t *)at ? wmk_error(-EINVAL, "--max-size 0: nothing could be recorded") : err;
}

static void make_current(const char *name)
{
	char text[8 * WMK_ERROR_LEN];

	if (wmk_current_set(name) < 0)
		wmk_cli_warn("%s; name the session by -s %s", wmk_error_text(text, sizeof(text)), name);
}

static int run_create(void *data, char **rest, int n_rest)
{
	struct wmk_session_args *args = data;
	char home[PATH_MAX], output[PATH_MAX], shm[PATH_MAX];
	struct waymark_ctl_create_options options = { .size = sizeof(options), .home = home };
	const struct waymark_ctl_session_info *session;
	struct wmk_daemon daemon = { 0 };
	int err = wmk_cli_session_argument(&args->common, rest, n_rest);

	if (err < 0)
		return err;
	err = wmk_current_home(home, sizeof(home));
	if (err == 0 && args->output)
		err = wmk_cli_absolute_path(args->output, output, sizeof(output));
	if (err == 0 && args->shm_path)
		err = wmk_cli_absolute_path(args->shm_path, shm, sizeof(shm));
	options.path = args->output ? output : NULL;
	options.shm_path = args->shm_path ? shm : NULL;
	options.name = args->common.session;
	options.max_size = args->max_size;
	options.trace_format = args->trace_format;
	options.clock = args->clock;
	options.no_statedump = args->no_statedump;
	options.description = args->description;
	if (err == 0)
		err = wmk_daemon_open(&daemon, &args->common, WMK_DAEMON_ANY);
	if (err == 0) {
		daemon.session[0] = '\0';        /* that there is none of that name is as it should be */
		err = wmk_daemon_did(&daemon, waymark_ctl_create(daemon.ctl, &options, &daemon.result));
	}
	session = err == 0 ? wmk_daemon_session(&daemon) : NULL;
	if (session) {
		make_current(session->name);
		if (!args->common.json)
			printf("Session %s: its trace will be in %s. `waymark enable-event` says what to record.\n",
			       session->name, wmk_cli_clean(session->path));
	}
	return wmk_daemon_close(&daemon, &args->common, err);
}

static const char *const create_details[] = {
	"A session is a name, a directory for its trace, and channels with events, which are enabled by other "
	"commands. Several sessions record at once without seeing each other. The new one becomes the current session, "
	"which the other commands mean when they are not told which; which one is current is kept for each user, in "
	"~/.waymark/session.",
	"Without a name, one is made from the time. The trace goes to ~/waymark-traces/NAME-YYYYmmdd-HHMMSS, or where "
	"--output says; WAYMARK_TRACE_DIR is for `waymark record` alone.",
	"With --max-size the session stops before its trace has more bytes. The size is that of all files together: "
	"streams of user and kernel channels, their indexes, and metadata. Three things may be above it: metadata of "
	"events that appear late, the head of an index, and the packet that reports how many records a stream has "
	"lost. `waymark clear` makes room, and `waymark start` resumes. To keep the latest records instead, give the "
	"channel --tracefile-size and --tracefile-count, or --overwrite.",
	"All records of a session have one clock, those of applications and those of the kernel, and stand in the true "
	"order. Some machines (aarch64) do not offer the counter of the processor to the kernel's tracers: there, a "
	"session with --clock=counter records applications only.",
	"With --shm-path the buffers into which programs of the session daemon's user record are files in a directory "
	"of their own below DIR, and not memory that is gone with the last process: when all have been killed, or the "
	"machine ended and DIR is on persistent memory, `waymark recover DIR` puts what they hold into the trace. DIR "
	"is made if it is not there; take one in memory (/dev/shm/...) or on persistent memory: to a disk the kernel "
	"writes all that changes. It must be the session daemon's user's, and a program that records dies if somebody "
	"cuts these files.",
	NULL
};

static const struct wmk_cli_option create_options[] = {
	{ 's', "session", "NAME", "The name, as well as by the argument.",
	  WMK_CLI_NAME(struct wmk_cli_common, session, "a session") },
	{ 'o', "output", "DIR", "The trace's directory.",
	  WMK_CLI_NAME(struct wmk_session_args, output, "a directory") },
	{ 0, "description", "TEXT", "What the session is for. `waymark list` shows it, and the trace has it.",
	  WMK_CLI_NAME(struct wmk_session_args, description, "a description") },
	WMK_SESSION_OPTION_FORMAT(struct wmk_session_args),
	WMK_SESSION_OPTION_CLOCK(struct wmk_session_args),
	WMK_SESSION_OPTION_NO_STATEDUMP(struct wmk_session_args),
	{ 0, "shm-path", "DIR", "Where buffers are files that outlive all processes; see `waymark recover`.",
	  WMK_CLI_NAME(struct wmk_session_args, shm_path, "a directory") },
	{ 0, "max-size", "SIZE", "Bytes that the trace may have, with k, M or G: then the session stops by itself.",
	  .store = set_max_size, WMK_CLI_AT(uint64_t, struct wmk_session_args, max_size) },
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_create = {
	.name = "create",
	.arguments = "[NAME]",
	.summary = "Make a session",
	.details = create_details,
	WMK_CLI_OPTIONS(create_options),
	.args_size = sizeof(struct wmk_session_args),
	.run = run_create,
};

/* ── destroy, stop ───────────────────────────────────────────────────────────────────────────────────── */

void wmk_session_tell_ends(const struct wmk_daemon *daemon, const char *what, bool print)
{
	const struct waymark_ctl_session_info *const *sessions;
	unsigned n = waymark_ctl_result_sessions(daemon->result, &sessions);

	for (unsigned i = 0; i < n; i++) {
		if (print) {
			printf("Session %s %s: ", sessions[i]->name, what);
			wmk_show_counts(sessions[i]);
		}
		wmk_show_unrecorded(sessions[i]);
		wmk_show_loss(sessions[i]);
	}
	if (!n && print)
		puts("There is no session.");
}

/* Of several, that of the current session goes first. */
void wmk_session_remember(const struct wmk_daemon *daemon)
{
	const struct waymark_ctl_session_info *const *sessions, *chosen = NULL;
	unsigned n = waymark_ctl_result_sessions(daemon->result, &sessions);
	char current[sizeof(daemon->session)] = "";

	if (wmk_current_get(current, sizeof(current)) < 0)
		wmk_error_clear();
	for (unsigned i = 0; i < n; i++)
		if (access(sessions[i]->path, F_OK) == 0 && (!chosen || strcmp(chosen->name, current) != 0))
			chosen = sessions[i];
	if (chosen)
		wmk_recorded_set(chosen->path);
}

static int end(struct wmk_session_args *args, char **rest, int n_rest,
	       int (*request)(struct waymark_ctl *, const char *, struct waymark_ctl_result **), const char *what,
	       bool destroyed)
{
	struct wmk_daemon daemon;
	int err = which(args, rest, n_rest);

	if (err < 0)
		return err;
	err = wmk_daemon_open(&daemon, &args->common, args->all ? WMK_DAEMON_ANY : WMK_DAEMON_SESSION);
	if (err == 0)
		err = wmk_daemon_did(&daemon, request(daemon.ctl, args->all ? NULL : daemon.session, &daemon.result));
	if (err == 0)
		wmk_session_tell_ends(&daemon, what, !args->common.json);
	if (err == 0 && destroyed)
		wmk_session_remember(&daemon);
	else if (err == 0)
		wmk_current_meant(args->all ? NULL : daemon.session);
	if (err == 0 && destroyed && wmk_current_forget(args->all ? NULL : daemon.session) < 0)
		wmk_error_clear();       /* it names one that is not there: the next command says so */
	return wmk_daemon_close(&daemon, &args->common, err);
}

static int run_destroy(void *data, char **rest, int n_rest)
{
	return end(data, rest, n_rest, waymark_ctl_destroy, "destroyed", true);
}

static int run_stop(void *data, char **rest, int n_rest)
{
	return end(data, rest, n_rest, waymark_ctl_stop, "stopped", false);
}

static const char *const destroy_details[] = {
	"The session stops, all that was recorded is written, and the session is forgotten. Its trace stays; `waymark "
	"view` shows it, until something else is recorded.",
	NULL
};

static const struct wmk_cli_option destroy_options[] = {
	WMK_CLI_OPTION_SESSION,
	OPTION_ALL("All of your sessions."),
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_destroy = {
	.name = "destroy",
	.arguments = ARGUMENT,
	.summary = "End a session, and say what became of its records",
	.details = destroy_details,
	WMK_CLI_OPTIONS(destroy_options),
	.args_size = sizeof(struct wmk_session_args),
	.run = run_destroy,
};

static const char *const stop_details[] = {
	"Programs record no longer, and all that was recorded is in the trace when the command returns. Tells how many "
	"records there are, how many were lost, and which option would have avoided it. `waymark start` goes on.",
	NULL
};

const struct wmk_cli_command wmk_cli_stop = {
	.name = "stop",
	.arguments = ARGUMENT,
	.summary = "Stop recording, and say what became of the records",
	.details = stop_details,
	WMK_CLI_OPTIONS(destroy_options),
	.args_size = sizeof(struct wmk_session_args),
	.run = run_stop,
};

/* ── start, clear ────────────────────────────────────────────────────────────────────────────────────── */

static int change(struct wmk_session_args *args, char **rest, int n_rest,
		  int (*request)(struct waymark_ctl *, const char *, struct waymark_ctl_result **), const char *what)
{
	const struct waymark_ctl_session_info *session;
	struct wmk_daemon daemon;
	int err = which(args, rest, n_rest);

	if (err < 0)
		return err;
	err = wmk_daemon_open(&daemon, &args->common, WMK_DAEMON_SESSION);
	if (err == 0)
		err = wmk_daemon_did(&daemon, request(daemon.ctl, daemon.session, &daemon.result));
	if (err == -ENODATA)
		wmk_error_add(err, "there is nothing to record: `waymark enable-event` says what");
	if (err == 0)
		wmk_current_meant(daemon.session);
	session = err == 0 ? wmk_daemon_session(&daemon) : NULL;
	if (session && !args->common.json)
		printf("Session %s %s %s\n", session->name, what, wmk_cli_clean(session->path));
	return wmk_daemon_close(&daemon, &args->common, err);
}

static int run_start(void *data, char **rest, int n_rest)
{
	return change(data, rest, n_rest, waymark_ctl_start, "records into");
}

static int run_clear(void *data, char **rest, int n_rest)
{
	return change(data, rest, n_rest, waymark_ctl_clear, "has forgotten what was in");
}

static const char *const start_details[] = {
	"Programs that run, and those that will be started, record the events that are enabled. Channels and events "
	"can be added later.",
	NULL
};

static const char *const clear_details[] = {
	"Empties the buffers and the trace, and goes on: what is recorded afterwards is all that there will be.",
	NULL
};

static const struct wmk_cli_option start_options[] = { WMK_CLI_OPTION_SESSION, WMK_CLI_OPTION_JSON };

const struct wmk_cli_command wmk_cli_start = {
	.name = "start",
	.arguments = ARGUMENT,
	.summary = "Begin to record, or go on",
	.details = start_details,
	WMK_CLI_OPTIONS(start_options),
	.args_size = sizeof(struct wmk_session_args),
	.run = run_start,
};

const struct wmk_cli_command wmk_cli_clear = {
	.name = "clear",
	.arguments = ARGUMENT,
	.summary = "Forget what a session has recorded so far",
	.details = clear_details,
	WMK_CLI_OPTIONS(start_options),
	.args_size = sizeof(struct wmk_session_args),
	.run = run_clear,
};

/* ── set-session ─────────────────────────────────────────────────────────────────────────────────────── */

static int run_set_session(void *data, char **rest, int n_rest)
{
	struct wmk_session_args *args = data;
	struct wmk_daemon daemon;
	int err = wmk_cli_session_argument(&args->common, rest, n_rest);

	if (err == 0 && !args->common.session)
		err = wmk_error(-EINVAL, "which session?");
	if (err < 0)
		return err;
	err = wmk_daemon_open(&daemon, &args->common, WMK_DAEMON_SESSION);
	if (err == 0)
		err = wmk_daemon_did(&daemon, waymark_ctl_list_sessions(daemon.ctl, daemon.session, &daemon.result));
	if (err == 0)
		err = wmk_current_set(daemon.session);
	if (err == 0 && !args->common.json)
		printf("The current session is %s.\n", daemon.session);
	return wmk_daemon_close(&daemon, &args->common, err);
}

static const char *const set_session_details[] = {
	"Commands that are not told which session they are about mean the current one. It is kept for each user, in "
	"~/.waymark/session.",
	NULL
};

static const struct wmk_cli_option set_session_options[] = { WMK_CLI_OPTION_JSON };

const struct wmk_cli_command wmk_cli_set_session_command = {
	.name = "set-session",
	.arguments = "SESSION",
	.summary = "Make a session the current one",
	.details = set_session_details,
	WMK_CLI_OPTIONS(set_session_options),
	.args_size = sizeof(struct wmk_session_args),
	.run = run_set_session,
};
