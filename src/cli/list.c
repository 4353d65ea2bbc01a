/* SPDX-License-Identifier: MIT */
/*
 * list.c - `waymark list`, `waymark status`. (list_kernel.c: `waymark list --kernel`.)
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/current.h"
#include "cli/daemon.h"
#include "cli/list.h"
#include "cli/show.h"
#include "ctf/writer.h"

/*
 * If this command has just started the daemon, the command waits for running applications to connect. The wait ends
 * when no application has connected for SETTLED_MS, or after SETTLE_MS.
 */
#define SETTLE_MS 2000
#define SETTLED_MS 200
#define LOOK_MS 50

/* ── names, for completion ───────────────────────────────────────────────────────────────────────────── */

static void print_events(const struct waymark_ctl_result *result)
{
	const struct waymark_ctl_app_info *const *apps;
	unsigned n = waymark_ctl_result_apps(result, &apps);

	/* Several applications that run one program have the same events; the shell removes duplicates. */
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < apps[i]->n_events; k++)
			printf("%s:%s\n", wmk_cli_clean(apps[i]->events[k]->provider),
			       wmk_cli_clean(apps[i]->events[k]->name));
}

static void print_sessions(const struct waymark_ctl_result *result, const char *channels_of)
{
	const struct waymark_ctl_session_info *const *sessions;
	unsigned n = waymark_ctl_result_sessions(result, &sessions);

	for (unsigned i = 0; i < n; i++) {
		if (!channels_of)
			puts(wmk_cli_clean(sessions[i]->name));
		else if (strcmp(sessions[i]->name, channels_of) == 0)
			for (unsigned k = 0; k < sessions[i]->n_channels; k++)
				puts(wmk_cli_clean(sessions[i]->channels[k]->name));
	}
}

/*
 * Print the names of application events, then of kernel events. With --kernel, print only kernel events; with
 * --userspace, print only application events. Without --kernel, an error while listing the kernel events is ignored,
 * for example missing permission.
 */
static int print_event_names(struct wmk_daemon *daemon, const struct wmk_list_args *args)
{
	struct waymark_ctl_apps_options events = { .size = sizeof(events), .events = true };
	int err = 0;

	if (!args->common.kernel) {
		err = wmk_daemon_did(daemon, waymark_ctl_list_apps(daemon->ctl, &events, &daemon->result));
		if (err == 0)
			print_events(daemon->result);
		wmk_daemon_drop(daemon);
	}
	if (err == 0 && !args->common.userspace) {
		err = wmk_list_kernel_names(daemon, args);
		err = args->common.kernel ? err : 0;
	}
	return err;
}

static int print_names(const struct wmk_list_args *args)
{
	bool channels = strcmp(args->names, "channels") == 0;
	struct wmk_daemon daemon;
	int err;

	if (strcmp(args->names, "contexts") == 0) {
		for (const struct wmk_ctf_context *c = NULL;
		     (c = wmk_ctf_context_next(WMK_CONTEXT_USER | WMK_CONTEXT_KERNEL, c));)
			puts(c->field.name);
		return 0;
	}
	if (strcmp(args->names, "levels") == 0) {
		for (uint32_t i = 0; waymark_ctl_level_name(i); i++)
			puts(waymark_ctl_level_name(i));
		return 0;
	}
	err = wmk_daemon_open(&daemon, &args->common, channels ? WMK_DAEMON_SESSION : WMK_DAEMON_ANY);
	if (err == 0 && strcmp(args->names, "events") == 0) {
		err = print_event_names(&daemon, args);
	} else if (err == 0) {
		err = wmk_daemon_did(&daemon, waymark_ctl_list_sessions(daemon.ctl, NULL, &daemon.result));
		if (err == 0)
			print_sessions(daemon.result, channels ? daemon.session : NULL);
	}
	return wmk_daemon_close(&daemon, &args->common, err);
}

/* ── applications ────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Wait for running applications to connect to a new daemon. A new session daemon wakes the applications, but each
 * application connects only after a delay.
 */
static int let_programs_come(struct wmk_daemon *daemon)
{
	const struct waymark_ctl_app_info *const *apps;
	unsigned n = 0, now, quiet = 0;

	for (unsigned ms = 0; ms < SETTLE_MS && quiet < SETTLED_MS; ms += LOOK_MS, quiet += LOOK_MS) {
		int err = wmk_daemon_did(daemon, waymark_ctl_list_apps(daemon->ctl, NULL, &daemon->result));

		if (err < 0)
			return err;
		now = waymark_ctl_result_apps(daemon->result, &apps);
		wmk_daemon_drop(daemon);
		if (now != n)
			quiet = 0;
		n = now;
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_MS * 1000000L }, NULL);
	}
	return 0;
}

static int list_programs(const struct wmk_list_args *args)
{
	struct waymark_ctl_apps_options options = { .size = sizeof(options), .events = true, .pid = args->common.pid };
	const struct waymark_ctl_app_info *const *apps;
	struct wmk_daemon daemon;
	unsigned n;
	int err = wmk_daemon_open(&daemon, &args->common, WMK_DAEMON_ANY);

	if (err == 0 && waymark_ctl_started(daemon.ctl))
		err = let_programs_come(&daemon);
	if (err == 0)
		err = wmk_daemon_did(&daemon, waymark_ctl_list_apps(daemon.ctl, &options, &daemon.result));
	if (err == 0 && !args->common.json) {
		n = waymark_ctl_result_apps(daemon.result, &apps);
		wmk_show_apps(apps, n, args->fields);
	}
	return wmk_daemon_close(&daemon, &args->common, err);
}

/* ── sessions ────────────────────────────────────────────────────────────────────────────────────────── */

static int show_sessions(struct wmk_daemon *daemon, const struct wmk_list_args *args)
{
	const char *channel = args->common.channel;
	const struct waymark_ctl_session_info *const *sessions;
	const struct waymark_ctl_relay_info *const *relays;
	unsigned n = waymark_ctl_result_sessions(daemon->result, &sessions);
	const unsigned n_relays = waymark_ctl_result_relays(daemon->result, &relays);
	char current[256];

	if (args->mem_usage) {
		wmk_show_memory(sessions, n, channel);
		return 0;
	}
	if (!daemon->session[0]) {
		if (wmk_current_get(current, sizeof(current)) < 0) {
			wmk_error_clear();
			current[0] = '\0';
		}
		wmk_show_sessions(sessions, n, current);
		wmk_show_relays(relays, n_relays);
		return 0;
	}
	for (unsigned i = 0; i < n; i++) {
		int err = channel ? wmk_daemon_check_channel(sessions[i], channel) : 0;

		if (err < 0)
			return err;
		wmk_show_session(sessions[i], channel);
	}
	wmk_show_relays(relays, n_relays);
	return 0;
}

static int list_sessions(const struct wmk_list_args *args, enum wmk_daemon_need need)
{
	struct waymark_ctl_sessions_options options = { .size = sizeof(options),
							.request = WAYMARK_CTL_DO_LIST,
							.glob = args->glob };
	struct wmk_daemon daemon;
	int err = wmk_daemon_open(&daemon, &args->common, need);

	options.session = daemon.session;
	if (err == 0)
		err = wmk_daemon_did(&daemon, waymark_ctl_on_sessions(daemon.ctl, &options, &daemon.result));
	if (err == 0 && !args->common.json)
		err = show_sessions(&daemon, args);
	return wmk_daemon_close(&daemon, &args->common, err);
}

/* Complete a session name or, with --kernel, patterns. */
static int read_arguments(struct wmk_list_args *args, char **rest, int n_rest)
{
	struct wmk_cli_common *common = &args->common;
	int err = wmk_cli_check_domain(common);

	common->userspace = common->userspace || (args->fields && !common->kernel);
	for (int i = 0; common->kernel && i < n_rest && err == 0; i++)
		err = wmk_cli_words_add(&args->patterns, rest[i]);
	if (err == 0 && !common->kernel)
		err = wmk_cli_session_argument(common, rest, n_rest);
	if (err == 0 && common->userspace && (common->session || common->channel))
		err = wmk_error(-EINVAL, "--userspace lists all applications: give no session or channel");
	if (err == 0 && common->kernel && (common->session || common->channel))
		err = wmk_error(-EINVAL, "--kernel lists all kernel events: give no session or channel");
	if (err == 0 && common->pid && !common->userspace)
		err = wmk_error(-EINVAL, "--pid needs --userspace");
	if (err == 0 && (args->glob || args->mem_usage) && (common->userspace || common->kernel || args->names))
		err = wmk_error(-EINVAL, "%s lists sessions: give no --userspace, --kernel or --names",
				args->glob ? "--glob" : "--mem-usage");
	if (err == 0 && args->glob && (common->session || common->channel))
		err = wmk_error(-EINVAL, "--glob and a session or channel exclude each other");
	return err;
}

static int run_list(void *data, char **rest, int n_rest)
{
	struct wmk_list_args *args = data;
	int err = read_arguments(args, rest, n_rest);

	if (err < 0)
		return err;
	if (args->names)
		return print_names(args);
	if (args->common.kernel)
		return wmk_list_kernel(args);
	if (args->common.userspace)
		return list_programs(args);
	return list_sessions(args, args->common.channel ? WMK_DAEMON_SESSION : WMK_DAEMON_ANY);
}

static void done_list(void *data)
{
	wmk_cli_words_free(&((struct wmk_list_args *)data)->patterns);
}

static const char *const list_details[] = {
	"Without an argument, lists the sessions and marks the current one. With the name of a session, prints its "
	"channels, their event rules and contexts, and the counts of records. With --userspace, lists the running "
	"applications and their events with log levels; with --fields, also the fields of the events.",
	"If sessions send their traces to a relay, the last lines show these connections: the state, the bytes that "
	"the relay has not acknowledged, the size of the spool, and the latest error. A destroyed session is listed "
	"there until its spool is sent.",
	"While a session records, the counts are read from the buffers of the applications: the counts include "
	"records that are not in the trace yet. Records of kernel channels and of channels in overwrite mode are "
	"counted when they are written to the trace.",
	"With --kernel, lists the kernel events. Each line has the name in traces (that of lttng-modules, if it has "
	"the event) and the kernel's subsystem:name; `waymark enable-event --kernel` accepts both. A system call is "
	"one line, syscall:NAME, for its entry and its exit. Patterns select events: 'sched_*', 'block:*', "
	"'syscall:open*'. Events that one of your sessions records are marked. The last lines list the features that "
	"Waymark uses and this kernel lacks, with the reason. Waymark tries each feature to detect it. Listing kernel "
	"events requires root, or root's session daemon and membership in the group 'tracing'.",
	NULL
};

static const struct wmk_cli_option list_options[] = {
	WMK_CLI_OPTION_SESSION_NAMED("The session, as an alternative to the argument."),
	WMK_CLI_OPTION_CHANNEL("Show only this channel of the given or current session."),
	WMK_CLI_OPTION_USERSPACE("List applications and their events."),
	WMK_CLI_OPTION_KERNEL("List kernel events that match the patterns, and the missing features of this kernel."),
	{ 'f', "fields", NULL, "With --userspace (the default) or --kernel: list events with "
	  "their fields. The fields of a system call are its arguments, and ret, its result.",
	  WMK_CLI_FLAG(struct wmk_list_args, fields) },
	WMK_CLI_OPTION_PID("With --userspace: list only this process."),
	WMK_CLI_OPTION_GLOB(struct wmk_list_args,
			    "List the sessions with a name that matches this pattern: * ? [a-z] [!a-z]."),
	{ 0, "mem-usage", NULL, "Print the memory that the buffers of each channel occupy now.",
	  WMK_CLI_FLAG(struct wmk_list_args, mem_usage) },
	{ 0, "names", "WHAT", "Print only names, one per line, for shell completion: sessions, channels, events (of "
	  "applications and the kernel, or of --userspace or --kernel), contexts or levels.",
	  WMK_CLI_WORD(struct wmk_list_args, names, "sessions channels events contexts levels",
		       "unknown kind of names \"@\"; the kinds are: #") },
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_list = {
	.name = "list",
	.arguments = "[SESSION | PATTERN...]",
	.summary = "List sessions, applications and their events, or kernel events",
	.details = list_details,
	WMK_CLI_OPTIONS(list_options),
	.args_size = sizeof(struct wmk_list_args),
	.run = run_list,
	.done = done_list,
};

/* ── status ──────────────────────────────────────────────────────────────────────────────────────────── */

/* True if the spool of a destroyed session is still being sent. */
static bool is_sending(const struct wmk_cli_common *common)
{
	const struct waymark_ctl_relay_info *const *relays;
	struct wmk_daemon daemon;
	bool found = false;

	if (wmk_daemon_open(&daemon, common, WMK_DAEMON_RUNNING) == 0 &&
	    wmk_daemon_did(&daemon, waymark_ctl_list_sessions(daemon.ctl, NULL, &daemon.result)) == 0) {
		const unsigned n = waymark_ctl_result_relays(daemon.result, &relays);

		for (unsigned i = 0; i < n; i++)
			found |= !*relays[i]->session;
	}
	wmk_daemon_drop(&daemon);
	wmk_daemon_close(&daemon, common, 0);
	wmk_error_clear();
	return found;
}

static int run_status(void *data, char **rest, int n_rest)
{
	char current[256];
	const struct wmk_list_args args = { .common = *(const struct wmk_cli_common *)data };

	(void)rest;
	if (n_rest)
		return wmk_error(-EINVAL, "status takes no arguments; `waymark list SESSION` shows any session");
	if (wmk_current_get(current, sizeof(current)) == -ENOENT) {
		wmk_error_clear();
		if (is_sending(&args.common))
			return list_sessions(&args, WMK_DAEMON_ANY);
	}
	return list_sessions(&args, WMK_DAEMON_SESSION);
}

static const char *const status_details[] = {
	"Prints the output of `waymark list SESSION` for the current session, which commands use by default. The "
	"last lines show its connections to relays, and the connections of destroyed sessions that still send their "
	"spools. If such connections exist but no current session, prints the output of `waymark list`.",
	NULL
};

static const struct wmk_cli_option status_options[] = { WMK_CLI_OPTION_JSON };

const struct wmk_cli_command wmk_cli_status = {
	.name = "status",
	.arguments = "",
	.summary = "Show the current session",
	.details = status_details,
	WMK_CLI_OPTIONS(status_options),
	.args_size = sizeof(struct wmk_cli_common),
	.run = run_status,
};
