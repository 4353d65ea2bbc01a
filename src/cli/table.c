/* SPDX-License-Identifier: MIT */
/*
 * table.c - every command of `waymark`.
 */
#include "cli/command.h"

bool wmk_cli_no_sessiond;

const struct wmk_cli_command *const wmk_cli_commands[] = {
	&wmk_cli_record, &wmk_cli_view, &wmk_cli_calibrate, &wmk_cli_help, &wmk_cli_version,
};
const unsigned wmk_cli_n_commands = sizeof(wmk_cli_commands) / sizeof(wmk_cli_commands[0]);
