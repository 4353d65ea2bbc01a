/* SPDX-License-Identifier: MIT */
/*
 * help.c - print usage and help of a command from its row of the table, and the errors of a failed command.
 */
#include <string.h>

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

/* Print a part of the synopsis; start a new line if the part would exceed `columns` (0: no limit). */
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

/* Print the synopsis, folded at `columns` (0: not folded). The first line begins at `column`. */
static void synopsis(FILE *out, const struct wmk_cli_command *command, unsigned columns, unsigned column)
{
	char text[160], value[64];

	column += (unsigned)fprintf(out, "waymark %s", command->name);
	for (unsigned i = 0; i < command->n_options; i++) {
		const struct wmk_cli_option *option = &command->options[i];
		const char *repeats = option->repeats ? "..." : "";

		if (option->letter)
			snprintf(text, sizeof(text), "[-%c%s]%s", option->letter,
				 wmk_cli_value_text(option, value, sizeof(value)), repeats);
		else
			snprintf(text, sizeof(text), "[--%s%s]%s", option->name,
				 wmk_cli_value_text(option, value, sizeof(value)), repeats);
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

static void describe_options(FILE *out, const struct wmk_cli_command *command)
{
	const char *bold = wmk_cli_color(out, WMK_CLI_BOLD), *plain = *bold ? wmk_cli_color(out, WMK_CLI_PLAIN) : "";

	if (command->n_options)
		fputs("\nOptions:\n", out);
	for (unsigned i = 0; i < command->n_options; i++) {
		const struct wmk_cli_option *option = &command->options[i];
		char value[64];

		fprintf(out, "  %s", bold);
		if (option->letter)
			fprintf(out, "-%c, ", option->letter);
		fprintf(out, "--%s%s%s\n", option->name, plain, wmk_cli_value_text(option, value, sizeof(value)));
		wmk_cli_fold(out, option->help, 6);
	}
}

void wmk_cli_describe(FILE *out, const struct wmk_cli_command *command)
{
	const struct wmk_cli_example *example;
	unsigned n = wmk_cli_examples(command, &example);

	fprintf(out, "%s.\n\n", command->summary);
	wmk_cli_usage(out, command);
	describe_options(out, command);
	if (n)
		fputs("\nExamples:\n", out);
	for (; n--; example++) {
		fputc('\n', out);
		wmk_cli_fold(out, example->purpose, 2);
		fprintf(out, "      %s\n", example->line);
	}
	if (command->details)
		fputs("\nDetails:\n", out);
	for (unsigned i = 0; command->details && command->details[i]; i++) {
		fputc('\n', out);
		wmk_cli_fold(out, command->details[i], 2);
	}
}

int wmk_cli_failed(void)
{
	wmk_cli_print_error();
	return WMK_CLI_FAILED;
}
