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

const char *wmk_cli_value_text(const struct wmk_cli_option *option, char *buf, size_t size)
{
	const char *value = option->value;

	if (!value)
		return "";
	if (value[0] == '[')
		snprintf(buf, size, "[=%s", value + 1);
	else
		snprintf(buf, size, " %s", value);
	return buf;
}

/* A piece of the synopsis, on a new line when it would stand past `columns`. */
static void piece(FILE *out, const char *text, unsigned columns, unsigned *column)
{
	unsigned len = (unsigned)strlen(text);

	if (columns && *column + 1 + len > columns) {
		fputs("\n       ", out);
		*column = 7;
	}
	fprintf(out, " %s", text);
	*column += 1 + len;
}

/* Folded at `columns` (0: not), the first line beginning at `column`. */
static void synopsis(FILE *out, const struct wmk_cli_command *command, unsigned columns, unsigned column)
{
	char text[160], value[64];

	column += (unsigned)fprintf(out, "waymark %s", command->name);
	for (unsigned i = 0; i < command->n_options; i++) {
		const struct wmk_cli_option *option = &command->options[i];
		const char *repeats = option->repeats ? "..." : "";

		if (option->letter)
			snprintf(text, sizeof(text), "[-%c%s]%s", option->letter, wmk_cli_value_text(option, value, sizeof(value)),
				repeats);
		else
			snprintf(text, sizeof(text), "[--%s%s]%s", option->name, wmk_cli_value_text(option, value, sizeof(value)), repeats);
		piece(out, text, columns, &column);
	}
	if (command->arguments[0])
		piece(out, command->arguments, columns, &column);
}

void wmk_cli_synopsis(FILE *out, const struct wmk_cli_command *command)
{
	synopsis(out, command, 0, 0);
}

void wmk_cli_usage(FILE *out, const struct wmk_cli_command *command)
{
	fputs("usage: ", out);
	synopsis(out, command, COLUMNS, 7);
	fputc('\n', out);
}

void wmk_cli_overview(FILE *out)
{
	fputs("usage: waymark [-n] COMMAND [OPTION]... [ARGUMENT]...\n\n", out);
	for (unsigned i = 0; i < wmk_cli_n_commands; i++)
		fprintf(out, "  %-17s %s\n", wmk_cli_commands[i]->name, wmk_cli_commands[i]->summary);
	fputs("\n-n, --no-sessiond: do not start the session daemon.\n`waymark help COMMAND` says more.\n", out);
}

void wmk_cli_describe(FILE *out, const struct wmk_cli_command *command)
{
	const struct wmk_cli_example *example;
	unsigned n;
	const char *bold = wmk_cli_color(out, WMK_CLI_BOLD), *plain = *bold ? wmk_cli_color(out, WMK_CLI_PLAIN) : "";

	wmk_cli_usage(out, command);
	fprintf(out, "\n%s.\n", command->summary);
	for (unsigned i = 0; command->details && command->details[i]; i++) {
		fputc('\n', out);
		wmk_cli_fold(out, command->details[i], 0);
	}
	if (command->n_options)
		fputc('\n', out);
	for (unsigned i = 0; i < command->n_options; i++) {
		const struct wmk_cli_option *option = &command->options[i];
		char value[64];

		fprintf(out, "  %s", bold);
		if (option->letter)
			fprintf(out, "-%c, ", option->letter);
		fprintf(out, "--%s%s%s\n", option->name, plain, wmk_cli_value_text(option, value, sizeof(value)));
		wmk_cli_fold(out, option->help, 6);
	}
	n = wmk_cli_examples(command, &example);
	if (n)
		fputs("\nExamples:\n", out);
	for (; n--; example++) {
		fputc('\n', out);
		wmk_cli_fold(out, example->purpose, 2);
		fprintf(out, "      %s\n", example->line);
	}
}

const struct wmk_cli_command *wmk_cli_look_up(const char *name)
{
	for (unsigned i = 0; i < wmk_cli_n_commands; i++)
		if (strcmp(wmk_cli_commands[i]->name, name) == 0)
			return wmk_cli_commands[i];
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
		wmk_error(-EINVAL, "there is no command \"%.40s\": %s", name, instead);
		return NULL;
	}
	wmk_nearest_init(&near, name);
	for (unsigned i = 0; i < wmk_cli_n_commands; i++)
		wmk_nearest_offer(&near, wmk_cli_commands[i]->name);
	if (near.n)
		wmk_error(-EINVAL, "there is no command \"%.40s\"; did you mean: %s?", name,
			  wmk_nearest_text(&near, names, sizeof(names)));
	else
		wmk_error(-EINVAL, "there is no command \"%.40s\"; `waymark help` lists them", name);
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

	if (n_rest > 1) {
		wmk_error(-EINVAL, "help takes the name of one command");
		return wmk_cli_misused(&wmk_cli_help);
	}
	if (n_rest == 1) {
		command = wmk_cli_find(rest[0]);
		if (!command) {
			wmk_cli_print_error();
			return WMK_CLI_USAGE;
		}
	}
	if (args->completion && wmk_cli_completion(stdout, args->completion) < 0)
		return wmk_cli_misused(&wmk_cli_help);
	if (args->completion)
		return 0;
	if (args->man)
		wmk_cli_man(stdout, command);
	else if (command)
		wmk_cli_describe(stdout, command);
	else
		wmk_cli_overview(stdout);
	return 0;
}

static const struct wmk_cli_option help_options[] = {
	{ 0, "man", NULL, "Print the man page (roff) instead: of the command, or of waymark itself.",
	  WMK_CLI_FLAG(struct help_args, man) },
	{ 0, "completion", "SHELL", "Print what makes a shell complete commands, options, and names of sessions, "
	  "channels and events: bash or zsh.", .choices = "bash zsh", WMK_CLI_TEXT(struct help_args, completion) },
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

static int run_version(void *data, char **rest, int n_rest)
{
	const struct wmk_cli_common *args = data;

	(void)rest;
	if (n_rest) {
		wmk_error(-EINVAL, "version takes no arguments");
		return wmk_cli_misused(&wmk_cli_version);
	}
	printf(args->json ? "{\"version\":\"%s\"}\n" : "waymark %s\n", WAYMARK_VERSION);
	return 0;
}

static const struct wmk_cli_option version_options[] = {
	{ 0, "json", NULL, "Print an object with the member \"version\".", WMK_CLI_FLAG(struct wmk_cli_common, json) },
};

const struct wmk_cli_command wmk_cli_version = {
	.name = "version",
	.arguments = "",
	.summary = "Print the version of Waymark",
	.options = version_options,
	.n_options = sizeof(version_options) / sizeof(version_options[0]),
	.args_size = sizeof(struct wmk_cli_common),
	.run = run_version,
};
