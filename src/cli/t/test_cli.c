/* SPDX-License-Identifier: MIT */
/*
 * test_cli.c - the table of commands, options, sizes, JSON strings, nearest names, the search for programs.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/record.h"

static int parse(struct wmk_record_args *args, const char *line, char ***rest, int *n_rest)
{
	static char buf[512], *argv[32];
	int argc = 0;

	memset(args, 0, sizeof(*args));
	snprintf(buf, sizeof(buf), "%s", line);
	for (char *word = strtok(buf, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	return wmk_cli_parse(&wmk_cli_record, argv, argc, args, rest, n_rest);
}

static void test_options(void **state)
{
	struct wmk_record_args args;
	char **rest;
	int n;

	(void)state;
	assert_int_equal(parse(&args, "-e a:* -eb:c --event=!d:e --event f:* -c vpid -c procname -c vpid -o dir --subbuf-size 3M "
			       "--num-subbuf=5 --overwrite --json -- ./prog -x --y", &rest, &n), 0);
	assert_int_equal(args.n_patterns, 4);
	assert_string_equal(args.patterns[1], "b:c");
	assert_string_equal(args.patterns[2], "!d:e");
	assert_int_equal(args.n_contexts, 2);
	assert_int_equal(args.contexts[1], WMK_CTX_PROCNAME);
	assert_string_equal(args.output, "dir");
	assert_int_equal(args.subbuf_size, 4 << 20);
	assert_int_equal(args.n_subbufs, 8);
	assert_true(args.overwrite && args.json);
	assert_int_equal(n, 3);
	assert_string_equal(rest[0], "./prog");
	assert_string_equal(rest[2], "--y");
	assert_null(rest[3]);
	/* `--` may be left out: the program's own options stay its own. */
	assert_int_equal(parse(&args, "-e a:* prog --json -e x", &rest, &n), 0);
	assert_false(args.json);
	assert_int_equal(args.n_patterns, 1);
	assert_int_equal(n, 4);
	assert_int_equal(parse(&args, "--help", &rest, &n), 1);
}

static void expect_refused(const char *line, const char *words)
{
	struct wmk_record_args args;
	char **rest, text[1280];
	int n;

	assert_true(parse(&args, line, &rest, &n) < 0);
	wmk_error_text(text, sizeof(text));
	if (!strstr(text, words))
		fail_msg("'%s' says '%s', not '%s'", line, text, words);
}

static void test_refused(void **state)
{
	(void)state;
	expect_refused("--overwite -- x", "--overwrite");
	expect_refused("--frobnicate", "unknown option --frobnicate");
	expect_refused("-c", "needs a value");
	expect_refused("--overwrite=1", "takes no value");
	expect_refused("-c vpdi x", "vpid");
	expect_refused("-c zzzzzzzz x", "there are: vpid");
	expect_refused("--subbuf-size 0 x", "from 1 to 1G");
	expect_refused("--subbuf-size 2G x", "from 1 to 1G");
	expect_refused("--subbuf-size 1x x", "not a size");
	expect_refused("--subbuf-size -1 x", "not a number");
	expect_refused("--num-subbuf 99999999999999999999 x", "too large");
}

static void test_sizes(void **state)
{
	static const struct { const char *text; uint64_t size; } good[] = {
		{ "0", 0 }, { "512", 512 }, { "4k", 4096 }, { "4K", 4096 }, { "1M", 1 << 20 }, { "3G", 3ull << 30 },
		{ "18446744073709551615", UINT64_MAX },
	};
	static const char *const bad[] = { "", " 1", "+1", "-1", "1kk", "1T", "1 k", "0x10", "18446744073709551616", "17179869184G" };
	char buf[32];
	uint64_t size;

	(void)state;
	for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(wmk_cli_size(good[i].text, &size), 0);
		assert_int_equal(size, good[i].size);
	}
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (wmk_cli_size(bad[i], &size) == 0)
			fail_msg("'%s' was taken as %llu", bad[i], (unsigned long long)size);
	assert_string_equal(wmk_cli_size_text(4 << 20, buf, sizeof(buf)), "4M");
	assert_string_equal(wmk_cli_size_text(1536, buf, sizeof(buf)), "1536");
	assert_string_equal(wmk_cli_size_text(0, buf, sizeof(buf)), "0");
	assert_string_equal(wmk_cli_bytes_text(999, buf, sizeof(buf)), "999 B");
	assert_string_equal(wmk_cli_bytes_text(1500000, buf, sizeof(buf)), "1.5 MB");
	assert_string_equal(wmk_cli_bytes_text(999999, buf, sizeof(buf)), "1.0 MB");
}

static void expect_json(const char *text, const char *json)
{
	char *buf;
	size_t len;
	FILE *out = open_memstream(&buf, &len);

	wmk_cli_json_string(out, text);
	fclose(out);
	assert_string_equal(buf, json);
	free(buf);
}

static void test_json(void **state)
{
	(void)state;
	expect_json("plain", "\"plain\"");
	expect_json("a\"b\\c\n\x01", "\"a\\\"b\\\\c\\u000a\\u0001\"");
	expect_json("h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8e\x89", "\"h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8e\x89\"");
	/* Lone, overlong, truncated, surrogate, past the end of Unicode. */
	expect_json("\x80", "\"\\ufffd\"");
	expect_json("\xc0\xaf", "\"\\ufffd\\ufffd\"");
	expect_json("\xe2\x82", "\"\\ufffd\\ufffd\"");
	expect_json("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");
	expect_json("\xf5\x80\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
}

static void test_commands(void **state)
{
	char text[1280];

	(void)state;
	assert_ptr_equal(wmk_cli_find("record"), &wmk_cli_record);
	assert_null(wmk_cli_find("recrod"));
	assert_non_null(strstr(wmk_error_text(text, sizeof(text)), "did you mean: record?"));
	assert_null(wmk_cli_find("xyzzy"));
	assert_non_null(strstr(wmk_error_text(text, sizeof(text)), "waymark help"));
}

/* Every way in which the table is shown names every option. */
static void test_table(void **state)
{
	static void (*const printers[])(FILE *, const struct wmk_cli_command *) = { wmk_cli_describe, wmk_cli_man };

	(void)state;
	for (unsigned i = 0; i < wmk_cli_n_commands; i++) {
		const struct wmk_cli_command *command = wmk_cli_commands[i];

		for (unsigned k = 0; k < 2; k++) {
			char *buf;
			size_t len;
			FILE *out = open_memstream(&buf, &len);

			printers[k](out, command);
			fclose(out);
			for (unsigned o = 0; o < command->n_options; o++) {
				const char *dash = strchr(command->options[o].name, '-');

				assert_non_null(strstr(buf, dash ? dash + 1 : command->options[o].name));
			}
			free(buf);
		}
		for (unsigned o = 0; o < command->n_options; o++)
			for (unsigned other = 0; other < o; other++) {
				assert_string_not_equal(command->options[o].name, command->options[other].name);
				assert_true(!command->options[o].letter ||
					    command->options[o].letter != command->options[other].letter);
			}
	}
}

static void test_find_program(void **state)
{
	char dir[] = "/tmp/waymark-cli-XXXXXX", path[4096], file[128], *old = strdup(getenv("PATH"));
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/thing", dir);
	f = fopen(file, "w");
	assert_non_null(f);
	fclose(f);
	setenv("PATH", dir, 1);
	chmod(file, 0644);
	assert_int_equal(wmk_child_find("thing", path, sizeof(path)), -EACCES);
	assert_int_equal(wmk_child_find(dir, path, sizeof(path)), -EISDIR);
	chmod(file, 0755);
	assert_int_equal(wmk_child_find("thing", path, sizeof(path)), 0);
	assert_string_equal(path, file);
	assert_int_equal(wmk_child_find("nothing", path, sizeof(path)), -ENOENT);
	assert_int_equal(wmk_child_find("./nothing", path, sizeof(path)), -ENOENT);
	assert_int_equal(wmk_child_find("", path, sizeof(path)), -ENOENT);
	setenv("PATH", old, 1);
	free(old);
	unlink(file);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options), cmocka_unit_test(test_refused), cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_json), cmocka_unit_test(test_commands), cmocka_unit_test(test_table),
		cmocka_unit_test(test_find_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
