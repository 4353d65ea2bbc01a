/* SPDX-License-Identifier: MIT */
/*
 * session.h - what the commands of a session's life are told.
 */
#ifndef WMK_CLI_SESSION_H
#define WMK_CLI_SESSION_H

#include "cli/command.h"

struct wmk_session_args {
	struct wmk_cli_common common;
	bool all;                        /* destroy, stop */
	const char *output;              /* create */
	uint64_t max_size;               /* create; 0: no limit */
};

/* `path`, beneath the current directory if it is relative. -ENAMETOOLONG, ... with a cause chain. */
int wmk_session_absolute(const char *path, char *buf, size_t size);

#endif
