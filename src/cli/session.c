/* SPDX-License-Identifier: MIT */
/*
 * session.c - `waymark create`, `destroy`, `start`, `stop`, `clear`, `rotate`, `set-session`.
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
#include "wire/ctl.h"

/* Take the session from -s or from the argument; both are incompatible with --all and --glob. */
static int which(struct wmk_session_args *args, char **rest, int n_rest)
{
	int err = wmk_cli_session_argument(&args->common, rest, n_rest);

	if (err == 0 && args->all && args->glob)
		return wmk_error(-EINVAL, "--all and --glob exclude each other");
	if (err == 0 && (args->all || args->glob) && args->common.session)
		return wmk_error(-EINVAL, "%s and a session \"%.40s\" exclude each other",
				 args->all ? "--all" : "--glob", args->common.session);
	return err;
}

/* Send a request to the selected session, or to the sessions that --all or --glob selects. */
static int request_sessions(struct wmk_daemon *daemon, const struct wmk_session_args *args, uint32_t request)
{
	const bool one = !args->all && !args->glob;
	const struct waymark_ctl_sessions_options options = {
		.size = sizeof(options),
		.request = request,
		.session = one ? daemon->session : NULL,
		.glob = args->glob,
		.no_wait = args->no_wait,
	};
	int err = wmk_daemon_open(daemon, &args->common, one ? WMK_DAEMON_SESSION : WMK_DAEMON_ANY);

	return err == 0 ? wmk_daemon_did(daemon, waymark_ctl_on_sessions(daemon->ctl, &options, &daemon->result)) : err;
}

/* Call `use` for each session in the daemon's result. */
static void each_session(const struct wmk_daemon *daemon, void (*use)(const char *name))
{
	const struct waymark_ctl_session_info *const *sessions;
	unsigned n = waymark_ctl_result_sessions(daemon->result, &sessions);

	for (unsigned i = 0; i < n; i++)
		use(sessions[i]->name);
}

#define ARGUMENT "[SESSION]"
#define OPTION_ALL(help) { 'a', "all", NULL, help, WMK_CLI_FLAG(struct wmk_session_args, all) }
#define OPTION_GLOB \
	WMK_CLI_OPTION_GLOB(struct wmk_session_args, \
			    "Your sessions with a name that matches this pattern: * ? [a-z] [!a-z].")
#define OPTION_NO_WAIT \
	{ 'n', "no-wait", NULL, "Do not wait until the last records are written. The session daemon writes them " \
	  "later; the printed counts do not include them.", WMK_CLI_FLAG(struct wmk_session_args, no_wait) }

/* ── create ──────────────────────────────────────────────────────────────────────────────────────────── */

static int set_max_size(const struct wmk_cli_option *option, void *at, const char *value)
{
	int err = wmk_cli_store_size(option, at, value);

	return err == 0 && !*(uint64_t *)at ? wmk_error(-EINVAL, "--max-size 0: the minimum is 1") : err;
}

static int set_live(const struct wmk_cli_option *option, void *at, const char *value)
{
	if (value)
		return wmk_cli_store_microseconds(option, at, value);
	*(int64_t *)at = WMK_CTL_FLUSH_DEFAULT_US;
	return 0;
}

static void make_current(const char *name)
{
	char text[8 * WMK_ERROR_LEN];

	if (wmk_current_set(name) < 0)
		wmk_cli_warn("%s; select the session with -s %s", wmk_error_text(text, sizeof(text)), name);
}

/*
 * Remove the snapshot output of the session that was just created. If the output cannot be removed, destroy the
 * session.
 */
static int remove_output(struct wmk_daemon *daemon)
{
	const struct waymark_ctl_session_info *session = wmk_daemon_session(daemon);
	char name[sizeof(daemon->session)] = "";
	int err;

	if (session)
		snprintf(name, sizeof(name), "%s", session->name);
	wmk_daemon_drop(daemon);
	err = wmk_daemon_did(daemon, waymark_ctl_snapshot_del_output(daemon->ctl, name, NULL, &daemon->result));
	if (err < 0)
		waymark_ctl_destroy(daemon->ctl, name, NULL);
	return err;
}

static void tell_created(const struct waymark_ctl_session_info *session, bool no_output)
{
	if (no_output)
		printf("Session %s writes nothing; `waymark snapshot record DIR` writes what its buffers hold. "
		       "`waymark enable-event` adds events to record.\n", session->name);
	else if (*session->url)
		printf("Session %s: its trace will be sent to %s. `waymark enable-event` adds events to record.\n",
		       session->name, wmk_cli_clean(session->url));
	else
		printf("Session %s: its %s will be in %s. `waymark enable-event` adds events to record.\n",
		       session->name, session->snapshot ? "snapshots" : "trace", wmk_cli_clean(session->path));
}

static int run_create(void *data, char **rest, int n_rest)
{
	struct wmk_session_args *args = data;
	char home[PATH_MAX], output[PATH_MAX], shm[PATH_MAX];
	struct waymark_ctl_create_options options = { .size = sizeof(options), .home = home };
	const struct waymark_ctl_session_info *session;
	struct wmk_daemon daemon = { 0 };
	int err = wmk_cli_session_argument(&args->common, rest, n_rest);

	if (err == 0 && args->no_output && args->output)
		err = wmk_error(-EINVAL, "--no-output and --output exclude each other");
	if (err == 0 && args->url && args->output)
		err = wmk_error(-EINVAL, "--set-url and --output exclude each other");
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
	options.flush_us = args->live_us;
	options.snapshot = args->snapshot || args->no_output;
	options.compress = args->compress;
	options.url = args->url;
	options.spool_size = args->spool_size;
	if (err == 0)
		err = wmk_daemon_open(&daemon, &args->common, WMK_DAEMON_ANY);
	if (err == 0) {
		daemon.session[0] = '\0';        /* an unknown session is no error for this request */
		err = wmk_daemon_did(&daemon, waymark_ctl_create(daemon.ctl, &options, &daemon.result));
		if (err == 0 && args->no_output)
			err = remove_output(&daemon);
	}
	session = err == 0 ? wmk_daemon_session(&daemon) : NULL;
	if (session) {
		make_current(session->name);
		if (!args->common.json)
			tell_created(session, args->no_output);
	}
	return wmk_daemon_close(&daemon, &args->common, err);
}

static const char *const create_details[] = {
	"A session has a name, a trace directory, and channels with event rules, which other commands create. Several "
	"sessions record at the same time without affecting each other. The new session becomes the current session, "
	"which other commands use by default. The current session is kept per user, in ~/.waymark/session.",
	"The default name is made from the time. The default trace directory is ~/waymark-traces/NAME-YYYYmmdd-HHMMSS. "
	"Only `waymark record` uses WAYMARK_TRACE_DIR.",
	"With --max-size, the session stops before its trace exceeds the size. The size is that of all files "
	"together: streams of user and kernel channels, their indexes, and metadata. The trace can exceed this size "
	"by the metadata of events that appear late, by the header of an index, and by the packet that reports the "
	"lost records of a stream. `waymark clear` frees space, and `waymark start` resumes. To keep the newest "
	"records instead, create the channel with --tracefile-size and --tracefile-count, or with --overwrite.",
	"Records of applications and of the kernel use the same clock in a session, so they are ordered correctly. On "
	"some machines (aarch64) the kernel's tracers cannot use the counter of the processor. There, a session with "
	"--clock=counter records applications only.",
	"--live is LTTng's spelling for a flush interval of all channels. `waymark view --follow` reads the trace "
	"while the session records. It does so without --live, too, since channels are flushed once a second.",
	"With --snapshot, the session is a flight recorder: its channels are in overwrite mode, and only `waymark "
	"snapshot record` writes what they hold. Snapshots are made in the directory of the session, or in that of "
	"`waymark snapshot add-output`.",
	"With --compress, the consumer daemon compresses closed chunks at idle priority, as `waymark compress` does. "
	"Until then, a chunk is uncompressed. After a crash, the next rotation compresses the remaining chunks. Only "
	"Waymark's readers can read compressed chunks. --max-size counts the uncompressed size of a chunk.",
	"With --set-url, waymark-relayd stores the trace, and the directory is a spool below "
	"~/.local/state/waymark/spool, of at most --spool-size. While the relay is unreachable, records are spooled. "
	"If the spool is full, records stay in the buffers; when these are full, further records are lost and "
	"counted. `waymark destroy` does not wait for the relay: the consumer daemon sends the remaining data, also "
	"after a restart.",
	"With --shm-path, the rings of applications of the session daemon's user are files in a directory of their own "
	"below DIR. Their content survives the end of all processes and, on persistent memory, a reboot or power "
	"failure. `waymark recover DIR` then writes it to the trace. DIR is created if it does not exist, and must "
	"belong to the session daemon's user. Use a directory in memory (/dev/shm/...) or on persistent memory: on a "
	"disk, the kernel writes every change to the disk. If a ring file is truncated, the applications that record "
	"into it are killed by SIGBUS.",
	NULL
};

static const struct wmk_cli_option create_options[] = {
	{ 's', "session", "NAME", "The name of the session, as an alternative to the argument.",
	  WMK_CLI_NAME(struct wmk_cli_common, session, "a session") },
	{ 'o', "output", "DIR", "The trace directory.",
	  WMK_CLI_NAME(struct wmk_session_args, output, "a directory") },
	{ 0, "description", "TEXT", "The purpose of the session. `waymark list` and the trace show it.",
	  WMK_CLI_NAME(struct wmk_session_args, description, "a description") },
	WMK_SESSION_OPTION_FORMAT(struct wmk_session_args),
	WMK_SESSION_OPTION_CLOCK(struct wmk_session_args),
	WMK_SESSION_OPTION_NO_STATEDUMP(struct wmk_session_args),
	{ 0, "live", "[USEC]", "The maximum time from a record to the trace, in microseconds or with ms, s, m, h, "
	  "for channels without --flush-interval. The default is 1 s, with or without --live.",
	  .store = set_live, WMK_CLI_AT(int64_t, struct wmk_session_args, live_us), .min = 1, .max = INT32_MAX },
	{ 0, "shm-path", "DIR", "Put rings in files below DIR that survive all processes; see `waymark recover`.",
	  WMK_CLI_NAME(struct wmk_session_args, shm_path, "a directory") },
	{ 0, "max-size", "SIZE", "Stop the session before its trace exceeds this size in bytes, with k, M or G.",
	  .store = set_max_size, WMK_CLI_AT(uint64_t, struct wmk_session_args, max_size) },
	{ 0, "snapshot", NULL, "Keep the newest records in the buffers, and write nothing until `waymark snapshot "
	  "record`.", WMK_CLI_FLAG(struct wmk_session_args, snapshot) },
	{ 0, "no-output", NULL, "Like --snapshot, but without a directory for snapshots: give one to `waymark "
	  "snapshot record DIR`, or set one with `waymark snapshot add-output`.",
	  WMK_CLI_FLAG(struct wmk_session_args, no_output) },
	{ 0, "compress", NULL, "Compress the chunks that `waymark rotate` closes.",
	  WMK_CLI_FLAG(struct wmk_session_args, compress) },
	WMK_SESSION_OPTION_URL("set-url", struct wmk_session_args),
	WMK_SESSION_OPTION_SPOOL_SIZE(struct wmk_session_args),
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_create = {
	.name = "create",
	.arguments = "[NAME]",
	.summary = "Create a session",
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
		if (print && what) {
			printf("Session %s %s: ", sessions[i]->name, what);
			wmk_show_counts(sessions[i]);
		} else if (print) {
			printf("Session %s stops: its last records are being written to %s\n", sessions[i]->name,
			       wmk_cli_clean(sessions[i]->path));
		}
		wmk_show_unrecorded(sessions[i]);
		wmk_show_loss(sessions[i]);
	}
	if (!n && print)
		puts("There is no session.");
}

/* Store the trace of one of the sessions, if possible of the current session. */
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

static void forget(const char *name)
{
	if (wmk_current_forget(name) < 0)
		wmk_error_clear();       /* the file still names the destroyed session; the next command reports this */
}

static int end(struct wmk_session_args *args, char **rest, int n_rest, uint32_t request, const char *what)
{
	struct wmk_daemon daemon;
	int err = which(args, rest, n_rest);

	if (err < 0)
		return err;
	err = request_sessions(&daemon, args, request);
	if (err == 0)
		wmk_session_tell_ends(&daemon, args->no_wait ? NULL : what, !args->common.json);
	if (err == 0 && request == WAYMARK_CTL_DO_DESTROY) {
		wmk_session_remember(&daemon);
		each_session(&daemon, forget);
		if (args->all)
			forget(NULL);
	} else if (err == 0) {
		each_session(&daemon, wmk_current_meant);
	}
	return wmk_daemon_close(&daemon, &args->common, err);
}

static int run_destroy(void *data, char **rest, int n_rest)
{
	return end(data, rest, n_rest, WAYMARK_CTL_DO_DESTROY, "destroyed");
}

static int run_stop(void *data, char **rest, int n_rest)
{
	return end(data, rest, n_rest, WAYMARK_CTL_DO_STOP, "stopped");
}

static const char *const destroy_details[] = {
	"The session stops, the remaining records are written, and the session daemon removes the session. The trace "
	"stays. `waymark view` shows it until another trace is recorded. The counts of records are printed, with the "
	"options that avoid each kind of loss.",
	NULL
};

static const struct wmk_cli_option destroy_options[] = {
	WMK_CLI_OPTION_SESSION,
	OPTION_ALL("All of your sessions."),
	OPTION_GLOB,
	OPTION_NO_WAIT,
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_destroy = {
	.name = "destroy",
	.arguments = ARGUMENT,
	.summary = "Destroy a session, and print its counts of records",
	.details = destroy_details,
	WMK_CLI_OPTIONS(destroy_options),
	.args_size = sizeof(struct wmk_session_args),
	.run = run_destroy,
};

static const char *const stop_details[] = {
	"Applications stop recording. When the command returns, all records are in the trace. Prints the number of "
	"event records, of lost records, and the options that avoid each kind of loss. `waymark start` resumes.",
	NULL
};

const struct wmk_cli_command wmk_cli_stop = {
	.name = "stop",
	.arguments = ARGUMENT,
	.summary = "Stop recording, and print the counts of records",
	.details = stop_details,
	WMK_CLI_OPTIONS(destroy_options),
	.args_size = sizeof(struct wmk_session_args),
	.run = run_stop,
};

/* ── start, clear ────────────────────────────────────────────────────────────────────────────────────── */

static int change(struct wmk_session_args *args, char **rest, int n_rest, uint32_t request, const char *what)
{
	const struct waymark_ctl_session_info *const *sessions;
	struct wmk_daemon daemon;
	int err = which(args, rest, n_rest);

	if (err < 0)
		return err;
	err = request_sessions(&daemon, args, request);
	if (err == -ENODATA)
		wmk_error_add(err, "nothing to record: no event is enabled (use `waymark enable-event`)");
	if (err == 0)
		each_session(&daemon, wmk_current_meant);
	unsigned n = err == 0 && !args->common.json ? waymark_ctl_result_sessions(daemon.result, &sessions) : 0;
	for (unsigned i = 0; i < n; i++)
		printf("Session %s %s %s\n", sessions[i]->name, what, wmk_cli_clean(sessions[i]->path));
	return wmk_daemon_close(&daemon, &args->common, err);
}

static int run_start(void *data, char **rest, int n_rest)
{
	return change(data, rest, n_rest, WAYMARK_CTL_DO_START, "records into");
}

static int run_clear(void *data, char **rest, int n_rest)
{
	return change(data, rest, n_rest, WAYMARK_CTL_DO_CLEAR, "has discarded the records in");
}

static int run_rotate(void *data, char **rest, int n_rest)
{
	const struct waymark_ctl_session_info *session;
	struct wmk_session_args *args = data;
	struct wmk_daemon daemon;
	int err = which(args, rest, n_rest);

	if (err < 0)
		return err;
	err = wmk_daemon_open(&daemon, &args->common, WMK_DAEMON_SESSION);
	if (err == 0)
		err = wmk_daemon_did(&daemon, waymark_ctl_rotate(daemon.ctl, daemon.session, &daemon.result));
	session = err == 0 ? wmk_daemon_session(&daemon) : NULL;
	if (session && !args->common.json)
		printf("Session %s has closed the trace %s/archives/%s\n", session->name, wmk_cli_clean(session->path),
		       wmk_cli_clean(session->closed_chunk));
	return wmk_daemon_close(&daemon, &args->common, err);
}

static const char *const start_details[] = {
	"All applications, including those that start later, record the enabled events. Channels and events can also "
	"be added while the session records.",
	NULL
};

static const char *const clear_details[] = {
	"Empties the buffers and the trace. If the session records, it continues to record.",
	NULL
};

static const char *const rotate_details[] = {
	"Everything that was recorded so far becomes a complete trace, a chunk, in archives/BEGIN-END-NUMBER below "
	"the trace of the session. A closed chunk can be read, moved or deleted at once. Recording continues: each "
	"later record is in the next chunk, and no record is lost or duplicated. Counts are the sums over all chunks.",
	"`waymark view` with the directory of the session shows all chunks and the open one. Kernel and user channels "
	"of a session rotate together.",
	NULL
};

static const struct wmk_cli_option rotate_options[] = { WMK_CLI_OPTION_SESSION, WMK_CLI_OPTION_JSON };
static const struct wmk_cli_option start_options[] = { WMK_CLI_OPTION_SESSION, OPTION_GLOB, WMK_CLI_OPTION_JSON };

const struct wmk_cli_command wmk_cli_start = {
	.name = "start",
	.arguments = ARGUMENT,
	.summary = "Start or resume recording",
	.details = start_details,
	WMK_CLI_OPTIONS(start_options),
	.args_size = sizeof(struct wmk_session_args),
	.run = run_start,
};

const struct wmk_cli_command wmk_cli_clear = {
	.name = "clear",
	.arguments = ARGUMENT,
	.summary = "Discard all records of a session, in buffers and in the trace",
	.details = clear_details,
	WMK_CLI_OPTIONS(start_options),
	.args_size = sizeof(struct wmk_session_args),
	.run = run_clear,
};

const struct wmk_cli_command wmk_cli_rotate = {
	.name = "rotate",
	.arguments = ARGUMENT,
	.summary = "Close the current chunk of the trace, and continue in the next chunk",
	.details = rotate_details,
	WMK_CLI_OPTIONS(rotate_options),
	.args_size = sizeof(struct wmk_session_args),
	.run = run_rotate,
};

/* ── set-session ─────────────────────────────────────────────────────────────────────────────────────── */

static int run_set_session(void *data, char **rest, int n_rest)
{
	struct wmk_session_args *args = data;
	struct wmk_daemon daemon;
	int err = wmk_cli_session_argument(&args->common, rest, n_rest);

	if (err == 0 && !args->common.session)
		err = wmk_error(-EINVAL, "no session given: give its name");
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
	"Commands use the current session by default. It is kept per user, in ~/.waymark/session.",
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
