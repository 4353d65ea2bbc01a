/* SPDX-License-Identifier: MIT */
/*
 * context.h - arguments of add-context.
 */
#ifndef WMK_CLI_CONTEXT_H
#define WMK_CLI_CONTEXT_H

#include "cli/command.h"

struct wmk_context_args {
	struct wmk_cli_common common;
	bool list;
	struct wmk_cli_words types;
};

#endif
