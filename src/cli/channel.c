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
	err = wmk_cli_microseconds(value, INT32_MAX, &us);
	if (err < 0)
		return wmk_error_add(err, "invalid timeout: give microseconds, or \"inf\"");
	*blocking_us = (int64_t)us;
	return 0;
}

static int set_flush_interval(const struct wmk_cli_option *option, void *at, const char *value)
{
	uint64_t ms;
	int err = wmk_cli_number(value, INT32_MAX, &ms);

	(void)option;
	if (err == 0)
		*(int64_t *)at = ms ? (int64_t)ms * 1000 : -1;
	return err;
}

static int set_switch_timer(const struct wmk_cli_option *option, void *at, const char *value)
{
	uint64_t us;
	int err = wmk_cli_microseconds(value, INT32_MAX, &us);

	(void)option;
	if (err == 0)
		*(int64_t *)at = us ? (int64_t)us : -1;
	return err;
}

#define RECLAIM_CONSUMED_US 100000
#define RECLAIM_MIN_US 1000

/* "off", "consumed", a time, or "older-than:" and a time. */
static int set_reclaim(const struct wmk_cli_option *option, void *at, const char *value)
{
	static const char prefix[] = "older-than:";
	const size_t skip = strncmp(value, prefix, sizeof(prefix) - 1) == 0 ? sizeof(prefix) - 1 : 0;
	uint64_t us;
	int err = 0;

	(void)option;
	if (strcmp(value, "off") == 0)
		us = 0;
	else if (strcmp(value, "consumed") == 0)
		us = RECLAIM_CONSUMED_US;
	else if ((err = wmk_cli_microseconds(value + skip, INT64_MAX, &us)) == 0 && us < RECLAIM_MIN_US)
		err = wmk_error(-EINVAL, "%s is too short: the minimum idle time of buffers is 1ms", value);
	if (err == 0)
		*(int64_t *)at = (int64_t)us;
	return err;
}

enum { OWNED_BY_USER = 1, OWNED_BY_PROCESS };
enum { WAKE_WRITER = 1, WAKE_TIMER };
#define READ_TIMER_DEFAULT_US 100000

int wmk_channel_check(const struct wmk_channel_args *args)
{
	uint64_t least = args->overwrite ? 4 : 2;

	if (args->discard && args->overwrite)
		return wmk_error(-EINVAL, "--discard and --overwrite exclude each other");
	if ((args->buffers_uid || args->ownership == OWNED_BY_USER) &&
	    (args->buffers_pid || args->ownership == OWNED_BY_PROCESS))
		return wmk_error(-EINVAL, "--buffers-uid and --buffers-pid exclude each other (--buffer-ownership is "
				 "another form of them)");
	if (args->wake == WAKE_WRITER && args->read_us)
		return wmk_error(-EINVAL, "--wake=writer and --read-timer exclude each other");
	if (args->overwrite && args->blocking_us)
		return wmk_error(-EINVAL,
				 "--blocking-timeout and --overwrite exclude each other: a channel in overwrite mode "
				 "always has space");
	if (args->overwrite && args->flush_us > 0)
		return wmk_error(-EINVAL,
				 "--flush-interval and --overwrite exclude each other: a channel in overwrite mode is "
				 "written at stop");
	if (args->n_subbufs && args->n_subbufs < least)
		return wmk_error(-EINVAL, "--num-subbuf %llu: the minimum is %u%s", (unsigned long long)args->n_subbufs,
				 (unsigned)least, args->overwrite ? " with --overwrite" : "");
	if (args->field_limit &&
	    (args->field_limit < WMK_CTL_FIELD_LIMIT_MIN || args->field_limit > WMK_CTL_FIELD_LIMIT_MAX))
		return wmk_error(-EINVAL, "--field-limit %llu is out of range %u to %u bytes",
				 (unsigned long long)args->field_limit, WMK_CTL_FIELD_LIMIT_MIN,
				 WMK_CTL_FIELD_LIMIT_MAX);
	if (args->tracefile_count && !args->tracefile_size)
		return wmk_error(-EINVAL, "--tracefile-count needs --tracefile-size");
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
		printf("Channel %s of session %s is enabled: %llu sub-buffers of %s for each %s and %s.\n", name,
		       daemon->session, (unsigned long long)channel->n_subbufs,
		       wmk_cli_size_text(channel->subbuf_size, size, sizeof(size)),
		       channel->allocation == WAYMARK_CTL_RINGS_PER_CHANNEL ? "of min(8, CPUs) rings" : "CPU",
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
		.buffers = args->buffers_pid || args->ownership == OWNED_BY_PROCESS ? WAYMARK_CTL_PER_PID
										   : WAYMARK_CTL_PER_UID,
		.subbuf_size = args->subbuf_size,
		.n_subbufs = args->n_subbufs,
		.blocking_us = args->blocking_us,
		.field_limit = args->field_limit,
		.flush_us = args->flush_us,
		.tracefile_size = args->tracefile_size,
		.tracefile_count = args->tracefile_count,
		.call_arguments = args->call_arguments,
		.allocation = args->allocation ? args->allocation - 1 : WAYMARK_CTL_RINGS_PER_CPU,
		.preallocation = args->preallocation,
		.poll_us = (uint64_t)args->read_us,
		.reclaim_us = (uint64_t)args->reclaim_us,
	};
	int err = 0;

	if (args->wake == WAKE_TIMER && !options.poll_us)
		options.poll_us = READ_TIMER_DEFAULT_US;
	for (unsigned i = 0; i < n && err == 0; i++) {
		options.name = names[i];
		wmk_daemon_drop(daemon);
		err = wmk_daemon_did(daemon, waymark_ctl_enable_channel(daemon->ctl, &options, &daemon->result));
		if (err == 0 && !args->common.json)
			tell_enabled(daemon, names[i]);
	}
	return err;
}

/* Collect channel names from the option -c and from all arguments. */
static int channel_names(const struct wmk_cli_common *common, char **rest, int n_rest, struct wmk_cli_words *names)
{
	int err = common->channel ? wmk_cli_words_add(names, common->channel) : 0;

	for (int i = 0; i < n_rest && err == 0; i++)
		err = wmk_cli_words_add(names, rest[i]);
	if (err == 0 && !names->n)
		return wmk_error(-EINVAL, "no channel given: give its name");
	return err;
}

/* Apply `change` to the channels that -c and the arguments name. */
static int run(struct wmk_channel_args *args, char **rest, int n_rest,
	       int (*change)(struct wmk_daemon *, const struct wmk_channel_args *, char **names, unsigned n))
{
	struct wmk_daemon daemon;
	struct wmk_cli_words names = { NULL, 0 };
	int err = channel_names(&args->common, rest, n_rest, &names);

	if (err == 0) {
		err = wmk_daemon_open(&daemon, &args->common, WMK_DAEMON_SESSION);
		daemon.channel = NULL;           /* with enable(), an unknown channel is not an error */
		if (err == 0)
			err = change(&daemon, args, names.items, names.n);
		err = wmk_daemon_close(&daemon, &args->common, err);
	}
	wmk_cli_words_free(&names);
	return err;
}

static int run_enable(void *data, char **rest, int n_rest)
{
	const int err = wmk_channel_check(data);

	return err < 0 ? err : run(data, rest, n_rest, enable);
}

static const char *const enable_details[] = {
	"A channel is a set of buffers of one configuration, with event rules and context fields. `waymark "
	"enable-event` creates channel0 if it is needed. If the session records, the new channel records at once.",
	"Each CPU has --num-subbuf sub-buffers of --subbuf-size bytes. The memory is the product of both, of the "
	"number of CPUs, and of the number of users that record (with --buffers-pid, of processes). A channel for one "
	"process (--pid without --follow) has buffers and a trace of its own, which end with the process.",
	"When all sub-buffers of a CPU are full, new records are lost and counted (--discard). With "
	"--blocking-timeout, applications that run with WAYMARK_ALLOW_BLOCKING=1 in their environment wait for space "
	"first. With --overwrite, the oldest records are lost: the buffers hold the newest records, which are written "
	"when the session is stopped or destroyed (a flight recorder).",
	"With --wake=timer, all memory of the rings is allocated at once. A record that would need a system call is "
	"lost and counted: one above 16 KiB, or of a thread without restartable sequences (rseq). The context fields "
	"vpid, vtid and procname are read by system calls at the first record of a thread. --blocking-timeout is "
	"refused.",
	"With --auto-reclaim-memory, a buffer keeps two sub-buffers when it gives its memory back: the current and "
	"the next one. The consumer daemon allocates the memory again after the next record. If applications fill "
	"both sub-buffers before that, further records are lost and counted (no memory). `waymark reclaim-memory` "
	"does the same on request. --overwrite, --blocking-timeout and --wake=timer are refused.",
	"If several channels for all applications match an event, only the oldest enabled one records it. The same "
	"applies to several channels with --pid, with --exec or with --follow.",
	"A kernel channel (--kernel) has one buffer per CPU in the kernel, of --num-subbuf times --subbuf-size bytes; "
	"the kernel divides it by its own rules. --blocking-timeout and --buffers-pid are refused. Each kernel channel "
	"records what its own rules match: an event that matches rules of two channels is recorded twice.",
	NULL
};

static const struct wmk_cli_option enable_options[] = {
	WMK_CLI_OPTIONS_DOMAIN,
	WMK_CLI_OPTION_SESSION,
	WMK_CLI_OPTION_CHANNEL("The name of the channel, as an alternative to the argument."),
	{ 0, "discard", NULL, "Lose new records when the buffers are full. This is the default.",
	  WMK_CLI_FLAG(struct wmk_channel_args, discard) },
	{ 0, "overwrite", NULL, "Lose the oldest records when the buffers are full.",
	  WMK_CLI_FLAG(struct wmk_channel_args, overwrite) },
	{ 0, "blocking-timeout", "USEC",
	  "With --discard: the maximum time, in microseconds, that an application waits for space before a record is "
	  "lost; inf: no limit. Only applications with WAYMARK_ALLOW_BLOCKING=1 in their environment wait.",
	  .store = set_blocking_timeout, WMK_CLI_AT(int64_t, struct wmk_channel_args, blocking_us) },
	{ 0, "flush-interval", "MS",
	  "With --discard: the maximum time, in milliseconds, from a record to the trace; 0: records are written when "
	  "their sub-buffer is full. The default is 1000.",
	  .store = set_flush_interval, WMK_CLI_AT(int64_t, struct wmk_channel_args, flush_us) },
	{ 0, "switch-timer", "USEC", "Like --flush-interval, but in microseconds (LTTng's form).",
	  .store = set_switch_timer, WMK_CLI_AT(int64_t, struct wmk_channel_args, flush_us) },
	{ 0, "subbuf-size", "SIZE",
	  "The size of a sub-buffer in bytes, with k, M or G; rounded up to a power of two. The default is 1M.",
	  WMK_CLI_SUBBUF_SIZE(struct wmk_channel_args, subbuf_size) },
	{ 0, "num-subbuf", "N", "The number of sub-buffers per CPU, rounded up to a power of two. The default is 8.",
	  WMK_CLI_NUM_SUBBUF(struct wmk_channel_args, n_subbufs) },
	{ 0, "buffers-uid", NULL, "All applications of a user share buffers. This is the default.",
	  WMK_CLI_FLAG(struct wmk_channel_args, buffers_uid) },
	{ 0, "buffers-pid", NULL, "Each process has its own buffers and trace.",
	  WMK_CLI_FLAG(struct wmk_channel_args, buffers_pid) },
	{ 0, "buffer-ownership", "OWNER", "user: same as --buffers-uid; process: same as --buffers-pid (LTTng's form).",
	  WMK_CLI_CHOICE(struct wmk_channel_args, ownership, "user process",
			 "unknown owner '@': the owners are user and process"), .min = OWNED_BY_USER },
	{ 0, "buffer-allocation", "HOW",
	  "per-cpu: a ring for each CPU. per-channel: min(8, CPUs) rings that all threads share; they need less memory "
	  "on machines with many CPUs, and recording takes about 0.6 us longer. The default is per-cpu.",
	  WMK_CLI_CHOICE(struct wmk_channel_args, allocation, "per-cpu per-channel",
			 "unknown allocation '@': the allocations are per-cpu and per-channel"), .min = 1 },
	{ 0, "buffer-preallocation", "WHEN",
	  "preallocate: allocate all memory of the buffers when they are created. on-demand: allocate one sub-buffer "
	  "of each ring, and the rest of a ring at its first record. By default, at most 64 MiB are allocated at "
	  "once, and the rest on demand.",
	  WMK_CLI_CHOICE(struct wmk_channel_args, preallocation, "preallocate on-demand",
			 "unknown preallocation '@': the values are preallocate and on-demand"),
	  .min = WAYMARK_CTL_PREALLOCATE_ALL },
	{ 0, "wake", "BY",
	  "writer: an application wakes the sleeping consumer daemon. timer: the consumer daemon reads at an interval, "
	  "and recording makes no system call, for real-time programs. The default is writer.",
	  WMK_CLI_CHOICE(struct wmk_channel_args, wake, "writer timer",
			 "unknown value '@': the values are writer and timer"), .min = WAKE_WRITER },
	{ 0, "read-timer", "USEC",
	  "The interval at which the consumer daemon reads, in microseconds, or with ms or s, from 1 ms to 60 s. "
	  "Implies --wake=timer. The default is 100 ms.",
	  WMK_CLI_MICROSECONDS(struct wmk_channel_args, read_us, 1000, 60000000) },
	{ 0, "auto-reclaim-memory", "TIME",
	  "Give the memory of a buffer back to the system after this time without records, in microseconds or with "
	  "ms, s, m, h, at least 1ms (also older-than:TIME, as in LTTng). consumed: after 100ms; off: never. The "
	  "default is off.",
	  .store = set_reclaim, WMK_CLI_AT(int64_t, struct wmk_channel_args, reclaim_us) },
	{ 0, "field-limit", "SIZE",
	  "The maximum size of a string or sequence, from 16 bytes to 64k. A longer value is cut and counted. The "
	  "default is 64k.",
	  WMK_CLI_SIZE(struct wmk_channel_args, field_limit) },
	{ 'C', "tracefile-size", "SIZE", "Continue a stream in a new file when its file reaches this size.",
	  WMK_CLI_SIZE(struct wmk_channel_args, tracefile_size) },
	{ 'W', "tracefile-count", "N",
	  "The number of files to keep per stream; the oldest file is replaced. Requires --tracefile-size.",
	  WMK_CLI_NUMBER(struct wmk_channel_args, tracefile_count, UINT32_MAX) },
	{ 0, "syscall-arguments", "WHAT",
	  "With --kernel: how to record arguments of system calls that are pointers. text: also record the paths, "
	  "texts, addresses and first bytes that they point to, if BPF is available; none: record only the pointers. "
	  "The default is text.",
	  WMK_CHANNEL_CALL_ARGUMENTS(struct wmk_channel_args) },
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_enable_channel = {
	.name = "enable-channel",
	.arguments = "CHANNEL[,CHANNEL]...",
	.summary = "Create or enable a channel",
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
	const struct wmk_channel_args *args = data;
	const int err = wmk_cli_check_domain(&args->common);

	return err < 0 ? err : run(data, rest, n_rest, disable);
}

static const char *const disable_details[] = {
	"The events of the channel are no longer recorded. Recorded events stay in the trace. `waymark enable-channel` "
	"enables the channel again, with its rules.",
	NULL
};

static const struct wmk_cli_option disable_options[] = {
	WMK_CLI_OPTIONS_DOMAIN,
	WMK_CLI_OPTION_SESSION,
	WMK_CLI_OPTION_CHANNEL("The name of the channel, as an alternative to the argument."),
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_disable_channel = {
	.name = "disable-channel",
	.arguments = "CHANNEL[,CHANNEL]...",
	.summary = "Disable a channel",
	.details = disable_details,
	WMK_CLI_OPTIONS(disable_options),
	.args_size = sizeof(struct wmk_channel_args),
	.run = run_disable,
};
