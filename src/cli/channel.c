/* SPDX-License-Identifier: MIT */
/*
 * channel.c - `waymark enable-channel`, `waymark disable-channel`.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "cli/channel.h"
#include "cli/daemon.h"
#include "wire/ctl.h"

/* ── options ─────────────────────────────────────────────────────────────────────────────────────────── */

static int set_blocking_timeout(const struct wmk_cli_option *option, void *at, const char *value)
{
	int64_t *blocking_us = at;
	uint64_t us;
	int err;

	(void)option;
	if (strcmp(value, "inf") == 0) {
		*blocking_us = -1;
		return 0;
	}
	err = wmk_cli_number(value, INT32_MAX, &us);
	if (err < 0)
		return wmk_error_add(err, "microseconds are wanted, or \"inf\"");
	*blocking_us = (int64_t)us;
	return 0;
}

int wmk_channel_check(const struct wmk_channel_args *args)
{
	uint64_t least = args->overwrite ? 4 : 2;

	if (args->discard && args->overwrite)
		return wmk_error(-EINVAL, "--discard and --overwrite do not go together");
	if (args->buffers_uid && args->buffers_pid)
		return wmk_error(-EINVAL, "--buffers-uid and --buffers-pid do not go together");
	if (args->overwrite && args->blocking_us)
		return wmk_error(-EINVAL, "--blocking-timeout and --overwrite do not go together: an overwriting "
					  "channel always has room");
	if (args->n_subbufs && args->n_subbufs < least)
		return wmk_error(-EINVAL, "--num-subbuf: at least %u%s", (unsigned)least,
				 args->overwrite ? " with --overwrite" : "");
	if (args->field_limit &&
	    (args->field_limit < WMK_CTL_FIELD_LIMIT_MIN || args->field_limit > WMK_CTL_FIELD_LIMIT_MAX))
		return wmk_error(-EINVAL, "--field-limit: from %u to %u bytes", WMK_CTL_FIELD_LIMIT_MIN,
				 WMK_CTL_FIELD_LIMIT_MAX);
	if (args->tracefile_count && !args->tracefile_size)
		return wmk_error(-EINVAL, "--tracefile-count needs --tracefile-size: how long is each of the files?");
	if (args->tracefile_size && args->subbuf_size > args->tracefile_size)
		return wmk_error(-EINVAL,
				 "--tracefile-size is less than --subbuf-size: a file holds at least one sub-buffer");
	return wmk_cli_check_domain(&args->common);
}

/* ── enable-channel ──────────────────────────────────────────────────────────────────────────────────── */

static const struct waymark_ctl_channel_info *find(const struct wmk_daemon *daemon, const char *name)
{
	const struct waymark_ctl_session_info *session = wmk_daemon_session(daemon);

	for (unsigned i = 0; session && i < session->n_channels; i++)
		if (strcmp(session->channels[i]->name, name) == 0)
			return session->channels[i];
	return NULL;
}

static void tell_enabled(const struct wmk_daemon *daemon, const char *name)
{
	const struct waymark_ctl_channel_info *channel = find(daemon, name);
	char size[32];

	if (channel)
		printf("Channel %s of session %s is enabled: %llu sub-buffers of %s for each CPU and %s.\n", name,
		       daemon->session, (unsigned long long)channel->n_subbufs,
		       wmk_cli_size_text(channel->subbuf_size, size, sizeof(size)),
		       channel->buffers == WAYMARK_CTL_PER_PID ? "process" : "user");
}

static int enable(struct wmk_daemon *daemon, const struct wmk_channel_args *args, char **names, unsigned n)
{
	struct waymark_ctl_domain domain = wmk_daemon_domain(&args->common);
	struct waymark_ctl_channel_options options = {
		.size = sizeof(options),
		.session = daemon->session,
		.domain = &domain,
		.mode = args->overwrite ? WAYMARK_CTL_OVERWRITE : WAYMARK_CTL_DISCARD,
		.buffers = args->buffers_pid ? WAYMARK_CTL_PER_PID : WAYMARK_CTL_PER_UID,
		.subbuf_size = args->subbuf_size,
		.n_subbufs = args->n_subbufs,
		.blocking_us = args->blocking_us,
		.field_limit = args->field_limit,
		.tracefile_size = args->tracefile_size,
		.tracefile_count = args->tracefile_count,
		.call_arguments = args->call_arguments,
	};
	int err = 0;

	for (unsigned i = 0; i < n && err == 0; i++) {
		options.name = names[i];
		wmk_daemon_drop(daemon);
		err = wmk_daemon_did(daemon, waymark_ctl_enable_channel(daemon->ctl, &options, &daemon->result));
		if (err == 0 && !args->common.json)
			tell_enabled(daemon, names[i]);
	}
	return err;
}

/* Names of channels, of all arguments and of -c. */
static int channel_names(const struct wmk_cli_common *common, char **rest, int n_rest, struct wmk_cli_words *names)
{
	int err = common->channel ? wmk_cli_words_add(names, common->channel) : 0;

	for (int i = 0; i < n_rest && err == 0; i++)
		err = wmk_cli_words_add(names, rest[i]);
	if (err == 0 && !names->n)
		return wmk_error(-EINVAL, "which channel?");
	return err;
}

static int run_enable(void *data, char **rest, int n_rest)
{
	struct wmk_channel_args *args = data;
	struct wmk_daemon daemon = { 0 };
	struct wmk_cli_words names = { NULL, 0 };
	int err = wmk_channel_check(args), status;

	if (err == 0)
		err = channel_names(&args->common, rest, n_rest, &names);
	if (err < 0) {
		wmk_cli_words_free(&names);
		return err;
	}
	err = wmk_daemon_open(&daemon, &args->common, WMK_DAEMON_SESSION);
	daemon.channel = NULL;           /* that it is not there yet is as it should be */
	if (err == 0)
		err = enable(&daemon, args, names.items, names.n);
	status = wmk_daemon_close(&daemon, &args->common, err);
	wmk_cli_words_free(&names);
	return status;
}

static const char *const enable_details[] = {
	"A channel is a set of buffers of one configuration, to which events and contexts belong. It is made when it "
	"is not there yet; `waymark enable-event` makes channel0 by itself. A session that records already records "
	"through the new channel at once.",
	"For each CPU there are --num-subbuf sub-buffers of --subbuf-size bytes: memory, multiplied by the CPUs and by "
	"the users (or, with --buffers-pid, processes) that record. A channel that is for one process (--pid "
	"without --follow) has buffers and a trace of that process's own, and they end with it.",
	"When all of a CPU's sub-buffers are full, new records are lost and counted (--discard); or the program waits "
	"(--blocking-timeout), if it was started with WAYMARK_ALLOW_BLOCKING=1 in its environment; or the oldest "
	"records are given up (--overwrite), so that the buffers hold what happened last: a flight recorder. What they "
	"hold is written when the session is stopped or destroyed.",
	"An event of programs is recorded into one channel of a session: the first, in the order in which they were "
	"made, that has a rule for it.",
	"A kernel channel (--kernel) has its buffers in the kernel, one for each CPU, of --num-subbuf times "
	"--subbuf-size bytes; how they are parted there is the kernel's. It has no use for --blocking-timeout and "
	"--buffers-pid, which are refused. Each kernel channel records what its own rules say: an event that two of "
	"them name is in the trace twice.",
	NULL
};

static const struct wmk_cli_option enable_options[] = {
	WMK_CLI_OPTIONS_DOMAIN,
	WMK_CLI_OPTION_SESSION,
	WMK_CLI_OPTION_CHANNEL("The channel's name, as well as by an argument."),
	{ 0, "discard", NULL, "Lose new records when the buffers are full. The default.",
	  WMK_CLI_FLAG(struct wmk_channel_args, discard) },
	{ 0, "overwrite", NULL, "Give up the oldest records when the buffers are full.",
	  WMK_CLI_FLAG(struct wmk_channel_args, overwrite) },
	{ 0, "blocking-timeout", "USEC", "With --discard: a program waits so many microseconds for room before a "
	  "record is lost; inf: for ever. Programs without WAYMARK_ALLOW_BLOCKING=1 in their environment do not wait.",
	  .store = set_blocking_timeout, WMK_CLI_AT(int64_t, struct wmk_channel_args, blocking_us) },
	{ 0, "subbuf-size", "SIZE", "Bytes of a sub-buffer, with k, M or G; rounded up to a power of two. The default "
	  "is 1M.", WMK_CLI_SUBBUF_SIZE(struct wmk_channel_args, subbuf_size) },
	{ 0, "num-subbuf", "N", "Sub-buffers for each CPU, rounded up to a power of two. The default is 8.",
	  WMK_CLI_NUM_SUBBUF(struct wmk_channel_args, n_subbufs) },
	{ 0, "buffers-uid", NULL, "Buffers are shared by the programs of a user. The default.",
	  WMK_CLI_FLAG(struct wmk_channel_args, buffers_uid) },
	{ 0, "buffers-pid", NULL, "Each process has buffers, and a trace, of its own.",
	  WMK_CLI_FLAG(struct wmk_channel_args, buffers_pid) },
	{ 0, "field-limit", "SIZE", "Bytes of a string or sequence: what is longer is cut, and counted. 16 to 64k, "
	  "which is the default.", WMK_CLI_SIZE(struct wmk_channel_args, field_limit) },
	{ 'C', "tracefile-size", "SIZE", "Continue a stream in a new file when its file has this size.",
	  WMK_CLI_SIZE(struct wmk_channel_args, tracefile_size) },
	{ 'W', "tracefile-count", "N", "Keep so many files of a stream; the oldest are replaced. With "
	  "--tracefile-size.", WMK_CLI_NUMBER(struct wmk_channel_args, tracefile_count, UINT32_MAX) },
	{ 0, "syscall-arguments", "WHAT", "With --kernel, of system calls' arguments that point to something: text "
	  "records paths, texts, addresses and first bytes, where BPF can be had; none the pointers alone, as numbers. "
	  "The default is text.", WMK_CHANNEL_CALL_ARGUMENTS(struct wmk_channel_args) },
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_enable_channel = {
	.name = "enable-channel",
	.arguments = "CHANNEL[,CHANNEL]...",
	.summary = "Make a channel, or enable it again",
	.details = enable_details,
	WMK_CLI_OPTIONS(enable_options),
	.args_size = sizeof(struct wmk_channel_args),
	.run = run_enable,
};

/* ── disable-channel ─────────────────────────────────────────────────────────────────────────────────── */

static int disable(struct wmk_daemon *daemon, const struct wmk_channel_args *args, char **names, unsigned n)
{
	struct waymark_ctl_domain domain = wmk_daemon_domain(&args->common);
	struct waymark_ctl_events_options options = { .size = sizeof(options),
						      .session = daemon->session,
						      .domain = &domain };
	int err = 0;

	for (unsigned i = 0; i < n && err == 0; i++) {
		options.channel = daemon->channel = names[i];
		wmk_daemon_drop(daemon);
		err = wmk_daemon_did(daemon, waymark_ctl_disable_channel(daemon->ctl, &options, &daemon->result));
		if (err == 0 && !args->common.json)
			printf("Channel %s of session %s is disabled.\n", names[i], daemon->session);
	}
	return err;
}

static int run_disable(void *data, char **rest, int n_rest)
{
	struct wmk_channel_args *args = data;
	struct wmk_daemon daemon = { 0 };
	struct wmk_cli_words names = { NULL, 0 };
	int err = wmk_cli_check_domain(&args->common), status;

	if (err == 0)
		err = channel_names(&args->common, rest, n_rest, &names);
	if (err < 0) {
		wmk_cli_words_free(&names);
		return err;
	}
	err = wmk_daemon_open(&daemon, &args->common, WMK_DAEMON_SESSION);
	if (err == 0)
		err = disable(&daemon, args, names.items, names.n);
	status = wmk_daemon_close(&daemon, &args->common, err);
	wmk_cli_words_free(&names);
	return status;
}

static const char *const disable_details[] = {
	"Its events are recorded no longer. What it recorded stays in the trace; `waymark enable-channel` enables it "
	"again, with its events.",
	NULL
};

static const struct wmk_cli_option disable_options[] = {
	WMK_CLI_OPTIONS_DOMAIN,
	WMK_CLI_OPTION_SESSION,
	WMK_CLI_OPTION_CHANNEL("The channel's name, as well as by an argument."),
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_disable_channel = {
	.name = "disable-channel",
	.arguments = "CHANNEL[,CHANNEL]...",
	.summary = "Stop recording through a channel",
	.details = disable_details,
	WMK_CLI_OPTIONS(disable_options),
	.args_size = sizeof(struct wmk_channel_args),
	.run = run_disable,
};
