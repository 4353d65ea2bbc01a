/* SPDX-License-Identifier: MIT */
/*
 * daemon.h - a command's dealings with the session daemon, by <waymark/ctl.h> and nothing else.
 *
 *     struct wmk_daemon daemon;
 *     int err = wmk_daemon_open(&daemon, args, WMK_DAEMON_SESSION);          connect; which session is meant?
 *
 *     if (err == 0)
 *         err = wmk_daemon_did(&daemon, waymark_ctl_start(daemon.ctl, daemon.session, &daemon.result));
 *     if (err == 0 && !args->json)
 *         ... print daemon.result ...
 *     return wmk_daemon_close(&daemon, args, err);                            error, or warnings and JSON; the exit status
 *
 * Errors are -errno with a cause chain of the command's own. One thread.
 */
#ifndef WMK_CLI_DAEMON_H
#define WMK_CLI_DAEMON_H

#include <waymark/ctl.h>

#include "cli/command.h"

/* -n, --no-sessiond before the command: connect to the daemon that runs, but do not start one. */
extern bool wmk_cli_no_sessiond;

struct wmk_daemon {
	struct waymark_ctl *ctl;
	struct waymark_ctl_result *result;       /* of the latest request, or NULL */
	char session[256];                       /* the one that is meant; "": none, or all */
	const char *channel;                     /* for words about what is not there */
};

enum wmk_daemon_need {
	WMK_DAEMON_ANY,                          /* the session that is named, if one is */
	WMK_DAEMON_SESSION,                      /* else the current one; there must be one */
	/* as ANY, but none is started; one that hangs is not waited for long */
	WMK_DAEMON_RUNNING,
};

/* Connect; a daemon is started when none runs, unless -n was given. In any case followed by wmk_daemon_close(). */
int wmk_daemon_open(struct wmk_daemon *daemon, const struct wmk_cli_common *args, enum wmk_daemon_need need);
/*
 * Connect to a daemon that is started in `rundir` to take over the rings in `path`
 * (waymark_ctl_connect_options.recover), likewise.
 */
int wmk_daemon_recover(struct wmk_daemon *daemon, const char *rundir, const char *path);
/*
 * What a function of ctl.h returned, as an error of ours. When what was named is not there, the cause chain says what
 * is. Else prints the warnings of daemon->result, and names the programs that have not answered.
 */
int wmk_daemon_did(struct wmk_daemon *daemon, int rc);
/* Print the error, or, if asked for, the result as JSON; free all. The exit status. */
int wmk_daemon_close(struct wmk_daemon *daemon, const struct wmk_cli_common *args, int err);
/* Before another request. */
void wmk_daemon_drop(struct wmk_daemon *daemon);
/* The session that daemon->result is about; NULL: none. */
const struct waymark_ctl_session_info *wmk_daemon_session(const struct wmk_daemon *daemon);
/* -EINVAL with a cause chain that names the nearest, when the session has no such channel. */
int wmk_daemon_check_channel(const struct waymark_ctl_session_info *session, const char *name);
/* What --pid, --exec, --follow say. Strings stay the command line's. */
struct waymark_ctl_domain wmk_daemon_domain(const struct wmk_cli_common *args);

#endif
