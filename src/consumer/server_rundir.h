/* SPDX-License-Identifier: MIT */
/*
 * server_rundir.h - the consumer daemon's files in the runtime directory: its lock file with its pid, and its socket.
 */
#ifndef WMK_CONSUMER_SERVER_RUNDIR_H
#define WMK_CONSUMER_SERVER_RUNDIR_H

#include <sys/types.h>

#include "consumer/server_state.h"

/*
 * Lock the runtime directory, and listen on the socket in the directory. Without a runtime directory, the function has
 * no effect. 0 or -errno with a cause chain; -EADDRINUSE: another consumer daemon runs there.
 */
int wmk_server_rundir_open(struct wmk_consumer_server *server);
/*
 * List the processes of the tracer: this process, the session daemon and the other consumer daemon. The function has
 * the type wmk_kown_find (kernel/proc/own_pids.h). Any thread.
 */
unsigned wmk_server_own_pids(void *server, pid_t *pids);

#endif
