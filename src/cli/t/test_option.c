/* SPDX-License-Identifier: MIT */
/*
 * test_option.c - unit tests of the kinds of options: the values that each kind stores or rejects.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "cli/command.h"

static void malformed_word_lists_and_numbers_are_refused(void **state)
{
	struct wmk_cli_words words = { NULL, 0 };
	uint64_t number;

	(void)state;
	assert_int_equal(wmk_cli_words_add(&words, "a:*,b"), 0);
	assert_int_equal(wmk_cli_words_add(&words, "c"), 0);
	assert_int_equal(words.n, 3);
	assert_string_equal(words.items[0], "a:*");
	assert_string_equal(words.items[2], "c");
	assert_int_equal(wmk_cli_words_add(&words, ""), -EINVAL);
	assert_int_equal(wmk_cli_words_add(&words, "d,"), -EINVAL);
	assert_int_equal(wmk_cli_words_add(&words, ",d"), -EINVAL);
	wmk_cli_words_free(&words);
	assert_int_equal(wmk_cli_number("12", 12, &number), 0);
	assert_int_equal(number, 12);
	assert_int_equal(wmk_cli_number("13", 12, &number), -ERANGE);
	assert_int_equal(wmk_cli_number("99999999999999999999", UINT64_MAX, &number), -ERANGE);
	assert_int_equal(wmk_cli_number("1k", 12, &number), -EINVAL);
	assert_int_equal(wmk_cli_number("-1", 12, &number), -EINVAL);
	assert_int_equal(wmk_cli_number("", 12, &number), -EINVAL);
}

struct kinds {
	bool flag, given;
	unsigned count;
	uint8_t constant;
	const char *text, *name;
	uint64_t number, size, power;
	double seconds;
	uint32_t choice;
	const char *word;
	struct wmk_cli_words words;
};

static const struct wmk_cli_option kinds_options[] = {
	{ 'f', "flag", NULL, "", WMK_CLI_FLAG(struct kinds, flag) },
	{ 'c', "count", NULL, "", WMK_CLI_COUNT(struct kinds, count), .repeats = true },
	{ 0, "constant", NULL, "", WMK_CLI_CONSTANT(struct kinds, constant, 7), WMK_CLI_GIVEN(struct kinds, given) },
	{ 0, "text", "X", "", WMK_CLI_TEXT(struct kinds, text) },
	{ 0, "name", "X", "", WMK_CLI_NAME(struct kinds, name, "a thing") },
	{ 0, "number", "X", "", WMK_CLI_NUMBER(struct kinds, number, 12) },
	{ 0, "size", "X", "", WMK_CLI_SIZE(struct kinds, size) },
	{ 0, "power", "X", "", WMK_CLI_POWER_OF_TWO(struct kinds, power, 8, 64) },
	{ 0, "seconds", "X", "", WMK_CLI_SECONDS(struct kinds, seconds, 10) },
	{ 0, "choice", "X", "", WMK_CLI_CHOICE(struct kinds, choice, "one two three", "'@' is no choice") },
	{ 0, "word", "X", "", WMK_CLI_WORD(struct kinds, word, "red green blue", "no '@'; there are #~") },
	{ 'w', "words", "[X]", "", WMK_CLI_WORDS(struct kinds, words), .repeats = true },
};

static int parse_kinds(struct kinds *args, const char *arguments)
{
	static const struct wmk_cli_command command = {
		.name = "test", .arguments = "", WMK_CLI_OPTIONS(kinds_options),
	};
	static char line[256];
	char *argv[32], **rest;
	int argc = 0, n;

	*args = (struct kinds){ .flag = false };
	snprintf(line, sizeof(line), "%s", arguments);
	for (char *word = strtok(line, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	return wmk_cli_parse(&command, argv, argc, args, &rest, &n);
}

static void each_kind_of_option_stores_its_value(void **state)
{
	struct kinds args;

	(void)state;
	assert_int_equal(parse_kinds(&args, ""), 0);
	assert_false(args.flag || args.given);
	assert_int_equal(parse_kinds(&args, "-fcc --count --constant --text= --name a --number=12 --size 2k --power 33 "
					    "--seconds 0.5 --choice three --word blue -w a,b -w"), 0);
	assert_true(args.flag && args.given);
	assert_int_equal(args.count, 3);
	assert_int_equal(args.constant, 7);
	assert_string_equal(args.text, "");
	assert_string_equal(args.name, "a");
	assert_int_equal(args.number, 12);
	assert_int_equal(args.size, 2048);
	assert_int_equal(args.power, 64);
	assert_true(args.seconds > 0.49 && args.seconds < 0.51);
	assert_int_equal(args.choice, 2);
	assert_string_equal(args.word, "blue");
	assert_int_equal(args.words.n, 2);
	wmk_cli_words_free(&args.words);
	assert_int_equal(parse_kinds(&args, "--power 3"), 0);
	assert_int_equal(args.power, 8);
}

static void invalid_value_of_each_option_kind_is_rejected_with_reason(void **state)
{
	static const char *const bad[][2] = {
		{ "--name=", "option --name: the name of a thing is missing" },
		{ "--number 13", "too large: at most 12" },
		{ "--number x", "not a number" }, { "--size x", "x" }, { "--power 65", "65 is out of range 1 to 64" },
		{ "--power 0", "is out of range 1 to 64" },
		{ "--seconds 11", "\"11\" is not a number of seconds from 0 to 10" },
		{ "--seconds nan", "not a number" }, { "--choice tw", "option --choice: 'tw' is no choice" },
		{ "--word gren", "no 'gren'; there are green, red; did you mean green, red?" },
		{ "--word purple", "no 'purple'; there are red, green, blue" },
		{ "--choice=", "'' is no choice" }, { "-w a,", "empty word" }, { "--flag=1", "takes no value" },
	};
	char text[1280];

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct kinds args;

		assert_true(parse_kinds(&args, bad[i][0]) < 0);
		wmk_cli_words_free(&args.words);
		if (!strstr(wmk_error_text(text, sizeof(text)), bad[i][1]))
			fail_msg("'%s': '%s', without '%s'", bad[i][0], text, bad[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(malformed_word_lists_and_numbers_are_refused),
		cmocka_unit_test(each_kind_of_option_stores_its_value),
		cmocka_unit_test(invalid_value_of_each_option_kind_is_rejected_with_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
