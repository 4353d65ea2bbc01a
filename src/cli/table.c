/* SPDX-License-Identifier: MIT */
/*
 * table.c - every command of `waymark`.
 */
#include "cli/command.h"

bool wmk_cli_no_sessiond;

const struct wmk_cli_command *const wmk_cli_commands[] = {
	&wmk_cli_record, &wmk_cli_create, &wmk_cli_destroy, &wmk_cli_start, &wmk_cli_stop, &wmk_cli_list, &wmk_cli_status,
	&wmk_cli_set_session_command, &wmk_cli_enable_channel, &wmk_cli_disable_channel, &wmk_cli_enable_event, &wmk_cli_disable_event,
	&wmk_cli_add_context, &wmk_cli_track, &wmk_cli_untrack, &wmk_cli_save, &wmk_cli_load, &wmk_cli_recover, &wmk_cli_clear, &wmk_cli_regenerate,
	&wmk_cli_view, &wmk_cli_convert, &wmk_cli_calibrate, &wmk_cli_strace, &wmk_cli_help, &wmk_cli_version,
};
const unsigned wmk_cli_n_commands = sizeof(wmk_cli_commands) / sizeof(wmk_cli_commands[0]);
