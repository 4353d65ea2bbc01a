/* SPDX-License-Identifier: MIT */
/*
 * top_session.h - the temporary session of `waymark top`: all events of applications and, for root, the scheduler,
 * system calls and block devices. The trace of the temporary session keeps only the newest records. One thread.
 */
#ifndef WMK_CLI_TOP_SESSION_H
#define WMK_CLI_TOP_SESSION_H

#include <limits.h>

#include "cli/command.h"

struct wmk_top_session {
	char name[64], path[PATH_MAX];
	bool made, made_place;
};

/*
 * Create and start the session. -errno with a cause chain. The caller must call wmk_top_session_end(), even after an
 * error.
 */
int wmk_top_session_begin(struct wmk_top_session *session);
/* Destroy the session and remove its trace. Prints a warning if the session still exists afterwards. */
void wmk_top_session_end(struct wmk_top_session *session);

#endif
