/* SPDX-License-Identifier: MIT */
/*
 * save.h - arguments of save and load.
 */
#ifndef WMK_CLI_SAVE_H
#define WMK_CLI_SAVE_H

#include "cli/command.h"

struct wmk_save_args {
	struct wmk_cli_common common;
	bool all, force, default_output, automatic;
	const char *path, *name, *output;
};

#endif
