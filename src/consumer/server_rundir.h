/* SPDX-License-Identifier: MIT */
/*
 * server_rundir.h - the consumer daemon's files in the runtime directory: its lock with the process number, its socket.
 */
#ifndef WMK_CONSUMER_SERVER_RUNDIR_H
#define WMK_CONSUMER_SERVER_RUNDIR_H

#include <sys/types.h>

#include "consumer/server_state.h"

/*
 * Locks the runtime directory and listens on the socket in it. Nothing to do without one. 0 or -errno with a cause
 * chain; -EADDRINUSE: another consumer daemon runs there.
 */
int wmk_server_rundir_open(struct wmk_consumer_server *server);
/*
 * The tracer's processes: this one, the session daemon, the other consumer daemon. A wmk_kown_find
 * (kernel/proc/own_pids.h); any thread.
 */
unsigned wmk_server_own_pids(void *server, pid_t *pids);

#endif
