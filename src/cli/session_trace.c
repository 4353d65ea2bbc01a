/* SPDX-License-Identifier: MIT */
/*
 * session_trace.c - find the trace of a session (see session_trace.h).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/session_trace.h"

int wmk_session_trace_find(const struct wmk_cli_common *common, struct wmk_session_trace *found)
{
	struct wmk_cli_common quiet = *common;
	const struct waymark_ctl_session_info *session;
	struct wmk_daemon daemon;
	int err = wmk_daemon_open(&daemon, common, WMK_DAEMON_SESSION);

	if (err == 0)
		err = wmk_daemon_did(&daemon, waymark_ctl_list_sessions(daemon.ctl, daemon.session, &daemon.result));
	session = err == 0 ? wmk_daemon_session(&daemon) : NULL;
	snprintf(found->path, sizeof(found->path), "%s", session ? session->path : "");
	snprintf(found->session, sizeof(found->session), "%s", session ? session->name : "");
	found->active = session && session->active;
	/* --json selects the format of the records, not of this request. */
	quiet.json = false;
	wmk_daemon_close(&daemon, &quiet, 0);
	return err;
}

int wmk_session_trace_named(const struct wmk_cli_common *common, struct wmk_session_trace *found)
{
	const char *what = access(common->session, F_OK) == 0 ? "is a file, but a trace is a directory"
		: "is not a directory";
	char words[WMK_ERROR_DEPTH * WMK_ERROR_LEN];
	const char *reply;
	int err = wmk_session_trace_find(common, found);

	if (err == 0)
		return 0;
	reply = strstr(wmk_error_text(words, sizeof(words)), "there is no session");
	if (err == -ENOENT && reply)
		return wmk_error_add(wmk_errorx(err, "%s", reply), "no such trace or session: \"%.60s\" %s",
				     common->session, what);
	if (err == -ENOENT || err == -ECONNREFUSED)
		return wmk_errorx(err, "no such trace or session: \"%.60s\" %s, and no session has this name",
				  common->session, what);
	return wmk_error_add(err, "no such trace: \"%.60s\" %s; cannot list sessions", common->session, what);
}
