/* SPDX-License-Identifier: MIT */
/*
 * track.h - arguments of track and untrack.
 */
#ifndef WMK_CLI_TRACK_H
#define WMK_CLI_TRACK_H

#include "cli/command.h"

/*
 * These values are equal to the values of enum waymark_ctl_track_kind. With --kernel, WMK_TRACKED_PID is sent as
 * WAYMARK_CTL_TRACK_KERNEL_PID.
 */
enum wmk_tracked { WMK_TRACKED_PID, WMK_TRACKED_UID, WMK_TRACKED_GID, WMK_TRACKED_KINDS };

struct wmk_track_args {
	struct wmk_cli_common common;
	bool all;
	bool given[WMK_TRACKED_KINDS];
	struct wmk_cli_words ids[WMK_TRACKED_KINDS];     /* words; wmk_track_id() converts them */
};

/* Check that the options are compatible. -EINVAL with a cause chain. */
int wmk_track_arguments(const struct wmk_track_args *args, int n_rest);
/* Convert a number, or the name of a user or group. -EINVAL, -ERANGE, -ENOENT with a cause chain. */
int wmk_track_id(enum wmk_tracked kind, const char *word, uint64_t *id);

#endif
