/* SPDX-License-Identifier: MIT */
/*
 * track.c - `waymark track`, `waymark untrack`: the allow-lists of a session.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/daemon.h"
#include "cli/track.h"

static const char *const kind_names[WMK_TRACKED_KINDS] = { "pid", "uid", "gid" };

int wmk_track_id(enum wmk_tracked kind, const char *word, uint64_t *id)
{
	const struct passwd *user = NULL;
	const struct group *group = NULL;

	if (word[0] >= '0' && word[0] <= '9')
		return wmk_cli_number(word, kind == WMK_TRACKED_PID ? INT32_MAX : UINT32_MAX - 1, id);
	if (kind == WMK_TRACKED_PID)
		return wmk_error(-EINVAL, "\"%.40s\" is not a process number", word);
	if (kind == WMK_TRACKED_UID)
		user = getpwnam(word);
	else
		group = getgrnam(word);
	if (!user && !group)
		return wmk_error(-ENOENT, "unknown %s \"%.40s\"", kind == WMK_TRACKED_UID ? "user" : "group", word);
	*id = user ? user->pw_uid : group->gr_gid;
	return 0;
}

int wmk_track_arguments(const struct wmk_track_args *args, int n_rest)
{
	unsigned given = 0;

	if (args->common.kernel && args->common.userspace)
		return wmk_error(-EINVAL, "--kernel and --userspace exclude each other: give one domain");
	if (args->common.kernel && (args->given[WMK_TRACKED_UID] || args->given[WMK_TRACKED_GID]))
		return wmk_error(-EINVAL, "--uid and --gid are not supported in the kernel domain: use --pid");
	if (n_rest)
		return wmk_error(-EINVAL, "unexpected argument: use --pid, --uid or --gid to name processes and users");
	for (unsigned i = 0; i < WMK_TRACKED_KINDS; i++) {
		given += args->given[i];
		if (args->given[i] && args->all == (args->ids[i].n > 0))
			return wmk_error(-EINVAL, args->all ? "--%s has both a list and --all: give one of them" :
					 "--%s has no list: give one, or --all", kind_names[i]);
	}
	if (!given)
		return wmk_error(-EINVAL, "nothing to track: give --pid, --uid or --gid");
	return 0;
}

typedef int request(struct waymark_ctl *, const struct waymark_ctl_track_options *, struct waymark_ctl_result **);

/* Convert all words to numbers before sending the first request. */
static int read_ids(const struct wmk_track_args *args, uint64_t *ids[WMK_TRACKED_KINDS])
{
	int err = 0;

	for (int kind = 0; kind < WMK_TRACKED_KINDS && err == 0; kind++) {
		const struct wmk_cli_words *words = &args->ids[kind];

		ids[kind] = calloc(words->n + 1, sizeof(*ids[kind]));
		if (!ids[kind])
			err = wmk_error(-ENOMEM, "no memory");
		for (unsigned i = 0; i < words->n && err == 0; i++)
			err = wmk_track_id((enum wmk_tracked)kind, words->items[i], &ids[kind][i]);
	}
	return err;
}

/*
 * Send one request for each kind of tracker. If a request fails, the earlier requests stay in effect, and the error
 * message names the earlier requests.
 */
static int ask(struct wmk_daemon *daemon, const struct wmk_track_args *args, uint64_t *const ids[WMK_TRACKED_KINDS],
	       request *what)
{
	char done[32] = "";
	int err = 0;

	for (int kind = 0; kind < WMK_TRACKED_KINDS && err == 0; kind++) {
		const struct waymark_ctl_track_options options = {
			.size = sizeof(options),
			.session = daemon->session,
			.all = args->all,
			.ids = ids[kind],
			.n_ids = args->ids[kind].n,
			.kind = args->common.kernel ? WAYMARK_CTL_TRACK_KERNEL_PID : (uint32_t)kind,
		};

		if (!args->given[kind])
			continue;
		wmk_daemon_drop(daemon);
		err = wmk_daemon_did(daemon, what(daemon->ctl, &options, &daemon->result));
		if (err < 0 && done[0])
			wmk_error_add(err, "--%s not applied; already applied: %s", kind_names[kind], done);
		snprintf(done + strlen(done), sizeof(done) - strlen(done), "%s--%s", done[0] ? " and " : "",
			 kind_names[kind]);
	}
	return err;
}

static int run(struct wmk_track_args *args, int n_rest, request *what, const char *words)
{
	uint64_t *ids[WMK_TRACKED_KINDS] = { NULL };
	struct wmk_daemon daemon = { 0 };
	int err = wmk_track_arguments(args, n_rest);

	if (err < 0)
		return err;
	err = read_ids(args, ids);
	if (err == 0)
		err = wmk_daemon_open(&daemon, &args->common, WMK_DAEMON_SESSION);
	if (err == 0)
		err = ask(&daemon, args, ids, what);
	for (int kind = 0; kind < WMK_TRACKED_KINDS; kind++)
		free(ids[kind]);
	for (int kind = 0; kind < WMK_TRACKED_KINDS && err == 0 && !args->common.json; kind++) {
		if (!args->given[kind])
			continue;
		printf("Session %s %s%s %s", daemon.session, words,
		       args->common.kernel ? ", in the kernel domain," : "", kind_names[kind]);
		for (unsigned i = 0; i < args->ids[kind].n; i++)
			printf(" %s", args->ids[kind].items[i]);
		puts(args->all ? " of any number" : "");
	}
	return wmk_daemon_close(&daemon, &args->common, err);
}

static int run_track(void *data, char **rest, int n_rest)
{
	(void)rest;
	return run(data, n_rest, waymark_ctl_track, "records");
}

static int run_untrack(void *data, char **rest, int n_rest)
{
	(void)rest;
	return run(data, n_rest, waymark_ctl_untrack, "does not record");
}

static void done(void *data)
{
	struct wmk_track_args *args = data;

	for (unsigned i = 0; i < WMK_TRACKED_KINDS; i++)
		wmk_cli_words_free(&args->ids[i]);
}

static const char *const track_details[] = {
	"By default a session records all applications that have an enabled event. The first `track --pid`, `--uid` or "
	"`--gid` creates an allow-list of processes, users or groups. Only applications in all existing lists are "
	"recorded. `track` adds to a list, `untrack` removes from it. `track --pid --all` removes the list; `untrack "
	"--pid --all` empties it, so that nothing is recorded.",
	"A process number is that of the PID namespace in which the command runs. `waymark list` prints the number in "
	"the PID namespace of the session daemon. The number stays in the list, even after the process has ended, "
	"until it is untracked.",
	"With --kernel, the list restricts kernel records to those of the listed processes: system calls, scheduling, "
	"and all other events that occur in their context. It does not include their child processes; a channel with "
	"--pid and --follow does. The kernel channels get the context pid. The kernel makes records of all processes; "
	"records of other processes are discarded before they are written to the trace. Arguments of system calls are "
	"still recorded with the data that they point to.",
	NULL
};

static const char *const untrack_details[] = {
	"Removes processes, users or groups from the allow-lists that `waymark track` created; see waymark-track(1).",
	NULL
};

#define IDS(tracked) \
	WMK_CLI_WORDS(struct wmk_track_args, ids[tracked]), WMK_CLI_GIVEN(struct wmk_track_args, given[tracked])

static const struct wmk_cli_option options[] = {
	WMK_CLI_OPTION_USERSPACE("Use the user domain: applications. This is the default."),
	WMK_CLI_OPTION_KERNEL("Use the kernel domain. Only --pid is supported, with at most 64 processes."),
	WMK_CLI_OPTION_SESSION,
	{ 0, "pid", "[PID,...]", "Processes, by number.", IDS(WMK_TRACKED_PID) },
	{ 0, "vpid", "[PID,...]", "The same as --pid, for compatibility with LTTng.", IDS(WMK_TRACKED_PID) },
	{ 0, "uid", "[USER,...]", "Users, by name or number.", IDS(WMK_TRACKED_UID) },
	{ 0, "gid", "[GROUP,...]", "Groups, by name or number.", IDS(WMK_TRACKED_GID) },
	{ 'a', "all", NULL, "With --pid, --uid or --gid without a list: all processes, users or groups.",
	  WMK_CLI_FLAG(struct wmk_track_args, all) },
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_track = {
	.name = "track",
	.arguments = "",
	.summary = "Restrict a session to processes, users or groups",
	.details = track_details,
	WMK_CLI_OPTIONS(options),
	.args_size = sizeof(struct wmk_track_args),
	.run = run_track,
	.done = done,
};

const struct wmk_cli_command wmk_cli_untrack = {
	.name = "untrack",
	.arguments = "",
	.summary = "Remove processes, users or groups from the allow-lists of a session",
	.details = untrack_details,
	WMK_CLI_OPTIONS(options),
	.args_size = sizeof(struct wmk_track_args),
	.run = run_untrack,
	.done = done,
};
