/* SPDX-License-Identifier: MIT */
/*
 * daemon.h - use the session daemon from a command, only through <waymark/ctl.h>.
 *
 *     struct wmk_daemon daemon;
 *     int err = wmk_daemon_open(&daemon, args, WMK_DAEMON_SESSION);          connect, and select the session
 *
 *     if (err == 0)
 *         err = wmk_daemon_did(&daemon, waymark_ctl_start(daemon.ctl, daemon.session, &daemon.result));
 *     if (err == 0 && !args->json)
 *         ... print daemon.result ...
 *     return wmk_daemon_close(&daemon, args, err);             print the error, or JSON; returns the exit status
 *
 * Errors are -errno with a cause chain of base/error.h. One thread.
 */
#ifndef WMK_CLI_DAEMON_H
#define WMK_CLI_DAEMON_H

#include <waymark/ctl.h>

#include "cli/command.h"

/* -n, --no-sessiond before the command: connect to a running daemon, but do not start one. */
extern bool wmk_cli_no_sessiond;

struct wmk_daemon {
	struct waymark_ctl *ctl;
	struct waymark_ctl_result *result;       /* of the latest request, or NULL */
	char session[256];                       /* the selected session; "": none, or all */
	const char *channel;                     /* for messages about an unknown channel */
};

enum wmk_daemon_need {
	WMK_DAEMON_ANY,                          /* select the given session, if one is given */
	/* select the given session, else the current one, which must exist */
	WMK_DAEMON_SESSION,
	/* as ANY, but do not start a daemon, and do not wait long for a daemon that hangs */
	WMK_DAEMON_RUNNING,
};

/*
 * Connect to the session daemon; if no daemon runs, start a daemon, unless -n was given. The caller must call
 * wmk_daemon_close(), even after an error.
 */
int wmk_daemon_open(struct wmk_daemon *daemon, const struct wmk_cli_common *args, enum wmk_daemon_need need);
/*
 * Start a daemon in `rundir` that recovers the rings in `path` (waymark_ctl_connect_options.recover), and connect to
 * this daemon. The caller must call wmk_daemon_close(), even after an error.
 */
int wmk_daemon_recover(struct wmk_daemon *daemon, const char *rundir, const char *path);
/*
 * Convert the return value of a function of ctl.h. After an error, the cause chain contains the messages of the
 * library. If an object was not found, the cause chain also contains similar names. On success, prints the warnings in
 * daemon->result, and names the applications that have not confirmed the request.
 */
int wmk_daemon_did(struct wmk_daemon *daemon, int rc);
/* Print the result (with --json), free everything, and print the error, if any. Returns the exit status. */
int wmk_daemon_close(struct wmk_daemon *daemon, const struct wmk_cli_common *args, int err);
/* Free the result before sending the next request. */
void wmk_daemon_drop(struct wmk_daemon *daemon);
/* Return the session in daemon->result, or NULL if the result has no session. */
const struct waymark_ctl_session_info *wmk_daemon_session(const struct wmk_daemon *daemon);
/* -EINVAL with a cause chain that names similar channels if the session has no such channel. */
int wmk_daemon_check_channel(const struct waymark_ctl_session_info *session, const char *name);
/* Return the domain that --kernel, --pid, --exec and --follow select. Strings point into argv. */
struct waymark_ctl_domain wmk_daemon_domain(const struct wmk_cli_common *args);

#endif
