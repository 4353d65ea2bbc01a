/* SPDX-License-Identifier: MIT */
/* remote_traces.h - the traces that `view` shows: directories, and sessions at relays (relay/mirror.h). */
#ifndef WMK_CLI_REMOTE_TRACES_H
#define WMK_CLI_REMOTE_TRACES_H

#include "relay/mirror.h"

struct wmk_remote_traces {
	const char **paths;          /* directories, in the order of the given paths */
	struct wmk_mirror **mirrors; /* element NULL: the given path is a directory */
	unsigned n;
};

/* Copy the sessions that the URLs in `paths` name. The texts must outlive `traces`. 0 or -errno with a cause chain. */
int wmk_remote_traces_open(struct wmk_remote_traces *traces, const char *const *paths, unsigned n, bool follow);
/* Remove the copies. -errno with a cause chain: a connection failed before. */
int wmk_remote_traces_close(struct wmk_remote_traces *traces);

#endif
