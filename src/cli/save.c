/* SPDX-License-Identifier: MIT */
/* save.c - `waymark save`, `waymark load`: store session configurations in files, and load these files. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "cli/current.h"
#include "cli/daemon.h"
#include "cli/path.h"
#include "cli/save.h"
#include "wire/sessions_dir.h"

/* Check that the options are compatible, and take the session from the argument. */
static int check(struct wmk_save_args *args, char **rest, int n_rest)
{
	int err = wmk_cli_session_argument(&args->common, rest, n_rest);

	if (err < 0)
		return err;
	if (args->all && args->common.session)
		return wmk_error(-EINVAL, "--all and a session \"%.40s\" exclude each other", args->common.session);
	if (args->output && args->default_output)
		return wmk_error(-EINVAL, "--override-output and --default-output exclude each other");
	return 0;
}

/* Create the directory and its missing parents, owned by the user of the session daemon. */
static int make_directory(char *path)
{
	for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return wmk_error(-errno, "cannot create the directory %.200s", path);
		*slash = '/';
	}
	return 0;
}

/* Get the directory from which this session daemon loads sessions when it starts. */
static int find_automatic(const struct wmk_daemon *daemon, char *path, size_t size)
{
	const char *rundir = waymark_ctl_rundir(daemon->ctl);
	struct stat st;
	int err;

	/* The runtime directory belongs to the user that runs the daemon. */
	if (stat(rundir, &st) < 0)
		return wmk_error(-errno, "cannot find the user of the session daemon in %.200s", rundir);
	err = wmk_sessions_dir(st.st_uid, path, size);
	return err < 0 ? err : make_directory(path);
}

/*
 * If no path is given, libwaymark-ctl uses $HOME. Therefore set $HOME for libwaymark-ctl to the home directory that
 * Waymark uses. Thus WAYMARK_HOME also affects libwaymark-ctl.
 */
static int find_home(void)
{
	char home[PATH_MAX];
	int err = wmk_current_home(home, sizeof(home));

	if (err == 0 && setenv("HOME", home, 1) < 0)
		err = wmk_error(-errno, "cannot set HOME");
	return err;
}

static void tell_files(const struct wmk_daemon *daemon, const char *what)
{
	const char *const *files;
	unsigned n = waymark_ctl_result_files(daemon->result, &files);

	for (unsigned i = 0; i < n; i++)
		printf("%s %s\n", what, wmk_cli_clean(files[i]));
	if (!n)
		printf("%s nothing: there are no sessions\n", what);
}

/* ── save ────────────────────────────────────────────────────────────────────────────────────────────── */

static int run_save(void *data, char **rest, int n_rest)
{
	struct wmk_save_args *args = data;
	struct waymark_ctl_save_options options = { .size = sizeof(options),
						    .path = args->path,
						    .replace = args->force };
	char automatic[PATH_MAX];
	struct wmk_daemon daemon;
	int err = check(args, rest, n_rest);

	if (err == 0 && args->automatic && args->path)
		err = wmk_error(-EINVAL, "--auto and --output-path exclude each other");
	if (err < 0)
		return err;
	err = wmk_daemon_open(&daemon, &args->common, WMK_DAEMON_ANY);
	if (err == 0 && args->automatic) {
		err = find_automatic(&daemon, automatic, sizeof(automatic));
		options.path = automatic;
	}
	if (err == 0 && !options.path)
		err = find_home();
	options.session = args->common.session;
	if (err == 0)
		err = wmk_daemon_did(&daemon, waymark_ctl_save(daemon.ctl, &options, &daemon.result));
	if (err == -EEXIST)
		wmk_error_add(err, "the file exists: --force replaces it");
	if (err == 0 && !args->common.json)
		tell_files(&daemon, "saved");
	if (err == 0 && !args->common.json && args->automatic)
		printf("The session daemon loads and starts each saved session when the daemon starts. "
		       "Remove a file to disable this.\n");
	return wmk_daemon_close(&daemon, &args->common, err);
}

static const char *const save_details[] = {
	"Writes the configuration of a session (channels, event rules, contexts, trackers), without its records, to a "
	"JSON file that can be read, edited and stored. Without a name, saves all of your sessions, each to a file of "
	"its own. `waymark load` creates the sessions again, in this session daemon or another one.",
	"With --auto, the session daemon loads and starts the session whenever it starts, also after a reboot. The "
	"file is then in /etc/waymark/sessions for root's daemon, in ~/.config/waymark/sessions for that of a user. "
	"The daemon reports readiness afterwards, so programs that start later are recorded from their first event. A "
	"file that cannot be loaded is reported in the daemon's log, and the others are loaded. Each start has its own "
	"trace: NAME-DATE-TIME beside the trace directory of the saved session.",
	NULL
};

static const struct wmk_cli_option save_options[] = {
	WMK_CLI_OPTION_SESSION_NAMED("The session. The default is all of your sessions."),
	{ 'a', "all", NULL, "All of your sessions.", WMK_CLI_FLAG(struct wmk_save_args, all) },
	{ 'o', "output-path", "FILE", "The file, with a name that ends in .json, or a directory. The default is "
	  "~/.waymark/sessions.", WMK_CLI_NAME(struct wmk_save_args, path, "a file or directory") },
	{ 0, "auto", NULL, "Load and start the session whenever the session daemon starts.",
	  WMK_CLI_FLAG(struct wmk_save_args, automatic) },
	{ 'f', "force", NULL, "Replace an existing file.", WMK_CLI_FLAG(struct wmk_save_args, force) },
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_save = {
	.name = "save",
	.arguments = "[SESSION]",
	.summary = "Save the configuration of sessions",
	.details = save_details,
	WMK_CLI_OPTIONS(save_options),
	.args_size = sizeof(struct wmk_save_args),
	.run = run_save,
};

/* ── load ────────────────────────────────────────────────────────────────────────────────────────────── */

static int run_load(void *data, char **rest, int n_rest)
{
	struct wmk_save_args *args = data;
	const struct waymark_ctl_session_info *session;
	char output[PATH_MAX];
	struct waymark_ctl_load_options options = {
		.size = sizeof(options), .path = args->path, .replace = args->force, .name = args->name,
		.output = args->output ? output : NULL, .default_output = args->default_output,
	};
	struct wmk_daemon daemon = { 0 };
	int err = check(args, rest, n_rest);

	if (err < 0)
		return err;
	if (args->output)
		err = wmk_cli_absolute_path(args->output, output, sizeof(output));
	if (err == 0)
		err = wmk_daemon_open(&daemon, &args->common, WMK_DAEMON_ANY);
	if (err == 0)
		err = find_home();
	options.session = args->common.session;
	daemon.session[0] = '\0';                /* an unknown session is no error for this request */
	if (err == 0)
		err = wmk_daemon_did(&daemon, waymark_ctl_load(daemon.ctl, &options, &daemon.result));
	if (err == -EEXIST)
		wmk_error_add(err,
			      "the session exists: use --force to replace it, or --override-name to use another name");
	if (err == -EBUSY)
		wmk_error_add(err, "two traces cannot share a directory: use --override-output or --default-output");
	session = err == 0 ? wmk_daemon_session(&daemon) : NULL;
	if (session && wmk_current_set(session->name) < 0)
		wmk_error_clear();       /* the next command reports this */
	if (err == 0 && !args->common.json)
		tell_files(&daemon, "loaded");
	if (session && !args->common.json)
		printf("The current session is %s. `waymark start` starts it.\n", session->name);
	return wmk_daemon_close(&daemon, &args->common, err);
}

static const char *const load_details[] = {
	"Creates sessions from files of `waymark save`, and starts none of them. Without a name, loads all sessions of "
	"the file or directory. An existing trace is not overwritten: if the trace directory of a session exists, its "
	"trace goes to the default directory, and a message reports that.",
	NULL
};

static const struct wmk_cli_option load_options[] = {
	WMK_CLI_OPTION_SESSION_NAMED("The session. The default is all sessions of the file or directory."),
	{ 'a', "all", NULL, "All sessions.", WMK_CLI_FLAG(struct wmk_save_args, all) },
	{ 'i', "input-path", "FILE", "The file, or a directory of files. The default is ~/.waymark/sessions.",
	  WMK_CLI_NAME(struct wmk_save_args, path, "a file or directory") },
	{ 'f', "force", NULL,
	  "Replace a session of yours that has the same name. It is destroyed only after the new one is known to be "
	  "valid.",
	  WMK_CLI_FLAG(struct wmk_save_args, force) },
	{ 0, "override-name", "NAME", "Load the session under another name. Requires exactly one session.",
	  WMK_CLI_NAME(struct wmk_save_args, name, "a session") },
	{ 0, "override-output", "DIR", "The trace directory. Requires exactly one session.",
	  WMK_CLI_NAME(struct wmk_save_args, output, "a directory") },
	{ 0, "default-output", NULL, "Use default trace directories instead of those in the files.",
	  WMK_CLI_FLAG(struct wmk_save_args, default_output) },
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_load = {
	.name = "load",
	.arguments = "[SESSION]",
	.summary = "Create sessions from saved files",
	.details = load_details,
	WMK_CLI_OPTIONS(load_options),
	.args_size = sizeof(struct wmk_save_args),
	.run = run_load,
};
