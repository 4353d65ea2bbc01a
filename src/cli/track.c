/* SPDX-License-Identifier: MIT */
/*
 * track.c - `waymark track`, `waymark untrack`: whose programs a session records at all.
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
		return wmk_error(-EINVAL, "\"%.40s\" is not the number of a process", word);
	if (kind == WMK_TRACKED_UID)
		user = getpwnam(word);
	else
		group = getgrnam(word);
	if (!user && !group)
		return wmk_error(-ENOENT, "there is no %s \"%.40s\"", kind == WMK_TRACKED_UID ? "user" : "group", word);
	*id = user ? user->pw_uid : group->gr_gid;
	return 0;
}

int wmk_track_arguments(const struct wmk_track_args *args, int n_rest)
{
	unsigned given = 0;

	if (args->common.kernel && args->common.userspace)
		return wmk_error(-EINVAL, "one domain at a time: --userspace or --kernel");
	if (args->common.kernel && (args->given[WMK_TRACKED_UID] || args->given[WMK_TRACKED_GID]))
		return wmk_error(-EINVAL, "what the kernel records is narrowed by processes: --pid");
	if (n_rest)
		return wmk_error(-EINVAL, "processes and users are named by --pid, --uid, --gid");
	for (unsigned i = 0; i < WMK_TRACKED_KINDS; i++) {
		given += args->given[i];
		if (args->given[i] && args->all == (args->ids[i].n > 0))
			return wmk_error(-EINVAL, args->all ? "--%s with a list, or with --all, but not both" :
					 "--%s: which? Give a list, or --all", kind_names[i]);
	}
	if (!given)
		return wmk_error(-EINVAL, "by what? --pid, --uid or --gid");
	return 0;
}

typedef int request(struct waymark_ctl *, const struct waymark_ctl_track_options *, struct waymark_ctl_result **);

/* All that was typed, as numbers: before anything is asked. */
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

/* A request for each kind. Of several, what was done before one was refused stays, and is said. */
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
			wmk_error_add(err, "%s done already, --%s not", done, kind_names[kind]);
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
		       args->common.kernel ? ", of what the kernel does," : "", kind_names[kind]);
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
	"A session records every program that has an event of its channels, until it is narrowed: `track` adds to the "
	"list of those whose programs are recorded, `untrack` takes from it. Of each kind (processes, users, groups) "
	"the first `track` makes such a list, and who is in none of a list is not recorded; `track --pid --all` ends "
	"the list again. `untrack --pid --all` makes it empty: then none is recorded.",
	"The number of a process is the one that it has where the command is given; `waymark list` shows the one that "
	"the session daemon sees. It stays in the list until it is untracked.",
	"With --kernel it is the kernel's records that are narrowed: those that one of the processes makes are kept, "
	"of system calls, of scheduling, of whatever happens on its behalf; not those of processes that it starts (a "
	"channel with --pid and --follow has these). The kernel's channels get the context pid, by which records are "
	"told apart: the kernel makes all of them, and what is not wanted is left out before it is written. System "
	"calls keep what their arguments point to.",
	NULL
};

static const char *const untrack_details[] = {
	"Takes from the lists that `waymark track` makes: see waymark-track(1).",
	NULL
};

#define IDS(tracked) \
	WMK_CLI_WORDS(struct wmk_track_args, ids[tracked]), WMK_CLI_GIVEN(struct wmk_track_args, given[tracked])

static const struct wmk_cli_option options[] = {
	WMK_CLI_OPTION_USERSPACE("The user domain: programs. It is meant where no domain is named."),
	WMK_CLI_OPTION_KERNEL("The kernel domain: only --pid, 64 processes at most."),
	WMK_CLI_OPTION_SESSION,
	{ 0, "pid", "[PID,...]", "Processes, by number.", IDS(WMK_TRACKED_PID) },
	{ 0, "vpid", "[PID,...]", "The same: LTTng's name for it.", IDS(WMK_TRACKED_PID) },
	{ 0, "uid", "[USER,...]", "Users, by name or number.", IDS(WMK_TRACKED_UID) },
	{ 0, "gid", "[GROUP,...]", "Groups, by name or number.", IDS(WMK_TRACKED_GID) },
	{ 'a', "all", NULL, "All of the kinds that are named without a list.",
	  WMK_CLI_FLAG(struct wmk_track_args, all) },
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_track = {
	.name = "track",
	.arguments = "",
	.summary = "Narrow a session to processes, users or groups",
	.details = track_details,
	WMK_CLI_OPTIONS(options),
	.args_size = sizeof(struct wmk_track_args),
	.run = run_track,
	.done = done,
};

const struct wmk_cli_command wmk_cli_untrack = {
	.name = "untrack",
	.arguments = "",
	.summary = "Take processes, users or groups from those that a session records",
	.details = untrack_details,
	WMK_CLI_OPTIONS(options),
	.args_size = sizeof(struct wmk_track_args),
	.run = run_untrack,
	.done = done,
};
