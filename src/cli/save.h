/* SPDX-License-Identifier: MIT */
/*
 * save.h - what the options of save and load say.
 */
#ifndef WMK_CLI_SAVE_H
#define WMK_CLI_SAVE_H

#include "cli/command.h"

struct wmk_save_args {
	struct wmk_cli_common common;
	bool all, force, default_output;
	const char *path, *name, *output;
};

#endif
