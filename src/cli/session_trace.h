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

/* Find the trace of the given session, or else of the current session. -errno with a cause chain. */
int wmk_session_trace_find(const struct wmk_cli_common *common, struct wmk_session_trace *found);
/*
 * Find the session that an argument names, if the argument is not a directory. If no session daemon runs, the error is
 * that no session has this name. Other errors keep the cause chain of the session daemon.
 */
int wmk_session_trace_named(const struct wmk_cli_common *common, struct wmk_session_trace *found);

#endif
