/* SPDX-License-Identifier: MIT */
/*
 * options.c - reads a command's options by its row of the table: -x, -xVALUE, -x VALUE, --name, --name=VALUE, --name VALUE.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/nearest.h"
#include "cli/command.h"

static const struct wmk_cli_option *find_long(const struct wmk_cli_command *command, const char *name, size_t len)
{
	for (unsigned i = 0; i < command->n_options; i++)
		if (strlen(command->options[i].name) == len && memcmp(command->options[i].name, name, len) == 0)
			return &command->options[i];
	return NULL;
}

static const struct wmk_cli_option *find_letter(const struct wmk_cli_command *command, char letter)
{
	for (unsigned i = 0; i < command->n_options; i++)
		if (letter && command->options[i].letter == letter)
			return &command->options[i];
	return NULL;
}

static int unknown(const struct wmk_cli_command *command, const char *arg)
{
	struct wmk_nearest near;
	char word[64], names[160];

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(arg, "="), arg);
	wmk_nearest_init(&near, word + strspn(word, "-"));
	for (unsigned i = 0; i < command->n_options; i++)
		wmk_nearest_offer(&near, command->options[i].name);
	if (near.n == 0)
		return wmk_error(-EINVAL, "unknown option %s", word);
	wmk_nearest_text(&near, names, sizeof(names));
	return wmk_error(-EINVAL, "unknown option %s (did you mean --%s?)", word, names);
}

struct cursor {
	char **argv;
	int argc, at;
};

/* One option at cursor->at, with its value; leaves the cursor behind them. 0, 1 (help), -EINVAL. */
static int parse_one(const struct wmk_cli_command *command, struct cursor *cursor, void *args)
{
	const char *arg = cursor->argv[cursor->at++], *value;
	const struct wmk_cli_option *option;
	int err;

	if (strcmp(arg, "-h") == 0 || strcmp(arg, "--help") == 0)
		return 1;
	if (arg[1] == '-') {
		size_t len = strcspn(arg + 2, "=");

		option = find_long(command, arg + 2, len);
		value = arg[2 + len] == '=' ? arg + 2 + len + 1 : NULL;
	} else {
		option = find_letter(command, arg[1]);
		value = arg[2] ? arg + 2 : NULL;
	}
	if (!option)
		return unknown(command, arg);
	if (!option->value && value)
		return wmk_error(-EINVAL, "option --%s takes no value", option->name);
	if (option->value && !value) {
		if (cursor->at >= cursor->argc)
			return wmk_error(-EINVAL, "option --%s needs a value: %s", option->name, option->value);
		value = cursor->argv[cursor->at++];
	}
	err = option->set(args, value);
	return err < 0 ? wmk_error_add(err, "option --%s", option->name) : 0;
}

int wmk_cli_parse(const struct wmk_cli_command *command, char **argv, int argc, void *args, char ***rest, int *n_rest)
{
	struct cursor cursor = { argv, argc, 0 };
	int n = 0;

	*rest = argv;
	while (cursor.at < argc) {
		char *arg = argv[cursor.at];

		if (strcmp(arg, "--") == 0) {
			cursor.at++;
			break;
		}
		if (arg[0] == '-' && arg[1]) {
			int err = parse_one(command, &cursor, args);

			if (err)
				return err;
		} else if (command->takes_command) {
			break;
		} else {
			/* Options may follow arguments; slots before cursor.at have been dealt with. */
			argv[n++] = arg;
			cursor.at++;
		}
	}
	/* With the NULL behind them: they may become a program's. */
	memmove(argv + n, argv + cursor.at, (size_t)(argc - cursor.at + 1) * sizeof(*argv));
	*n_rest = n + argc - cursor.at;
	return 0;
}
