/* SPDX-License-Identifier: MIT */
/*
 * tail.h - decide how long `view --follow` continues (read/live.h): until a signal, until the given session has stopped
 * and all its records are written, or until no process writes the traces.
 *
 * One thread. Only the first SIGINT or SIGTERM is handled; a second signal has its default effect.
 */
#ifndef WMK_CLI_TAIL_H
#define WMK_CLI_TAIL_H

#include <signal.h>

#include "cli/daemon.h"
#include "read/live.h"

struct wmk_tail {
	struct wmk_read_follow follow;           /* for wmk_read_pipeline_run() */
	struct wmk_cli_common common;            /* connection and name of the session; session is NULL: none */
	struct wmk_daemon daemon;
	bool is_connected, is_over;
	bool was_lost;                           /* the connection was lost, and the session has not recorded since */
	sigset_t before;
	/*
	 * monotonic times: the last query of the session's state; the first query that found the session not recording,
	 * or 0
	 */
	uint64_t asked, stopped;
	enum wmk_read_still still;               /* the result of the last query */
};

/* `session` NULL: none. Returns 0 or -errno with a cause chain. */
int wmk_tail_open(struct wmk_tail *tail, const char *session, uint64_t patience_ns);
void wmk_tail_close(struct wmk_tail *tail);

#endif
