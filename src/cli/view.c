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
#include "cli/command.h"

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
	return wmk_error(-ENOENT, "no reader of traces is installed: install babeltrace2 (Debian: apt install babeltrace2), or name another "
			 "one with --viewer");
}

static int run_view(void *data, char **rest, int n_rest)
{
	struct view_args *args = data;
	char viewer[PATH_MAX], **argv;
	int n = 0, err;

	/* The first argument may be the trace; what follows, and what begins with '-', is the viewer's. */
	if (n_rest && rest[0][0] != '-' && !args->path && !args->common.session) {
		args->path = rest[0];
		rest++;
		n_rest--;
	}
	err = find_viewer(args->viewer, viewer, sizeof(viewer));
	if (err < 0)
		return wmk_cli_failed();
	if (!args->path) {
		wmk_error(-EINVAL, "which trace?");
		return wmk_cli_misused(&wmk_cli_view);
	}
	if (!is_directory(args->path)) {
		wmk_error(-ENOENT, "cannot view %.100s: there is no such directory", args->path);
		return wmk_cli_failed();
	}
	argv = calloc((size_t)n_rest + 3, sizeof(*argv));
	if (argv) {
		argv[n++] = viewer;
		for (int i = 0; i < n_rest; i++)
			argv[n++] = rest[i];
		argv[n] = strdup(args->path);
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
