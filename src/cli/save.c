/* SPDX-License-Identifier: MIT */
/*
 * save.c - `waymark save`, `waymark load`: what sessions are, in files.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/current.h"
#include "cli/daemon.h"
#include "cli/path.h"
#include "cli/save.h"

/* 0 when they go together; the session of the argument is taken. */
static int check(struct wmk_save_args *args, char **rest, int n_rest)
{
	int err = wmk_cli_session_argument(&args->common, rest, n_rest);

	if (err < 0)
		return err;
	if (args->all && args->common.session)
		return wmk_error(-EINVAL, "--all and the name of a session do not go together");
	if (args->output && args->default_output)
		return wmk_error(-EINVAL, "--override-output and --default-output do not go together");
	return 0;
}

/* Without a path, the library looks into the user's home directory: for it, too, that is what WAYMARK_HOME says. */
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
		printf("%s nothing: there is no session\n", what);
}

/* ── save ────────────────────────────────────────────────────────────────────────────────────────────── */

static int run_save(void *data, char **rest, int n_rest)
{
	struct wmk_save_args *args = data;
	struct waymark_ctl_save_options options = { .size = sizeof(options),
						    .path = args->path,
						    .replace = args->force };
	struct wmk_daemon daemon;
	int err = check(args, rest, n_rest);

	if (err < 0)
		return err;
	err = wmk_daemon_open(&daemon, &args->common, WMK_DAEMON_ANY);
	if (err == 0 && !args->path)
		err = find_home();
	options.session = args->common.session;
	if (err == 0)
		err = wmk_daemon_did(&daemon, waymark_ctl_save(daemon.ctl, &options, &daemon.result));
	if (err == -EEXIST)
		wmk_error_add(err, "it was saved before: --force replaces what is there");
	if (err == 0 && !args->common.json)
		tell_files(&daemon, "saved");
	return wmk_daemon_close(&daemon, &args->common, err);
}

static const char *const save_details[] = {
	"Writes what a session is (its channels, events, contexts, trackers), not what it recorded, into a file of "
	"JSON, which can be read, changed and kept. Without a name, all sessions, each into a file of its own. "
	"`waymark load` makes them again, in this daemon or another.",
	NULL
};

static const struct wmk_cli_option save_options[] = {
	WMK_CLI_OPTION_SESSION_NAMED("The session. Without it, all of your sessions."),
	{ 'a', "all", NULL, "All of your sessions.", WMK_CLI_FLAG(struct wmk_save_args, all) },
	{ 'o', "output-path", "FILE", "The file, which ends in .json, or a directory. The default is "
	  "~/.waymark/sessions.", WMK_CLI_NAME(struct wmk_save_args, path, "a file or directory") },
	{ 'f', "force", NULL, "Replace a file that is there.", WMK_CLI_FLAG(struct wmk_save_args, force) },
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_save = {
	.name = "save",
	.arguments = "[SESSION]",
	.summary = "Save what a session is",
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
	daemon.session[0] = '\0';                /* that there is none of that name is as it should be */
	if (err == 0)
		err = wmk_daemon_did(&daemon, waymark_ctl_load(daemon.ctl, &options, &daemon.result));
	if (err == -EEXIST)
		wmk_error_add(err,
			      "the session is there already: --force replaces it, --override-name makes another of it");
	if (err == -EBUSY)
		wmk_error_add(err, "two traces cannot be in one place: --override-output or --default-output gives it "
				   "another");
	session = err == 0 ? wmk_daemon_session(&daemon) : NULL;
	if (session && wmk_current_set(session->name) < 0)
		wmk_error_clear();       /* the next command says so */
	if (err == 0 && !args->common.json)
		tell_files(&daemon, "loaded");
	if (session && !args->common.json)
		printf("The current session is %s. `waymark start` lets it record.\n", session->name);
	return wmk_daemon_close(&daemon, &args->common, err);
}

static const char *const load_details[] = {
	"Makes sessions from the files that `waymark save` wrote; none is started. Without a name, all that the file "
	"or directory holds. A trace that is there already is not written into: then the session's goes to the default "
	"place, which is said.",
	NULL
};

static const struct wmk_cli_option load_options[] = {
	WMK_CLI_OPTION_SESSION_NAMED("The session. Without it, all that there are."),
	{ 'a', "all", NULL, "All sessions.", WMK_CLI_FLAG(struct wmk_save_args, all) },
	{ 'i', "input-path", "FILE", "The file, or a directory of files. The default is ~/.waymark/sessions.",
	  WMK_CLI_NAME(struct wmk_save_args, path, "a file or directory") },
	{ 'f', "force", NULL, "Replace a session of yours that has the name: it is destroyed once it is known that all "
	  "of the new one can be made.", WMK_CLI_FLAG(struct wmk_save_args, force) },
	{ 0, "override-name", "NAME", "Give the session, which must be one, another name.",
	  WMK_CLI_NAME(struct wmk_save_args, name, "a session") },
	{ 0, "override-output", "DIR", "Let the session, which must be one, write its trace there.",
	  WMK_CLI_NAME(struct wmk_save_args, output, "a directory") },
	{ 0, "default-output", NULL, "Let traces go to the default place, whatever the files say.",
	  WMK_CLI_FLAG(struct wmk_save_args, default_output) },
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_load = {
	.name = "load",
	.arguments = "[SESSION]",
	.summary = "Make sessions that were saved",
	.details = load_details,
	WMK_CLI_OPTIONS(load_options),
	.args_size = sizeof(struct wmk_save_args),
	.run = run_load,
};
