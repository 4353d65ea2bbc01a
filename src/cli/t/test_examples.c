/* SPDX-License-Identifier: MIT */
/*
 * test_examples.c - check examples, completion lists and names of other tools against the table of commands.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "cli/command.h"

static const char *error_text(void)
{
	static char buf[500];

	return wmk_error_text(buf, sizeof(buf));
}

/* Split a line into words in place. Single quotes protect spaces. */
static int split(char *line, char **argv)
{
	int argc = 0;

	while (*line) {
		char *to = line;
		bool quoted = false;

		argv[argc++] = to;
		for (; *line && (*line != ' ' || quoted); line++)
			if (*line == '\'')
				quoted = !quoted;
			else
				*to++ = *line;
		assert_false(quoted);
		line += *line == ' ';
		*to = '\0';
	}
	argv[argc] = NULL;
	return argc;
}

static void check_example(const struct wmk_cli_example *example)
{
	char line[256], *argv[32], **rest;
	const struct wmk_cli_command *command;
	void *args;
	int n, err;

	snprintf(line, sizeof(line), "%s", example->line);
	n = split(line, argv);
	assert_true(n >= 2);
	assert_string_equal(argv[0], "waymark");
	assert_string_equal(argv[1], example->command);
	command = wmk_cli_look_up(argv[1]);
	assert_non_null(command);
	args = calloc(1, command->args_size + 1);
	assert_non_null(args);
	err = wmk_cli_parse(command, argv + 2, n - 2, args, &rest, &n);
	if (err)
		fail_msg("%s: %s", example->line, error_text());
	if (command->done)
		command->done(args);
	free(args);
	assert_int_equal(example->purpose[strlen(example->purpose) - 1], ':');
}

static void each_command_has_examples_that_it_parses(void **state)
{
	(void)state;
	for (unsigned i = 0; wmk_cli_commands[i]; i++) {
		const struct wmk_cli_example *example = NULL;
		unsigned n = wmk_cli_examples(wmk_cli_commands[i], &example);

		if (!n)
			fail_msg("waymark %s has no example", wmk_cli_commands[i]->name);
		for (; n--; example++)
			check_example(example);
	}
}

/* Values that are neither names nor words of a list. */
static bool is_free_form(const char *value)
{
	static const char *const values[] = { "EXPR",    "N",   "SIZE",  "USEC",  "MS",   "TIME", "YEAR",
					      "SECONDS", "PID", "PLACE", "GROUP", "USER", "TEXT", "GLOB",
					      "ADDR",    "URL" };
	size_t len;

	value += strspn(value, "[");
	len = strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
	for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (strlen(values[i]) == len && strncmp(values[i], value, len) == 0)
			return true;
	return false;
}

static void option_values_are_completed_unless_free_form(void **state)
{
	(void)state;
	for (unsigned i = 0; wmk_cli_commands[i]; i++) {
		const struct wmk_cli_command *command = wmk_cli_commands[i];

		for (unsigned k = 0; k < command->n_options; k++) {
			const struct wmk_cli_option *option = &command->options[k];

			if (option->value && wmk_cli_is_completed(option) == is_free_form(option->value))
				fail_msg("waymark %s --%s %s: completed and free-form, or neither", command->name,
					 option->name, option->value);
		}
	}
}

/* Parse one value with the option's parser. Returns 0 or -errno. */
static int set_option(const struct wmk_cli_command *command, const struct wmk_cli_option *option, const char *value)
{
	void *args = calloc(1, command->args_size + 1);
	int err;

	assert_non_null(args);
	err = option->store(option, (char *)args + option->at, value);
	if (command->done)
		command->done(args);
	free(args);
	return err;
}

static unsigned check_choices(const struct wmk_cli_command *command, const struct wmk_cli_option *option)
{
	char words[256];
	unsigned n = 0;

	if (!option->choices)
		return 0;
	snprintf(words, sizeof(words), "%s", option->choices);
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "), n++)
		if (set_option(command, option, word) < 0)
			fail_msg("waymark %s --%s %s: %s", command->name, option->name, word, error_text());
	return n;
}

static void listed_choices_are_accepted_by_their_options(void **state)
{
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; wmk_cli_commands[i]; i++)
		for (unsigned k = 0; k < wmk_cli_commands[i]->n_options; k++)
			n += check_choices(wmk_cli_commands[i], &wmk_cli_commands[i]->options[k]);
	assert_true(n >= 30);
}

static void command_name_of_another_tool_suggests_waymark_command(void **state)
{
	static const char *const names[] = { "stat", "sched", "script" };

	(void)state;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *instead = wmk_cli_other_tool(names[i]);

		assert_non_null(instead);
		assert_null(wmk_cli_look_up(names[i]));
		assert_non_null(strstr(instead, "`waymark "));
		assert_null(wmk_cli_find(names[i]));
		assert_non_null(strstr(error_text(), instead));
	}
	assert_null(wmk_cli_other_tool("record"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_command_has_examples_that_it_parses),
		cmocka_unit_test(option_values_are_completed_unless_free_form),
		cmocka_unit_test(listed_choices_are_accepted_by_their_options),
		cmocka_unit_test(command_name_of_another_tool_suggests_waymark_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
