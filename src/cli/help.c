/* SPDX-License-Identifier: MIT */
/*
 * help.c - usage and help, printed from the table of commands; and the commands `help` and `version`.
 */
#include <errno.h>
#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/nearest.h"
#include "cli/command.h"

#define COLUMNS 78

void wmk_cli_fold(FILE *out, const char *text, unsigned indent)
{
	unsigned column = 0;

	while (*text) {
		size_t word;

		text += strspn(text, " ");
		word = strcspn(text, " ");
		if (!word)
			break;
		if (column && column + 1 + word > COLUMNS) {
			fputc('\n', out);
			column = 0;
		}
		column += (unsigned)fprintf(out, column ? " %*s" : "%*s", column ? 0 : (int)indent, "");
		fwrite(text, 1, word, out);
		column += (unsigned)word;
		text += word;
	}
	fputc('\n', out);
}

void wmk_cli_synopsis(FILE *out, const struct wmk_cli_command *command)
{
	char line[512];
	size_t len = (size_t)snprintf(line, sizeof(line), "waymark %s", command->name);

	for (unsigned i = 0; i < command->n_options; i++) {
		const struct wmk_cli_option *option = &command->options[i];
		char dashed[64];

		if (option->letter)
			snprintf(dashed, sizeof(dashed), "-%c", option->letter);
		else
			snprintf(dashed, sizeof(dashed), "--%s", option->name);
		len += (size_t)snprintf(line + len, sizeof(line) - len, " [%s%s%s]%s", dashed, option->value ? " " : "",
					option->value ? option->value : "", option->repeats ? "..." : "");
	}
	snprintf(line + len, sizeof(line) - len, "%s%s", command->arguments[0] ? " " : "", command->arguments);
	fputs(line, out);
}

void wmk_cli_overview(FILE *out)
{
	fputs("usage: waymark COMMAND [OPTION]... [ARGUMENT]...\n\n", out);
	for (unsigned i = 0; i < wmk_cli_n_commands; i++)
		fprintf(out, "  %-10s %s\n", wmk_cli_commands[i]->name, wmk_cli_commands[i]->summary);
	fputs("\n`waymark help COMMAND` says more.\n", out);
}

void wmk_cli_describe(FILE *out, const struct wmk_cli_command *command)
{
	const char *bold = wmk_cli_color(out, WMK_CLI_BOLD), *plain = *bold ? wmk_cli_color(out, WMK_CLI_PLAIN) : "";

	fputs("usage: ", out);
	wmk_cli_synopsis(out, command);
	fprintf(out, "\n\n%s.\n", command->summary);
	for (unsigned i = 0; command->details && command->details[i]; i++) {
		fputc('\n', out);
		wmk_cli_fold(out, command->details[i], 0);
	}
	if (command->n_options)
		fputc('\n', out);
	for (unsigned i = 0; i < command->n_options; i++) {
		const struct wmk_cli_option *option = &command->options[i];

		fprintf(out, "  %s", bold);
		if (option->letter)
			fprintf(out, "-%c, ", option->letter);
		fprintf(out, "--%s%s%s%s\n", option->name, plain, option->value ? " " : "", option->value ? option->value : "");
		wmk_cli_fold(out, option->help, 6);
	}
}

const struct wmk_cli_command *wmk_cli_find(const char *name)
{
	struct wmk_nearest near;
	char names[160];

	wmk_nearest_init(&near, name);
	for (unsigned i = 0; i < wmk_cli_n_commands; i++) {
		if (strcmp(wmk_cli_commands[i]->name, name) == 0)
			return wmk_cli_commands[i];
		wmk_nearest_offer(&near, wmk_cli_commands[i]->name);
	}
	if (near.n)
		wmk_error(-EINVAL, "there is no command \"%.40s\"; did you mean: %s?", name,
			  wmk_nearest_text(&near, names, sizeof(names)));
	else
		wmk_error(-EINVAL, "there is no command \"%.40s\"; `waymark help` lists them", name);
	return NULL;
}

/* ── waymark help ────────────────────────────────────────────────────────────────────────────────────── */

struct help_args {
	bool man, completion;
};

static int set_man(void *args, const char *value)
{
	(void)value;
	((struct help_args *)args)->man = true;
	return 0;
}

static int set_completion(void *args, const char *value)
{
	(void)value;
	((struct help_args *)args)->completion = true;
	return 0;
}

static int run_help(void *data, char **rest, int n_rest)
{
	const struct help_args *args = data;
	const struct wmk_cli_command *command = NULL;

	if (n_rest > 1) {
		wmk_error(-1, "help takes the name of one command");
		wmk_cli_print_error();
		return WMK_CLI_USAGE;
	}
	if (n_rest == 1) {
		command = wmk_cli_find(rest[0]);
		if (!command) {
			wmk_cli_print_error();
			return WMK_CLI_USAGE;
		}
	}
	if (args->completion)
		wmk_cli_completion(stdout);
	else if (args->man)
		wmk_cli_man(stdout, command);
	else if (command)
		wmk_cli_describe(stdout, command);
	else
		wmk_cli_overview(stdout);
	return 0;
}

static const struct wmk_cli_option help_options[] = {
	{ 0, "man", NULL, "Print the man page (roff) instead: of the command, or of waymark itself.", set_man, false },
	{ 0, "completion", NULL, "Print what makes bash complete commands and options, to be sourced.", set_completion, false },
};

const struct wmk_cli_command wmk_cli_help = {
	.name = "help",
	.arguments = "[COMMAND]",
	.summary = "Say what the commands are, or what one of them does",
	.options = help_options,
	.n_options = sizeof(help_options) / sizeof(help_options[0]),
	.args_size = sizeof(struct help_args),
	.run = run_help,
};

/* ── waymark version ─────────────────────────────────────────────────────────────────────────────────── */

struct version_args {
	bool json;
};

static int set_json(void *args, const char *value)
{
	(void)value;
	((struct version_args *)args)->json = true;
	return 0;
}

static int run_version(void *data, char **rest, int n_rest)
{
	const struct version_args *args = data;

	(void)rest;
	if (n_rest) {
		wmk_error(-1, "version takes no arguments");
		wmk_cli_print_error();
		return WMK_CLI_USAGE;
	}
	printf(args->json ? "{\"version\":\"%s\"}\n" : "waymark %s\n", WAYMARK_VERSION);
	return 0;
}

static const struct wmk_cli_option version_options[] = {
	{ 0, "json", NULL, "Print an object with the member \"version\".", set_json, false },
};

const struct wmk_cli_command wmk_cli_version = {
	.name = "version",
	.arguments = "",
	.summary = "Print the version of Waymark",
	.options = version_options,
	.n_options = sizeof(version_options) / sizeof(version_options[0]),
	.args_size = sizeof(struct version_args),
	.run = run_version,
};
