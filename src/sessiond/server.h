/* SPDX-License-Identifier: MIT */
/*
 * server.h - a whole session daemon: place, registry, clients, consumer, put together in the order in which each can
 * rely on what it needs.
 *
 *     wmk_sessiond_rundir_starter(&starter); wmk_sessiond_rundir_handed(handed);  the environment, before anything else
 *     wmk_server_run(&options);                                   returns when it was told to end
 *
 * SIGTERM, SIGINT and SIGHUP end it in good order, and what is recorded goes on: programs write into their rings, the
 * consumer daemon empties them, and the next session daemon takes over. Only WMK_CTL_SHUTDOWN ends everything.
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
	 * NULL, or a directory of rings in files (session/model/shm_path.h), which are taken over: what `waymark
	 * recover` runs
	 */
	const char *recovered;
	const int *handed;               /* see wmk_sessiond_rundir_open() */
	const struct wmk_limits *limits; /* NULL: the defaults */
	const char *limits_file;         /* that has them, or may have; NULL: none */
	struct wmk_sessiond_rundir_starter *starter;   /* told when it listens, and when it ends */
	/* Optional: something happened that whoever looks after the machine should read. Any thread. */
	void (*say)(void *data, const char *words);
	void *data;
};

/*
 * From the main thread of a process that has no other yet: masks signals, raises RLIMIT_NOFILE to what it may be,
 * ignores SIGPIPE. 0 after an end in good order; -errno: it could not begin (who started it has been told already).
 */
int wmk_server_run(const struct wmk_server_options *options);

#endif
