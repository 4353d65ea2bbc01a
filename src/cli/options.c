/* SPDX-License-Identifier: MIT */
/*
 * options.c - parse the options of a command by its table, and the options that most commands share.
 *
 * The parser accepts these forms: -x, -xVALUE, -x VALUE, --name, --name=VALUE, --name VALUE.
 */
#include <errno.h>
#include <stdlib.h>
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

/* For an option with an optional value, return whether the next argument is the value. */
static bool is_value(const struct cursor *cursor)
{
	return cursor->at < cursor->argc && cursor->argv[cursor->at][0] != '-';
}

/*
 * Return whether `arg` is an option of the command or `--`. Called for an argument at a position where a value is
 * expected.
 */
static bool is_option(const struct wmk_cli_command *command, const char *arg)
{
	if (arg[0] != '-' || !arg[1])
		return false;
	if (arg[1] == '-')
		return !arg[2] || strcmp(arg, "--help") == 0 || find_long(command, arg + 2, strcspn(arg + 2, "="));
	return !arg[2] && (arg[1] == 'h' || find_letter(command, arg[1]) != NULL);
}

static int store(const struct wmk_cli_option *option, void *args, const char *value)
{
	int err = option->store(option, (char *)args + option->at, value);

	if (err < 0)
		return wmk_error_add(err, "option --%s", option->name);
	if (option->given)
		*(bool *)((char *)args + option->given) = true;
	return 0;
}

/* Parse the option at cursor->at and its value, and advance the cursor. Returns 0, 1 (help), -EINVAL. */
static int parse_one(const struct wmk_cli_command *command, struct cursor *cursor, void *args)
{
	const char *arg = cursor->argv[cursor->at++], *value, *letter = arg + 1;
	const struct wmk_cli_option *option;
	int err;

	if (strcmp(arg, "-h") == 0 || strcmp(arg, "--help") == 0)
		return 1;
	if (arg[1] == '-') {
		size_t len = strcspn(arg + 2, "=");

		option = find_long(command, arg + 2, len);
		value = arg[2 + len] == '=' ? arg + 2 + len + 1 : NULL;
	} else {
		option = find_letter(command, *letter);
		/* Several letters of options without values can be combined, for example -ft. */
		while (option && !option->value && letter[1] && find_letter(command, letter[1])) {
			err = store(option, args, NULL);
			if (err < 0)
				return err;
			option = find_letter(command, *++letter);
		}
		value = letter[1] ? letter + 1 : NULL;
	}
	if (!option)
		return unknown(command, arg);
	if (!option->value && value)
		return wmk_error(-EINVAL, "option --%s takes no value", option->name);
	if (option->value && !value && !(option->value[0] == '[' && !is_value(cursor))) {
		if (cursor->at >= cursor->argc)
			return wmk_error(-EINVAL, "option --%s needs a value: %s", option->name, option->value);
		if (is_option(command, cursor->argv[cursor->at]))
			return wmk_error(-EINVAL, "option --%s needs a value: %s, found \"%.20s\" (write --%s=%.20s "
					 "if that is the value)", option->name, option->value, cursor->argv[cursor->at],
					 option->name, cursor->argv[cursor->at]);
		value = cursor->argv[cursor->at++];
	}
	return store(option, args, value);
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
			/* Options may follow arguments; the entries before cursor.at are already parsed. */
			argv[n++] = arg;
			cursor.at++;
		}
	}
	/* Move the final NULL, too, because the arguments may become the argv of a program. */
	memmove(argv + n, argv + cursor.at, (size_t)(argc - cursor.at + 1) * sizeof(*argv));
	*n_rest = n + argc - cursor.at;
	return 0;
}

/* ── shared options ──────────────────────────────────────────────────────────────────────────────────── */

int wmk_cli_store_pid(const struct wmk_cli_option *option, void *at, const char *value)
{
	uint64_t pid;
	int err = wmk_cli_number(value, INT32_MAX, &pid);

	(void)option;
	if (err == 0 && pid == 0)
		err = wmk_error(-EINVAL, "invalid process number 0");
	if (err == 0)
		*(uint64_t *)at = pid;
	return err;
}

int wmk_cli_check_domain(const struct wmk_cli_common *common)
{
	if (common->kernel && common->userspace)
		return wmk_error(-EINVAL, "--kernel and --userspace exclude each other: give one domain");
	if (common->kernel && common->exec)
		return wmk_error(-EINVAL,
				 "--exec is not supported in the kernel domain: give a process (--pid)");
	if (common->pid && common->exec)
		return wmk_error(-EINVAL, "--pid and --exec exclude each other");
	if (common->follow && !common->pid && !common->exec)
		return wmk_error(-EINVAL, "--follow needs --pid or --exec");
	return 0;
}

int wmk_cli_session_argument(struct wmk_cli_common *common, char **rest, int n_rest)
{
	if (n_rest > 1)
		return wmk_error(-EINVAL, "unexpected argument \"%.40s\": give one session", rest[1]);
	if (n_rest == 1 && common->session)
		return wmk_error(-EINVAL, "two sessions given: \"%.40s\" and \"%.40s\"", common->session, rest[0]);
	if (n_rest == 1 && !*rest[0])
		return wmk_error(-EINVAL, "the name of the session is empty");
	if (n_rest)
		common->session = rest[0];
	return 0;
}

/* ── running ─────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_cli_run(const struct wmk_cli_command *command, char **argv, int argc)
{
	void *args = calloc(1, command->args_size);
	char **rest;
	int n_rest, status;

	if (!args) {
		wmk_error(-ENOMEM, "no memory");
		return wmk_cli_failed();
	}
	status = wmk_cli_parse(command, argv, argc, args, &rest, &n_rest);
	if (status == 0)
		status = command->run(args, rest, n_rest);
	else if (status > 0) {
		wmk_cli_describe(stdout, command);
		status = 0;
	}
	if (status < 0) {
		wmk_cli_print_error();
		wmk_cli_usage(stderr, command);
		status = WMK_CLI_USAGE;
	}
	if (command->done)
		command->done(args);
	free(args);
	return status;
}
