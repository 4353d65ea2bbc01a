/* SPDX-License-Identifier: MIT */
/* snapshot.c - `waymark snapshot`: record snapshots of a session, and set the directory for snapshots. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/error.h"
#include "cli/current.h"
#include "cli/daemon.h"
#include "cli/path.h"

/* The words of the command are in the order of enum snapshot_action. */
#define ACTIONS "record add-output list-output del-output"
enum snapshot_action { RECORD, ADD_OUTPUT, LIST_OUTPUT, DEL_OUTPUT };

struct snapshot_args {
	struct wmk_cli_common common;
	const char *name;
	uint64_t max_size;
};

static void print_output(const struct waymark_ctl_session_info *session)
{
	char size[32];

	if (!*session->snapshot_path) {
		printf("Session %s has no snapshot output.\n", session->name);
		return;
	}
	printf("%s: %s/%s-DATE-NUMBER", session->snapshot_name, wmk_cli_clean(session->snapshot_path),
	       session->snapshot_name);
	if (session->snapshot_max_size)
		printf(", at most %s", wmk_cli_size_text(session->snapshot_max_size, size, sizeof(size)));
	putchar('\n');
}

static void print_snapshot(const struct wmk_daemon *daemon)
{
	const struct waymark_ctl_snapshot_info *snapshot = waymark_ctl_result_snapshot(daemon->result);
	char bytes[32];

	printf("Session %s: snapshot of %llu record%s, %s, in %s\n", daemon->session,
	       (unsigned long long)snapshot->records, wmk_cli_plural(snapshot->records),
	       wmk_cli_bytes_text(snapshot->bytes, bytes, sizeof(bytes)), wmk_cli_clean(snapshot->path));
	if (snapshot->overwritten)
		printf("%llu older record%s had been overwritten.\n", (unsigned long long)snapshot->overwritten,
		       wmk_cli_plural(snapshot->overwritten));
}

static int act(struct wmk_daemon *daemon, const struct snapshot_args *args, enum snapshot_action action,
	       const char *argument)
{
	struct waymark_ctl_snapshot_options options = {
		.size = sizeof(options), .session = daemon->session, .name = args->name, .max_size = args->max_size,
	};
	char path[PATH_MAX];
	int err = argument && action != DEL_OUTPUT ? wmk_cli_absolute_path(argument, path, sizeof(path)) : 0;

	options.path = argument ? path : NULL;
	if (err < 0)
		return err;
	switch (action) {
	case RECORD:
		return wmk_daemon_did(daemon, waymark_ctl_snapshot_record(daemon->ctl, &options, &daemon->result));
	case ADD_OUTPUT:
		return wmk_daemon_did(daemon, waymark_ctl_snapshot_add_output(daemon->ctl, &options, &daemon->result));
	case DEL_OUTPUT:
		return wmk_daemon_did(daemon, waymark_ctl_snapshot_del_output(daemon->ctl, daemon->session, argument,
									      &daemon->result));
	default:
		return wmk_daemon_did(daemon, waymark_ctl_list_sessions(daemon->ctl, daemon->session, &daemon->result));
	}
}

static int check(const struct snapshot_args *args, enum snapshot_action action, int n_rest)
{
	if (n_rest > 2 || (n_rest > 1 && action == LIST_OUTPUT))
		return wmk_error(-EINVAL, "unexpected argument: give one %s",
				 action == DEL_OUTPUT ? "name" : "directory");
	if (action == ADD_OUTPUT && n_rest < 2)
		return wmk_error(-EINVAL, "no directory given: give the directory in which snapshots are made");
	if ((action == LIST_OUTPUT || action == DEL_OUTPUT) && (args->name || args->max_size))
		return wmk_error(-EINVAL, "--name and --max-size are options of record and add-output only");
	return 0;
}

static int run(void *data, char **rest, int n_rest)
{
	const struct snapshot_args *args = data;
	const struct waymark_ctl_session_info *session;
	struct wmk_daemon daemon;
	int action = n_rest ? wmk_cli_choice(ACTIONS, "unknown action \"@\"; the actions are: #", rest[0])
			    : wmk_error(-EINVAL, "no action given: give record, add-output, list-output or del-output");
	int err = action < 0 ? action : check(args, (enum snapshot_action)action, n_rest);

	if (err < 0)
		return err;
	err = wmk_daemon_open(&daemon, &args->common, WMK_DAEMON_SESSION);
	if (err == 0)
		err = act(&daemon, args, (enum snapshot_action)action, n_rest > 1 ? rest[1] : NULL);
	if (err == 0 && action == RECORD)
		wmk_recorded_set(waymark_ctl_result_snapshot(daemon.result)->path);
	session = err == 0 && action != RECORD ? wmk_daemon_session(&daemon) : NULL;
	if (err == 0 && action == RECORD && !args->common.json)
		print_snapshot(&daemon);
	if (session && !args->common.json)
		print_output(session);
	return wmk_daemon_close(&daemon, &args->common, err);
}

static const char *const details[] = {
	"record: copies what the buffers of the session hold now to a trace of its own, while recording continues. "
	"Applications do not wait, and lose no record. Only channels in overwrite mode are copied: all channels of a "
	"session that was created with --snapshot, else the user channels that were created with --overwrite. The "
	"records of kernel channels are taken out of the buffers of the kernel, so the next snapshot begins where "
	"this one ends. `waymark view` then shows the snapshot.",
	"The snapshot is a directory NAME-DATE-NUMBER in PATH. The default of NAME is `snapshot`. The default of PATH "
	"is the snapshot output of the session. A session that was created with --snapshot has an output, its own "
	"directory. Each stream is complete from its first record on; the number of older records that had been "
	"overwritten is in the environment of the trace, as snapshot_overwritten.",
	"With --max-size, the size is divided equally among all rings that have records. The snapshot has the newest "
	"sub-buffers of each ring.",
	"A program requests a snapshot with waymark_snapshot(\"reason\"), declared in <waymark/runtime.h>. `waymark "
	"list` prints the number of requests that were not served.",
	"add-output: sets the snapshot output: the directory, and the default of --name and --max-size. A session has "
	"one output. list-output prints it. del-output removes it; with NAME only if it has this name.",
	NULL
};

static const struct wmk_cli_option options[] = {
	WMK_CLI_OPTION_SESSION,
	{ 0, "name", "NAME", "The prefix of the names of snapshots.",
	  WMK_CLI_NAME(struct snapshot_args, name, "a snapshot") },
	{ 0, "max-size", "SIZE", "The maximum size of all streams of a snapshot together in bytes, with k, M or G.",
	  .store = wmk_cli_store_size, WMK_CLI_AT(uint64_t, struct snapshot_args, max_size) },
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_snapshot = {
	.name = "snapshot",
	.arguments = "record [PATH] | add-output PATH | list-output | del-output [NAME]",
	.choices = ACTIONS,
	.summary = "Record what the buffers of a session hold",
	.details = details,
	WMK_CLI_OPTIONS(options),
	.args_size = sizeof(struct snapshot_args),
	.run = run,
};
