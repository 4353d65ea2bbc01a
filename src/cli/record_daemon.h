/* SPDX-License-Identifier: MIT */
/*
 * record_daemon.h - `waymark record` as a client of the session daemon that runs.
 */
#ifndef WMK_CLI_RECORD_DAEMON_H
#define WMK_CLI_RECORD_DAEMON_H

#include "cli/daemon.h"
#include "cli/record.h"

/*
 * Run `path` with `argv`, in a session of its own of that daemon; say what became of it. Programs that it started get
 * `grace_ms` to end with it. The exit status. The daemon stays the caller's; daemon->ctl may have become another
 * connection.
 */
int wmk_record_through(struct wmk_daemon *daemon, const struct wmk_record_args *args,
		       const struct wmk_recording_options *options, char *path, char **argv, int grace_ms);

#endif
