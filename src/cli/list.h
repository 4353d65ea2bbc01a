/* SPDX-License-Identifier: MIT */
/*
 * list.h - what the options of list say.
 */
#ifndef WMK_CLI_LIST_H
#define WMK_CLI_LIST_H

#include "cli/command.h"

struct wmk_list_args {
	struct wmk_cli_common common;    /* userspace: programs, not sessions */
	bool fields;
	const char *names;               /* of what, for completion */
};

#endif
