/* SPDX-License-Identifier: MIT */
/*
 * manual.c - man pages and shell completion, from the table of commands.
 */
#include <string.h>

#include "cli/command.h"

/* Text in roff: no line begins a request, no character is one. */
static void roff(FILE *out, const char *text)
{
	for (const char *p = text; *p; p++) {
		if ((*p == '.' || *p == '\'') && (p == text || p[-1] == '\n'))
			fputs("\\&", out);
		if (*p == '\\')
			fputs("\\e", out);
		else if (*p == '-')
			fputs("\\-", out);
		else
			fputc(*p, out);
	}
}

static void paragraph(FILE *out, const char *text)
{
	fputs(".PP\n", out);
	roff(out, text);
	fputc('\n', out);
}

static void head(FILE *out, const char *title, const char *name, const char *summary)
{
	fprintf(out, ".\\\" made by `waymark help --man`\n.TH \"%s\" 1 \"\" \"Waymark %s\" \"Waymark\"\n.SH NAME\n", title,
		WAYMARK_VERSION);
	roff(out, name);
	fputs(" \\- ", out);
	roff(out, summary);
	fputs("\n.SH SYNOPSIS\n", out);
}

static void exit_status(FILE *out)
{
	fputs(".SH EXIT STATUS\n0: done. 1: failed. 2: used wrongly.\n", out);
}

static void man_of_program(FILE *out)
{
	head(out, "WAYMARK", "waymark", "record what programs do");
	fputs(".B waymark\nCOMMAND [OPTION]... [ARGUMENT]...\n.SH DESCRIPTION\n", out);
	roff(out, "Waymark records events of instrumented programs into a trace in the Common Trace Format. A program is instrumented by "
		  "including <waymark/trace.h> and linking what `pkg-config --libs waymark` prints.\n");
	fputs(".SH COMMANDS\n", out);
	for (unsigned i = 0; i < wmk_cli_n_commands; i++) {
		fprintf(out, ".TP\n.B %s\n", wmk_cli_commands[i]->name);
		roff(out, wmk_cli_commands[i]->summary);
		fprintf(out, ".\n");
	}
	exit_status(out);
	fputs(".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nWhen set and not empty, nothing is coloured.\n.SH SEE ALSO\n", out);
	for (unsigned i = 0; i < wmk_cli_n_commands; i++)
		if (wmk_cli_commands[i]->details)
			fprintf(out, ".BR waymark\\-%s (1)\n", wmk_cli_commands[i]->name);
	fputs(".BR babeltrace2 (1)\n", out);
}

static void man_of_command(FILE *out, const struct wmk_cli_command *command)
{
	char title[64];
	size_t len = (size_t)snprintf(title, sizeof(title), "waymark-%s", command->name);

	head(out, title, title, command->summary);
	(void)len;
	fputs(".nh\n", out);
	wmk_cli_synopsis(out, command);
	fputs("\n.hy\n.SH DESCRIPTION\n", out);
	roff(out, command->summary);
	fputs(".\n", out);
	for (unsigned i = 0; command->details && command->details[i]; i++)
		paragraph(out, command->details[i]);
	if (command->n_options)
		fputs(".SH OPTIONS\n", out);
	for (unsigned i = 0; i < command->n_options; i++) {
		const struct wmk_cli_option *option = &command->options[i];

		fputs(".TP\n", out);
		if (option->letter)
			fprintf(out, "\\fB\\-%c\\fR, ", option->letter);
		fputs("\\fB", out);
		roff(out, "--");
		roff(out, option->name);
		fprintf(out, "\\fR%s%s\n", option->value ? " " : "", option->value ? option->value : "");
		roff(out, option->help);
		fputc('\n', out);
	}
	if (!command->takes_command)
		exit_status(out);
	fputs(".SH SEE ALSO\n.BR waymark (1)\n", out);
}

void wmk_cli_man(FILE *out, const struct wmk_cli_command *command)
{
	if (command)
		man_of_command(out, command);
	else
		man_of_program(out);
}

void wmk_cli_completion(FILE *out)
{
	fputs("# bash completion for waymark, made by `waymark help --completion`\n"
	      "_waymark() {\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words i\n"
	      "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
	      "\t\tcommand= words='", out);
	for (unsigned i = 0; i < wmk_cli_n_commands; i++)
		fprintf(out, "%s%s", i ? " " : "", wmk_cli_commands[i]->name);
	fputs("'\n\tfi\n\tcase $command in\n", out);
	for (unsigned i = 0; i < wmk_cli_n_commands; i++) {
		const struct wmk_cli_command *command = wmk_cli_commands[i];

		fprintf(out, "\t%s)\n\t\twords='--help", command->name);
		for (unsigned k = 0; k < command->n_options; k++)
			fprintf(out, " --%s", command->options[k].name);
		fputs("'\n", out);
		if (command->takes_command)
			fputs("\t\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
			      "\t\t\tif [ \"${COMP_WORDS[i]}\" = -- ]; then\n"
			      "\t\t\t\tCOMPREPLY=($(compgen -c -f -- \"$cur\"))\n"
			      "\t\t\t\treturn\n"
			      "\t\t\tfi\n"
			      "\t\tdone\n", out);
		fputs("\t\t;;\n", out);
	}
	fputs("\tesac\n\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\ncomplete -o default -F _waymark waymark\n", out);
}
