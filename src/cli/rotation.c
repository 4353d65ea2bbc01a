/* SPDX-License-Identifier: MIT */
/*
 * rotation.c - `waymark enable-rotation`, `disable-rotation`: set when the chunks of a session are rotated, and which
 * closed chunks are kept.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "cli/daemon.h"
#include "cli/show.h"

/* 31 years */
#define TIME_MAX_US 1000000000000000

struct rotation_args {
	struct wmk_cli_common common;
	int64_t timer_us, retain_us;     /* enable; 0: not given */
	uint64_t size, retain_size, retain_count;    /* enable; 0: not given */
	bool off_timer, off_size, off_retention;     /* disable */
};

static int enable(struct wmk_daemon *daemon, const struct rotation_args *args)
{
	const struct waymark_ctl_rotation_options options = {
		.size = sizeof(options),
		.session = daemon->session,
		.rotate_us = (uint64_t)args->timer_us,
		.rotate_size = args->size,
		.retain_size = args->retain_size,
		.retain_us = (uint64_t)args->retain_us,
		.retain_count = args->retain_count,
	};

	return waymark_ctl_enable_rotation(daemon->ctl, &options, &daemon->result);
}

static int disable(struct wmk_daemon *daemon, const struct rotation_args *args)
{
	const uint32_t parts = (args->off_timer ? WAYMARK_CTL_ROTATION_TIMER : 0) |
			       (args->off_size ? WAYMARK_CTL_ROTATION_SIZE : 0) |
			       (args->off_retention ? WAYMARK_CTL_ROTATION_RETENTION : 0);

	return waymark_ctl_disable_rotation(daemon->ctl, daemon->session, parts, &daemon->result);
}

static int change(struct rotation_args *args, char **rest, int n_rest,
		  int (*request)(struct wmk_daemon *daemon, const struct rotation_args *args))
{
	const struct waymark_ctl_session_info *session;
	struct wmk_daemon daemon;
	int err = wmk_cli_session_argument(&args->common, rest, n_rest);

	if (err < 0)
		return err;
	err = wmk_daemon_open(&daemon, &args->common, WMK_DAEMON_SESSION);
	if (err == 0)
		err = wmk_daemon_did(&daemon, request(&daemon, args));
	session = err == 0 && !args->common.json ? wmk_daemon_session(&daemon) : NULL;
	if (session) {
		printf("Session %s:\n  ", session->name);
		if (!wmk_show_rotation(session))
			printf("no scheduled rotations");
		putchar('\n');
	}
	return wmk_daemon_close(&daemon, &args->common, err);
}

static int run_enable(void *data, char **rest, int n_rest)
{
	const struct rotation_args *args = data;

	if (!args->timer_us && !args->size && !args->retain_size && !args->retain_us && !args->retain_count)
		return wmk_error(-EINVAL, "no schedule given: give --timer, --size, or one of --retain-size, "
				 "--retain-age and --retain-count");
	return change(data, rest, n_rest, enable);
}

static int run_disable(void *data, char **rest, int n_rest)
{
	return change(data, rest, n_rest, disable);
}

static const char *const enable_details[] = {
	"The session daemon rotates the session by this schedule, as `waymark rotate` does, while the session is "
	"active. With --timer and --size, it rotates when the first of the two limits is reached. Options that are "
	"not given keep their setting. `waymark list` shows all of them, and `waymark save` saves them.",
	"With --retain-size, --retain-age or --retain-count, the oldest closed chunks are deleted after each "
	"rotation, also after `waymark rotate`. The open chunk is never deleted. --retain-size is the size of the "
	"whole trace, with the open chunk. --retain-size implies a rotation at a tenth of this size, and --retain-age "
	"at a tenth of this time, so each deletion removes a small part of the trace.",
	"A chunk that `waymark view` or another reader of Waymark reads is deleted at a rotation after the reader has "
	"finished, or after 10 minutes at the latest. The consumer daemon logs both the delay and a deletion during "
	"reading.",
	"Only directories in archives/ with the name of a chunk are deleted. `waymark create --compress` compresses "
	"the chunks that are kept; --retain-size then counts their compressed size.",
	NULL
};

static const struct wmk_cli_option enable_options[] = {
	WMK_CLI_OPTION_SESSION,
	{ 0, "timer", "USEC", "Rotate at this interval, in microseconds or with ms, s, m, h; at least 100ms.",
	  WMK_CLI_MICROSECONDS(struct rotation_args, timer_us, 100000, TIME_MAX_US) },
	{ 0, "size", "SIZE", "Rotate when the open chunk has this size in bytes, with k, M or G; at least 4k.",
	  WMK_CLI_SIZE(struct rotation_args, size) },
	{ 0, "retain-size", "SIZE", "Delete the oldest closed chunks when the trace has more than this size in bytes, "
	  "with k, M or G; at least 40k.", WMK_CLI_SIZE(struct rotation_args, retain_size) },
	{ 0, "retain-age", "USEC", "Delete chunks that were closed longer ago than this, in microseconds or with ms, "
	  "s, m, h; at least 1s.", WMK_CLI_MICROSECONDS(struct rotation_args, retain_us, 1000000, TIME_MAX_US) },
	{ 0, "retain-count", "N", "Keep at most this many closed chunks.",
	  WMK_CLI_NUMBER(struct rotation_args, retain_count, UINT32_MAX) },
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_enable_rotation = {
	.name = "enable-rotation",
	.arguments = "[SESSION]",
	.summary = "Rotate a session by a schedule, and limit what is kept",
	.details = enable_details,
	WMK_CLI_OPTIONS(enable_options),
	.args_size = sizeof(struct rotation_args),
	.run = run_enable,
};

static const char *const disable_details[] = {
	"Without options, the whole schedule of `waymark enable-rotation` ends: the session is rotated only by "
	"`waymark rotate`, and all its chunks are kept.",
	NULL
};

static const struct wmk_cli_option disable_options[] = {
	WMK_CLI_OPTION_SESSION,
	{ 0, "timer", NULL, "Remove only the interval.", WMK_CLI_FLAG(struct rotation_args, off_timer) },
	{ 0, "size", NULL, "Remove only the maximum size of a chunk.", WMK_CLI_FLAG(struct rotation_args, off_size) },
	{ 0, "retention", NULL, "Remove only the limits of the chunks that are kept.",
	  WMK_CLI_FLAG(struct rotation_args, off_retention) },
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_disable_rotation = {
	.name = "disable-rotation",
	.arguments = "[SESSION]",
	.summary = "End the schedule of a session's rotations",
	.details = disable_details,
	WMK_CLI_OPTIONS(disable_options),
	.args_size = sizeof(struct rotation_args),
	.run = run_disable,
};
