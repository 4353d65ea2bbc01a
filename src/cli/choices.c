/* SPDX-License-Identifier: MIT */
/*
 * choices.c - values of options and arguments that are one of a fixed list, for completion.
 *
 * src/cli/t/test_examples.c holds each list against the parser of its option.
 */
#include <string.h>

#include "cli/command.h"

static const struct wmk_cli_choices choices[] = {
	{ "record", "trace-format", "ctf-1.8 ctf-2", false },
	{ "create", "trace-format", "ctf-1.8 ctf-2", false },
	{ "record", "clock", "counter monotonic", false },
	{ "create", "clock", "counter monotonic", false },
	{ "record", "syscall-arguments", "text none", false },
	{ "enable-channel", "syscall-arguments", "text none", false },
	{ "list", "names", "sessions channels events contexts levels", false },
	{ "regenerate", NULL, "metadata statedump", false },
	{ "view", "names", "none all scope header context payload", true },
	{ "view", "fields", "all trace trace:hostname trace:domain trace:procname trace:vpid loglevel emf", true },
	{ "view", "color", "auto always never", false },
	{ "convert", "to", "text json csv chrome perfetto ctf ctf-2", false },
	{ "convert", "from", "syslog dmesg perf strace", false },
	{ "help", "completion", "bash zsh", false },
};

const struct wmk_cli_choices *wmk_cli_choices(const struct wmk_cli_command *command, const char *option)
{
	for (unsigned i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		const struct wmk_cli_choices *c = &choices[i];

		if (strcmp(c->command, command->name) == 0 &&
		    (option ? c->option && strcmp(c->option, option) == 0 : !c->option))
			return c;
	}
	return NULL;
}
