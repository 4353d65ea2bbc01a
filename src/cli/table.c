/* SPDX-License-Identifier: MIT */
/*
 * table.c - the table of commands, and the commands `help` and `version`, which print its content.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/nearest.h"
#include "cli/command.h"

const struct wmk_cli_command *const wmk_cli_commands[] = { &wmk_cli_record,
							   &wmk_cli_create,
							   &wmk_cli_destroy,
							   &wmk_cli_start,
							   &wmk_cli_stop,
							   &wmk_cli_list,
							   &wmk_cli_status,
							   &wmk_cli_set_session_command,
							   &wmk_cli_enable_channel,
							   &wmk_cli_disable_channel,
							   &wmk_cli_enable_event,
							   &wmk_cli_disable_event,
							   &wmk_cli_add_context,
							   &wmk_cli_track,
							   &wmk_cli_untrack,
							   &wmk_cli_save,
							   &wmk_cli_load,
							   &wmk_cli_recover,
							   &wmk_cli_clear,
							   &wmk_cli_reclaim,
							   &wmk_cli_rotate,
							   &wmk_cli_enable_rotation,
							   &wmk_cli_disable_rotation,
							   &wmk_cli_regenerate,
							   &wmk_cli_snapshot,
							   &wmk_cli_core_hook,
							   &wmk_cli_relay,
							   &wmk_cli_view,
							   &wmk_cli_analyze,
							   &wmk_cli_top,
							   &wmk_cli_convert,
							   &wmk_cli_query,
							   &wmk_cli_report,
							   &wmk_cli_compress,
							   &wmk_cli_calibrate,
							   &wmk_cli_strace,
							   &wmk_cli_help,
							   &wmk_cli_version,
							   NULL };

void wmk_cli_overview(FILE *out)
{
	fputs("usage: waymark [-n] [--host HOST] COMMAND [OPTION]... [ARGUMENT]...\n\n", out);
	for (const struct wmk_cli_command *const *c = wmk_cli_commands; *c; c++)
		fprintf(out, "  %-17s %s\n", (*c)->name, (*c)->summary);
	fputs("\n-n, --no-sessiond: do not start the session daemon.\n"
	      "--host HOST: run the command on another machine, through ssh.\n"
	      "`waymark help COMMAND` describes a command.\n",
	      out);
}

const struct wmk_cli_command *wmk_cli_look_up(const char *name)
{
	for (const struct wmk_cli_command *const *c = wmk_cli_commands; *c; c++)
		if (strcmp((*c)->name, name) == 0)
			return *c;
	return NULL;
}

const struct wmk_cli_command *wmk_cli_find(const char *name)
{
	const struct wmk_cli_command *command = wmk_cli_look_up(name);
	const char *instead;
	struct wmk_nearest near;
	char names[160];

	if (command)
		return command;
	instead = wmk_cli_other_tool(name);
	if (instead) {
		wmk_error(-EINVAL, "unknown command \"%.40s\": %s", name, instead);
		return NULL;
	}
	wmk_nearest_init(&near, name);
	for (const struct wmk_cli_command *const *c = wmk_cli_commands; *c; c++)
		wmk_nearest_offer(&near, (*c)->name);
	if (near.n)
		wmk_error(-EINVAL, "unknown command \"%.40s\"; did you mean: %s?", name,
			  wmk_nearest_text(&near, names, sizeof(names)));
	else
		wmk_error(-EINVAL, "unknown command \"%.40s\"; `waymark help` lists the commands", name);
	return NULL;
}

/* ── waymark help ────────────────────────────────────────────────────────────────────────────────────── */

struct help_args {
	bool man;
	const char *completion;
};

static int run_help(void *data, char **rest, int n_rest)
{
	const struct help_args *args = data;
	const struct wmk_cli_command *command = NULL;

	if (n_rest > 1)
		return wmk_error(-EINVAL, "%d arguments given: help takes the name of one command", n_rest);
	if (n_rest == 1) {
		command = wmk_cli_find(rest[0]);
		if (!command) {
			wmk_cli_print_error();
			return WMK_CLI_USAGE;
		}
	}
	if (args->completion && wmk_cli_completion(stdout, wmk_cli_commands, args->completion) < 0)
		return -EINVAL;
	if (args->completion)
		return 0;
	if (args->man && command)
		wmk_cli_man(stdout, command);
	else if (args->man)
		wmk_cli_man_of_program(stdout, wmk_cli_commands);
	else if (command)
		wmk_cli_describe(stdout, command);
	else
		wmk_cli_overview(stdout);
	return 0;
}

static const struct wmk_cli_option help_options[] = {
	{ 0, "man", NULL, "Print the man page, in roff, of the command or of waymark itself.",
	  WMK_CLI_FLAG(struct help_args, man) },
	{ 0, "completion", "SHELL",
	  "Print the completion script of a shell (bash or zsh). It completes commands, options, and names of "
	  "sessions, channels and events.",
	  .choices = "bash zsh", WMK_CLI_TEXT(struct help_args, completion) },
};

const struct wmk_cli_command wmk_cli_help = {
	.name = "help",
	.arguments = "[COMMAND]",
	.summary = "List the commands, or describe a command",
	WMK_CLI_OPTIONS(help_options),
	.args_size = sizeof(struct help_args),
	.run = run_help,
};

/* ── waymark version ─────────────────────────────────────────────────────────────────────────────────── */

static int run_version(void *data, char **rest, int n_rest)
{
	const struct wmk_cli_common *args = data;

	(void)rest;
	if (n_rest)
		return wmk_error(-EINVAL, "version takes no arguments");
	printf(args->json ? "{\"version\":\"%s\"}\n" : "waymark %s\n", WAYMARK_VERSION);
	return 0;
}

static const struct wmk_cli_option version_options[] = {
	{ 0, "json", NULL, "Print a JSON object with the member \"version\".",
	  WMK_CLI_FLAG(struct wmk_cli_common, json) },
};

const struct wmk_cli_command wmk_cli_version = {
	.name = "version",
	.arguments = "",
	.summary = "Print the version of Waymark",
	WMK_CLI_OPTIONS(version_options),
	.args_size = sizeof(struct wmk_cli_common),
	.run = run_version,
};
