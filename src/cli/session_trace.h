/* SPDX-License-Identifier: MIT */
/*
 * session_trace.h - find the trace of a session, for commands that read it. One thread.
 */
#ifndef WMK_CLI_SESSION_TRACE_H
#define WMK_CLI_SESSION_TRACE_H

#include <limits.h>

#include "cli/daemon.h"

struct wmk_session_trace {
	char path[PATH_MAX], session[sizeof(((struct wmk_daemon *)0)->session)];
	bool active;
};

/* Find the trace of the given session, or of the current session if no session is given. -errno with a cause chain. */
int wmk_session_trace_find(const struct wmk_cli_common *common, struct wmk_session_trace *found);
/*
 * If an argument is not a directory, find the session that the argument names. If no session daemon runs, the error
 * message reports that no session has this name. Other errors keep the cause chain of the session daemon's reply.
 */
int wmk_session_trace_named(const struct wmk_cli_common *common, struct wmk_session_trace *found);

#endif
