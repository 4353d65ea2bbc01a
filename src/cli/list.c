/* SPDX-License-Identifier: MIT */
/*
 * list.c - `waymark list`, `waymark status`: what there is. (list_kernel.c: of the kernel.)
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
 * A daemon that was only just started is given this long to be found by the programs that run: until no more come for
 * SETTLED_MS.
 */
#define SETTLE_MS 2000
#define SETTLED_MS 200
#define LOOK_MS 50

/* ── names, for completion ───────────────────────────────────────────────────────────────────────────── */

static void print_events(const struct waymark_ctl_result *result)
{
	const struct waymark_ctl_app_info *const *apps;
	unsigned n = waymark_ctl_result_apps(result, &apps);

	/* Programs of one kind have the same: who completes sorts them out. */
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
 * Those of programs, then those of the kernel; or of one of them. Where both are meant, it is no error that the
 * kernel's are not for everybody.
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

/* ── programs ────────────────────────────────────────────────────────────────────────────────────────── */

/* Programs that run find a new daemon by themselves, but not at once. */
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

static int show_sessions(struct wmk_daemon *daemon, const char *channel)
{
	const struct waymark_ctl_session_info *const *sessions;
	unsigned n = waymark_ctl_result_sessions(daemon->result, &sessions);
	char current[256];

	if (!daemon->session[0]) {
		if (wmk_current_get(current, sizeof(current)) < 0) {
			wmk_error_clear();
			current[0] = '\0';
		}
		wmk_show_sessions(sessions, n, current);
		return 0;
	}
	for (unsigned i = 0; i < n; i++) {
		int err = channel ? wmk_daemon_check_channel(sessions[i], channel) : 0;

		if (err < 0)
			return err;
		wmk_show_session(sessions[i], channel);
	}
	return 0;
}

static int list_sessions(const struct wmk_cli_common *common, enum wmk_daemon_need need)
{
	struct wmk_daemon daemon;
	int err = wmk_daemon_open(&daemon, common, need);

	if (err == 0)
		err = wmk_daemon_did(&daemon, waymark_ctl_list_sessions(daemon.ctl, daemon.session, &daemon.result));
	if (err == 0 && !common->json)
		err = show_sessions(&daemon, common->channel);
	return wmk_daemon_close(&daemon, common, err);
}

/* A session's name; with --kernel, patterns. */
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
		err = wmk_error(-EINVAL, "--userspace lists programs: without a session or channel");
	if (err == 0 && common->kernel && (common->session || common->channel))
		err = wmk_error(-EINVAL, "--kernel lists the kernel's events: without a session or channel");
	if (err == 0 && common->pid && !common->userspace)
		err = wmk_error(-EINVAL, "--pid goes with --userspace");
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
	return list_sessions(&args->common, args->common.channel ? WMK_DAEMON_SESSION : WMK_DAEMON_ANY);
}

static void done_list(void *data)
{
	wmk_cli_words_free(&((struct wmk_list_args *)data)->patterns);
}

static const char *const list_details[] = {
	"Without an argument: the sessions, the current one marked. With the name of a session: its channels, their "
	"events and contexts, and what became of its records so far. With --userspace: the programs that run and are "
	"instrumented, and their events with levels; with --fields also what is in these.",
	"With --kernel: the kernel's events, by the name that they have in traces (lttng-modules', where it has the "
	"event) and, behind it, the kernel's own subsystem:name. `waymark enable-event --kernel` takes either. A "
	"system call is one line, syscall:NAME, which stands for its entry and its exit. Patterns narrow the list: "
	"'sched_*', 'block:*', 'syscall:open*'. Marked are those that a session of yours records now. At the end "
	"stands what this kernel lacks of what Waymark uses, and why: each was tried, not only looked for. The kernel "
	"is listed for root, and by root's session daemon for members of the group 'tracing'.",
	NULL
};

static const struct wmk_cli_option list_options[] = {
	WMK_CLI_OPTION_SESSION_NAMED("The session, as well as by the argument."),
	WMK_CLI_OPTION_CHANNEL("This channel only, of the session that is named, or of the current one."),
	WMK_CLI_OPTION_USERSPACE("Programs and their events."),
	WMK_CLI_OPTION_KERNEL("The kernel's events, those that the patterns mean, and what this kernel lacks."),
	{ 'f', "fields", NULL, "With --userspace, which is meant where neither is given, or --kernel: events with "
	  "their fields. Those of a system call are its arguments, and ret, its result.",
	  WMK_CLI_FLAG(struct wmk_list_args, fields) },
	WMK_CLI_OPTION_PID("With --userspace: this process only."),
	{ 0, "names", "WHAT", "The names alone, one in a line, of sessions, channels, events (programs' and the "
	  "kernel's, or those of --userspace or --kernel), contexts or levels: what shells complete.",
	  WMK_CLI_WORD(struct wmk_list_args, names, "sessions channels events contexts levels",
		       "there are no names of \"@\"; there are those of: #") },
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_list = {
	.name = "list",
	.arguments = "[SESSION | PATTERN...]",
	.summary = "Show sessions, programs and their events, or the kernel's events",
	.details = list_details,
	WMK_CLI_OPTIONS(list_options),
	.args_size = sizeof(struct wmk_list_args),
	.run = run_list,
	.done = done_list,
};

/* ── status ──────────────────────────────────────────────────────────────────────────────────────────── */

static int run_status(void *data, char **rest, int n_rest)
{
	const struct wmk_cli_common *args = data;

	(void)rest;
	if (n_rest)
		return wmk_error(-EINVAL, "status takes no arguments; `waymark list SESSION` shows any session");
	return list_sessions(args, WMK_DAEMON_SESSION);
}

static const char *const status_details[] = {
	"Prints what `waymark list` prints for the current session: the one that commands use if none is named.",
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
