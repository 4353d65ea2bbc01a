/* SPDX-License-Identifier: MIT */
/* remote_traces.h - the traces that `view` shows: directories, and sessions at relays (relay/mirror.h). */
#ifndef WMK_CLI_REMOTE_TRACES_H
#define WMK_CLI_REMOTE_TRACES_H

#include "relay/mirror.h"

struct wmk_remote_traces {
	const char **paths;          /* of the directories, in the order of the given ones */
	struct wmk_mirror **mirrors; /* NULL: the path was given */
	unsigned n;
};

/* Copy the sessions among the paths, which must live longer. 0 or -errno with a cause chain. */
int wmk_remote_traces_open(struct wmk_remote_traces *traces, const char *const *paths, unsigned n, bool follow);
/* 0; -errno with a cause chain: a connection failed meanwhile. */
int wmk_remote_traces_close(struct wmk_remote_traces *traces);

#endif
