/* SPDX-License-Identifier: MIT */
/*
 * manual.c - print man pages from the table of commands.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"

/* Print text with escapes, so that roff interprets no part of the text as a request or an escape. */
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
	fprintf(out, ".\\\" made by `waymark help --man`\n.TH \"%s\" 1 \"\" \"Waymark %s\" \"Waymark\"\n.SH NAME\n",
		title, WAYMARK_VERSION);
	roff(out, name);
	fputs(" \\- ", out);
	roff(out, summary);
	fputs("\n.SH SYNOPSIS\n", out);
}

static void exit_status(FILE *out)
{
	fputs(".SH EXIT STATUS\n0: success. 1: failure. 2: wrong usage.\n", out);
}

static void environment(FILE *out)
{
	static const struct { const char *name, *text;
	} variables[] = {
		{ "NO_COLOR", "If set and not empty, output has no colours." },
		{ "WAYMARK_HOME",
		  "Replaces the home directory. There, .waymark/session holds the name of the current session, "
		  ".waymark/trace the path of the latest trace, and waymark-traces is the default directory for "
		  "traces." },
		{ "WAYMARK_RUNDIR", "Replaces the directory with the sockets of the session daemon." },
		{ "WAYMARK_SESSIOND", "The session daemon to start if none runs. The default is the one beside "
				      "waymark, else the one in PATH." },
		{ "WAYMARK_SSH", "The program that --host executes. The default is ssh." },
		{ "WAYMARK_TRACE_DIR",
		  "The directory for traces of `waymark record`. The default is ~/waymark-traces. Other commands "
		  "ignore it: `waymark create --output` sets the directory of a session's trace." },
		{ "WAYMARK_ALLOW_BLOCKING",
		  "In an application: if set and not 0, its threads wait for free space in channels that have a "
		  "--blocking-timeout." },
		{ "WAYMARK_DISABLE", "In an application: if set and not 0, libwaymark is disabled." },
		{ "WAYMARK_REGISTER_TIMEOUT", "In an application: the maximum time before main() to wait for the "
					      "session daemon, in milliseconds. The default is 3000." },
	};

	fputs(".SH ENVIRONMENT\n", out);
	for (unsigned i = 0; i < WMK_ARRAY_LEN(variables); i++) {
		fprintf(out, ".TP\n.B %s\n", variables[i].name);
		roff(out, variables[i].text);
		fputc('\n', out);
	}
}

void wmk_cli_man_of_program(FILE *out, const struct wmk_cli_command *const *commands)
{
	head(out, "WAYMARK", "waymark", "record and view events of applications and the kernel");
	fputs(".B waymark\n[\\-n] [\\-\\-host HOST] COMMAND [OPTION]... [ARGUMENT]...\n.SH DESCRIPTION\n", out);
	roff(out,
	     "Waymark records events of instrumented applications and of the kernel into a trace in the Common Trace "
	     "Format. A program is instrumented if it includes <waymark/trace.h> and is linked with the output of "
	     "`pkg-config --libs waymark`.\n");
	fputs(".SH COMMANDS\n", out);
	for (const struct wmk_cli_command *const *c = commands; *c; c++) {
		fputs(".TP\n.B ", out);
		roff(out, (*c)->name);
		fputc('\n', out);
		roff(out, (*c)->summary);
		fprintf(out, ".\n");
	}
	fputs(".SH OPTIONS\n.TP\n.BR \\-n \", \" \\-\\-no\\-sessiond\nDo not start the session daemon when none "
	      "runs.\n.TP\n.BI \\-\\-host \" HOST\"\n", out);
	roff(out,
	     "Run the command on another machine: execute `ssh HOST waymark COMMAND`. Paths, session daemon and "
	     "current session are those of the other machine. The exit status is that of the command, or 255 if ssh "
	     "fails.\n");
	exit_status(out);
	environment(out);
	fputs(".SH SEE ALSO\n", out);
	for (const struct wmk_cli_command *const *c = commands; *c; c++) {
		fputs(".BR waymark\\-", out);
		roff(out, (*c)->name);
		fputs(" (1),\n", out);
	}
	fputs(".BR babeltrace2 (1)\n", out);
}

static void examples_of(FILE *out, const struct wmk_cli_command *command)
{
	const struct wmk_cli_example *example;
	unsigned n = wmk_cli_examples(command, &example);

	if (n)
		fputs(".SH EXAMPLES\n", out);
	for (; n--; example++) {
		fputs(".PP\n", out);
		roff(out, example->purpose);
		fputs("\n.RS 4\n.nf\n", out);
		roff(out, example->line);
		fputs("\n.fi\n.RE\n", out);
	}
}

void wmk_cli_man(FILE *out, const struct wmk_cli_command *command)
{
	char title[64], *line = NULL;
	size_t len;
	FILE *text = open_memstream(&line, &len);

	snprintf(title, sizeof(title), "waymark-%s", command->name);
	head(out, title, title, command->summary);
	fputs(".nh\n", out);
	if (text) {
		wmk_cli_synopsis(text, command);
		fclose(text);
		roff(out, line);
	}
	free(line);
	fputs("\n.hy\n.SH DESCRIPTION\n", out);
	roff(out, command->summary);
	fputs(".\n", out);
	if (command->n_options)
		fputs(".SH OPTIONS\n", out);
	for (unsigned i = 0; i < command->n_options; i++) {
		const struct wmk_cli_option *option = &command->options[i];
		char value[64];

		fputs(".TP\n", out);
		if (option->letter)
			fprintf(out, "\\fB\\-%c\\fR, ", option->letter);
		fputs("\\fB", out);
		roff(out, "--");
		roff(out, option->name);
		fprintf(out, "\\fR%s\n", wmk_cli_value_text(option, value, sizeof(value)));
		roff(out, option->help);
		fputc('\n', out);
	}
	if (!command->takes_command)
		exit_status(out);
	examples_of(out, command);
	if (command->details)
		fputs(".SH DETAILS\n", out);
	for (unsigned i = 0; command->details && command->details[i]; i++)
		paragraph(out, command->details[i]);
	fputs(".SH SEE ALSO\n.BR waymark (1)\n", out);
}
