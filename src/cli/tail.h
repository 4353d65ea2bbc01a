/* SPDX-License-Identifier: MIT */
/*
 * tail.h - how long `view --follow` goes on (read/live.h): until a signal asks for the end, the session that was named
 * has stopped and all of it is written, or nobody writes the traces any more.
 *
 * One thread. Of the signals the second one ends the process, as it would without us.
 */
#ifndef WMK_CLI_TAIL_H
#define WMK_CLI_TAIL_H

#include <signal.h>

#include "cli/daemon.h"
#include "read/live.h"

struct wmk_tail {
	struct wmk_read_follow follow;           /* for the reading */
	struct wmk_cli_common common;            /* which session; none: session is NULL */
	struct wmk_daemon daemon;
	bool is_connected, is_over;
	bool was_lost;                           /* the connection, and the session has not recorded since */
	sigset_t before;
	/* monotonic: when the session was asked for last; and was first seen not to record, or 0 */
	uint64_t asked, stopped;
	enum wmk_read_still still;               /* as it was then */
};

/* `session`: NULL: none. 0 or -errno. */
int wmk_tail_open(struct wmk_tail *tail, const char *session, uint64_t patience_ns);
void wmk_tail_close(struct wmk_tail *tail);

#endif
