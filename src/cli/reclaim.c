/* SPDX-License-Identifier: MIT */
/*
 * reclaim.c - `waymark reclaim-memory`.
 */
#include <errno.h>

#include "base/error.h"
#include "cli/daemon.h"
#include "cli/show.h"

/* 31 years */
#define TIME_MAX_US 1000000000000000

struct reclaim_args {
	struct wmk_cli_common common;
	struct wmk_cli_words channels;
	bool all;
	int64_t idle_us;
};

static int reclaim(const struct reclaim_args *args)
{
	const struct waymark_ctl_session_info *session;
	struct wmk_daemon daemon;
	int err = wmk_daemon_open(&daemon, &args->common, WMK_DAEMON_SESSION);

	if (err == 0)
		err = wmk_daemon_did(&daemon, waymark_ctl_reclaim_memory(
						      daemon.ctl, daemon.session,
						      (const char *const *)args->channels.items, args->channels.n,
						      (uint64_t)args->idle_us, &daemon.result));
	session = err == 0 && !args->common.json ? wmk_daemon_session(&daemon) : NULL;
	if (session)
		wmk_show_memory(&session, 1, NULL);
	return wmk_daemon_close(&daemon, &args->common, err);
}

static int run(void *data, char **rest, int n_rest)
{
	struct reclaim_args *args = data;
	int err = 0;

	for (int i = 0; i < n_rest && err == 0; i++)
		err = wmk_cli_words_add(&args->channels, rest[i]);
	if (err == 0 && args->all && args->channels.n)
		err = wmk_error(-EINVAL, "--all and names of channels exclude each other");
	if (err == 0)
		err = reclaim(args);
	wmk_cli_words_free(&args->channels);
	return err;
}

static const char *const details[] = {
	"A buffer keeps two sub-buffers, the current and the next one. The memory of all others is given back. The "
	"consumer daemon allocates the memory again after the next record. If applications fill both sub-buffers "
	"before that, further records are lost and counted (no memory). No record that is in a buffer is lost.",
	"Buffers of kernel channels, and of channels with --overwrite, --blocking-timeout or --wake=timer, keep their "
	"memory. `waymark enable-channel --auto-reclaim-memory` gives memory back without a command. `waymark list "
	"--mem-usage` shows the memory of buffers, and how much was given back.",
	NULL
};

static const struct wmk_cli_option options[] = {
	WMK_CLI_OPTION_SESSION,
	{ 'c', "channel", "CHANNEL", "Buffers of this channel, as an alternative to the argument. Several are "
				     "separated by commas.",
	  WMK_CLI_WORDS(struct reclaim_args, channels), .repeats = true },
	{ 'a', "all", NULL, "Buffers of all channels that can give memory back. This is the default.",
	  WMK_CLI_FLAG(struct reclaim_args, all) },
	{ 0, "older-than", "USEC",
	  "Only buffers that had no record for this time, in microseconds or with ms, s, m, h. The default is 0: each "
	  "buffer, once all its complete sub-buffers are in the trace.",
	  WMK_CLI_MICROSECONDS(struct reclaim_args, idle_us, 0, TIME_MAX_US) },
	WMK_CLI_OPTION_USERSPACE("Use the user domain: applications. This is the default, and the only domain."),
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_reclaim = {
	.name = "reclaim-memory",
	.arguments = "[CHANNEL]...",
	.summary = "Give the memory of idle buffers back to the system",
	.details = details,
	WMK_CLI_OPTIONS(options),
	.args_size = sizeof(struct reclaim_args),
	.run = run,
};
