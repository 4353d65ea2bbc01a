/* SPDX-License-Identifier: MIT */
/*
 * record_daemon.h - `waymark record` as a client of a running session daemon.
 */
#ifndef WMK_CLI_RECORD_DAEMON_H
#define WMK_CLI_RECORD_DAEMON_H

#include "cli/daemon.h"
#include "cli/record.h"

/*
 * Run `path` with `argv`, record the program in a temporary session of the daemon, and print the summary. Descendants
 * of the program have `grace_ms` to end after the program has ended. Returns the exit status. The caller keeps
 * ownership of `daemon`; daemon->ctl may be replaced by another connection.
 */
int wmk_record_through(struct wmk_daemon *daemon, const struct wmk_record_args *args,
		       const struct wmk_recording_options *options, char *path, char **argv, int grace_ms);

#endif
