/* SPDX-License-Identifier: MIT */
/*
 * server.h - a complete session daemon: runtime directory, registry, clients and consumer, started in the order of
 * their dependencies.
 *
 *     wmk_sessiond_rundir_starter(&starter);     read the environment before anything else
 *     wmk_sessiond_rundir_inherited(inherited);
 *     wmk_server_run(&options);                  returns when the daemon is asked to end
 *
 * SIGTERM, SIGINT and SIGHUP end the daemon, but recording continues: applications write into their rings, the consumer
 * daemon drains the rings, and the next session daemon takes over. Only WMK_CTL_SHUTDOWN ends recording.
 */
#ifndef WMK_SESSIOND_SERVER_H
#define WMK_SESSIOND_SERVER_H

#include <stddef.h>

#include "sessiond/limits_file.h"
#include "sessiond/rundir.h"

struct wmk_server_options {
	size_t size;                     /* sizeof(struct wmk_server_options) */
	const char *rundir, *version;
	const char *consumerd;           /* path of waymark-consumerd */
	/*
	 * NULL, or a directory of rings in files (session/model/shm_path.h) to adopt, as `waymark recover` does
	 */
	const char *recovered;
	const char *sessions;            /* NULL, or the directory of saved sessions to load (saved_sessions.h) */
	const int *inherited;            /* see wmk_sessiond_rundir_open() */
	const struct wmk_limits *limits; /* NULL: the defaults */
	const char *limits_file;         /* path of the limits file, which may be absent; NULL: none */
	struct wmk_sessiond_rundir_starter *starter;   /* notified when the daemon listens and when it ends */
	/* Optional. Called to log a message for the administrator. Any thread. */
	void (*say)(void *data, const char *words);
	void *data;
};

/*
 * Call this from the main thread, before any other thread starts. The function masks signals, raises RLIMIT_NOFILE to
 * its hard limit, and ignores SIGPIPE. 0 after a regular end; -errno: the daemon could not start, and the starter has
 * been notified.
 */
int wmk_server_run(const struct wmk_server_options *options);

#endif
