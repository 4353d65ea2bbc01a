/* SPDX-License-Identifier: MIT */
/*
 * view.c - `waymark view`: shows a trace by a reader that is installed, until Waymark reads traces itself.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/child.h"
#include "cli/daemon.h"

struct view_args {
	struct wmk_cli_common common;
	const char *path, *viewer;
};

static int set_path(void *data, const char *value)
{
	if (!*value)
		return wmk_error(-EINVAL, "the name of a directory is missing");
	((struct view_args *)data)->path = value;
	return 0;
}

static int set_viewer(void *data, const char *value)
{
	if (!*value)
		return wmk_error(-EINVAL, "the name of a program is missing");
	((struct view_args *)data)->viewer = value;
	return 0;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The viewer's path in PATH. */
static int find_viewer(const char *wanted, char *path, size_t size)
{
	static const char *const readers[] = { "babeltrace2", "babeltrace" };

	if (wanted)
		return wmk_child_find(wanted, path, size);
	for (unsigned i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		if (wmk_child_find(readers[i], path, size) == 0)
			return 0;
		wmk_error_clear();
	}
	return wmk_error(-ENOENT, "no reader of traces is installed: install babeltrace2 (Debian: apt install babeltrace2), or name "
			 "another "
			 "one with --viewer");
}

/* Where the session's trace is. The exit status: what is wrong has been said. */
static int find_trace(const struct wmk_cli_common *common, char *path, size_t size)
{
	const struct waymark_ctl_session_info *session;
	struct wmk_daemon daemon;
	int err = wmk_daemon_open(&daemon, common, WMK_DAEMON_SESSION);

	if (err == 0)
		err = wmk_daemon_did(&daemon, waymark_ctl_list_sessions(daemon.ctl, daemon.session, &daemon.result));
	session = err == 0 ? wmk_daemon_session(&daemon) : NULL;
	snprintf(path, size, "%s", session ? session->path : "");
	return wmk_daemon_close(&daemon, common, err);
}

static int run_view(void *data, char **rest, int n_rest)
{
	struct view_args *args = data;
	char viewer[PATH_MAX], path[PATH_MAX], **argv;
	int n = 0, err;

	/* The first argument may be the trace; what follows, and what begins with '-', is the viewer's. */
	if (n_rest && rest[0][0] != '-' && !args->path && !args->common.session) {
		if (strchr(rest[0], '/') || is_directory(rest[0]))
			args->path = rest[0];
		else
			args->common.session = rest[0];
		rest++;
		n_rest--;
	}
	err = find_viewer(args->viewer, viewer, sizeof(viewer));
	if (err < 0)
		return wmk_cli_failed();
	if (args->path)
		snprintf(path, sizeof(path), "%s", args->path);
	else if (find_trace(&args->common, path, sizeof(path)) != 0)
		return WMK_CLI_FAILED;
	if (!is_directory(path)) {
		wmk_error(-EINVAL, args->path ? "cannot view %.100s: there is no such directory" :
			  "nothing is in %.100s yet: `waymark start` lets the session record", path);
		return wmk_cli_failed();
	}
	argv = calloc((size_t)n_rest + 3, sizeof(*argv));
	if (argv) {
		argv[n++] = viewer;
		for (int i = 0; i < n_rest; i++)
			argv[n++] = rest[i];
		argv[n] = strdup(path);
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

static const char *const details[] = {
	"Prints the event records of a session that has stopped, or that still records, or of any trace, in the order of time. It runs "
	"babeltrace2, or babeltrace; what follows `--` is for that reader: waymark view -- --clock-date.",
	NULL
};

static const struct wmk_cli_option options[] = {
	WMK_CLI_OPTION_SESSION,
	{ 't', "trace-path", "DIR", "The trace in this directory, instead of a session's.", set_path, false },
	{ 'e', "viewer", "PROGRAM", "Show it by this program. It gets the trace's directory as its last argument.", set_viewer, false },
};

const struct wmk_cli_command wmk_cli_view = {
	.name = "view",
	.arguments = "[SESSION | DIR] [-- ARGUMENT...]",
	.summary = "Show the event records of a trace",
	.details = details,
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.args_size = sizeof(struct view_args),
	.run = run_view,
};
