/* SPDX-License-Identifier: MIT */
/*
 * test_cli.c - unit tests: the table of commands, options, sizes, JSON, similar names, the current session, the latest
 * trace, the search for programs.
 */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/size.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/current.h"
#include "cli/process_state.h"
#include "cli/progress.h"
#include "cli/record.h"

static int split(char *line, char **argv)
{
	int argc = 0;

	for (char *word = strtok(line, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	return argc;
}

static int parse(struct wmk_record_args *args, const char *line, char ***rest, int *n_rest)
{
	static char buf[512], *argv[32];

	memset(args, 0, sizeof(*args));
	snprintf(buf, sizeof(buf), "%s", line);
	return wmk_cli_parse(&wmk_cli_record, argv, split(buf, argv), args, rest, n_rest);
}

static void options_of_record_are_stored_up_to_the_program_name(void **state)
{
	struct wmk_record_args args;
	char **rest;
	int n;

	(void)state;
	assert_int_equal(parse(&args,
			       "-e a:* -eb:c --event=!d:e --event f:* -c vpid -c procname -c vpid -o dir --subbuf-size "
			       "3M --num-subbuf=5 --overwrite --json -- ./prog -x --y",
			       &rest, &n),
			 0);
	assert_int_equal(args.patterns.n, 4);
	assert_string_equal(args.patterns.items[1], "b:c");
	assert_string_equal(args.patterns.items[2], "!d:e");
	assert_int_equal(args.n_contexts, 2);
	assert_int_equal(args.contexts[1], WMK_CONTEXT_PROCNAME);
	assert_string_equal(args.output, "dir");
	assert_int_equal(args.subbuf_size, 4 << 20);
	assert_int_equal(args.n_subbufs, 8);
	assert_true(args.overwrite && args.json);
	assert_int_equal(n, 3);
	assert_string_equal(rest[0], "./prog");
	assert_string_equal(rest[2], "--y");
	assert_null(rest[3]);
	/* `--` is optional: options after the program's name belong to the program. */
	assert_int_equal(parse(&args, "-e a:* prog --json -e x", &rest, &n), 0);
	assert_false(args.json);
	assert_int_equal(args.patterns.n, 1);
	assert_int_equal(n, 4);
	assert_int_equal(parse(&args, "--help", &rest, &n), 1);
}

/* For every option with a value: it is followed by `--`, or by an option of the command. */
static void option_in_the_place_of_a_value_is_rejected(void **state)
{
	char name[64], end[] = "--", help[] = "--help", letter[] = "-h", program[] = "true";
	char *found[] = { end, help, letter, name };
	char words[1280], args[8192], **rest;
	unsigned options = 0;
	int n;

	(void)state;
	for (unsigned i = 0; wmk_cli_commands[i]; i++) {
		const struct wmk_cli_command *command = wmk_cli_commands[i];

		assert_true(command->args_size <= sizeof(args));
		for (unsigned k = 0; k < command->n_options; k++) {
			const struct wmk_cli_option *option = &command->options[k];

			if (!option->value || option->value[0] == '[')
				continue;
			snprintf(name, sizeof(name), "--%s", option->name);
			options++;
			for (unsigned f = 0; f < sizeof(found) / sizeof(found[0]); f++) {
				char *argv[] = { name, found[f], program, NULL };

				memset(args, 0, sizeof(args));
				assert_int_equal(wmk_cli_parse(command, argv, 3, args, &rest, &n), -EINVAL);
				assert_non_null(strstr(wmk_error_text(words, sizeof(words)), "needs a value"));
				assert_non_null(strstr(words, option->value));
				wmk_error_clear();
			}
		}
	}
	assert_true(options > 50);
}

static void expect_refused(const char *line, const char *words)
{
	struct wmk_record_args args;
	char **rest, text[1280];
	int n;

	assert_true(parse(&args, line, &rest, &n) < 0);
	wmk_error_text(text, sizeof(text));
	if (!strstr(text, words))
		fail_msg("'%s': error '%s', expected '%s'", line, text, words);
}

static void wrong_options_of_record_are_refused_with_reason(void **state)
{
	(void)state;
	expect_refused("--overwite -- x", "--overwrite");
	expect_refused("--frobnicate", "unknown option --frobnicate");
	expect_refused("-c", "needs a value");
	expect_refused("--overwrite=1", "takes no value");
	expect_refused("-c vpdi x", "vpid");
	expect_refused("-c zzzzzzzz x", "one of vpid");
	expect_refused("--subbuf-size 0 x", "range 1 to 1G");
	expect_refused("--subbuf-size 2G x", "range 1 to 1G");
	expect_refused("--subbuf-size 1x x", "not a size");
	expect_refused("--subbuf-size -1 x", "not a number");
	expect_refused("--num-subbuf 99999999999999999999 x", "too large");
}

static void valid_sizes_are_parsed_and_invalid_ones_refused(void **state)
{
	static const struct { const char *text; uint64_t size; } good[] = {
		{ "0", 0 }, { "512", 512 }, { "4k", 4096 }, { "4K", 4096 }, { "1M", 1 << 20 }, { "3G", 3ull << 30 },
		{ "18446744073709551615", UINT64_MAX },
	};
	static const char *const bad[] = {
		"", " 1", "+1", "-1", "1kk", "1T", "1 k", "0x10", "18446744073709551616", "17179869184G"
	};
	char buf[32];
	uint64_t size;

	(void)state;
	for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(wmk_size_parse(good[i].text, &size), 0);
		assert_int_equal(size, good[i].size);
	}
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (wmk_size_parse(bad[i], &size) == 0)
			fail_msg("'%s' was accepted as %llu", bad[i], (unsigned long long)size);
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

static void json_strings_are_escaped(void **state)
{
	(void)state;
	expect_json("plain", "\"plain\"");
	expect_json("a\"b\\c\n\x01", "\"a\\\"b\\\\c\\u000a\\u0001\"");
	expect_json("h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8e\x89", "\"h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8e\x89\"");
	/* Lone, overlong, truncated, surrogate, past the end of Unicode. */
	expect_json("\x80", "\"\xef\xbf\xbd\"");
	expect_json("\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"");
	expect_json("\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\"");
	expect_json("\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	expect_json("\xf5\x80\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void commands_are_found_by_name(void **state)
{
	char text[1280];

	(void)state;
	assert_ptr_equal(wmk_cli_find("record"), &wmk_cli_record);
	assert_null(wmk_cli_find("recrod"));
	assert_non_null(strstr(wmk_error_text(text, sizeof(text)), "did you mean: record, "));
	assert_null(wmk_cli_find("xyzzy"));
	assert_non_null(strstr(wmk_error_text(text, sizeof(text)), "waymark help"));
}

static void help_and_man_list_every_option(void **state)
{
	static void (*const printers[])(FILE *, const struct wmk_cli_command *) = { wmk_cli_describe, wmk_cli_man };

	(void)state;
	for (unsigned i = 0; wmk_cli_commands[i]; i++) {
		const struct wmk_cli_command *command = wmk_cli_commands[i];

		for (unsigned k = 0; k < 2; k++) {
			char *buf;
			size_t len;
			FILE *out = open_memstream(&buf, &len);

			printers[k](out, command);
			fclose(out);
			for (unsigned o = 0; o < command->n_options; o++) {
				/* (a man page escapes dashes) */
				const char *dash = strrchr(command->options[o].name, '-');

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

static void shared_options_are_stored_and_invalid_ones_refused(void **state)
{
	static const char *const bad[][2] = {
		{ "--pid 0", "invalid process number 0" },
		{ "--pid x", "not a number" },
		{ "--pid 1 --exec a", "exclude each other" },
		{ "--follow", "needs --pid or --exec" },
	};
	static const struct wmk_cli_option options[] = {
		WMK_CLI_OPTION_JSON,
		WMK_CLI_OPTION_SESSION,
		WMK_CLI_OPTION_CHANNEL("The channel."),
		WMK_CLI_OPTIONS_DOMAIN,
	};
	static const struct wmk_cli_command command = {
		.name = "test", .arguments = "", WMK_CLI_OPTIONS(options),
	};
	struct wmk_cli_common common = { false };
	char line[128], *argv[16], **rest, text[1280];
	int argc, n, err;

	(void)state;
	strcpy(line, "-s one -u --pid=12 --follow --channel two --json");
	argc = split(line, argv);
	assert_int_equal(wmk_cli_parse(&command, argv, argc, &common, &rest, &n), 0);
	assert_int_equal(wmk_cli_check_domain(&common), 0);
	assert_string_equal(common.session, "one");
	assert_string_equal(common.channel, "two");
	assert_int_equal(common.pid, 12);
	assert_true(common.json && common.userspace && common.follow && !common.exec);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(&common, 0, sizeof(common));
		strcpy(line, bad[i][0]);
		argc = split(line, argv);
		err = wmk_cli_parse(&command, argv, argc, &common, &rest, &n);
		err = err < 0 ? err : wmk_cli_check_domain(&common);
		assert_int_equal(err, -EINVAL);
		assert_non_null(strstr(wmk_error_text(text, sizeof(text)), bad[i][1]));
	}
}

static void mode_of(const char *home, const char *file, mode_t mode)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/.waymark%s", home, file);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, mode);
}

/* The current session is stored, replaced and removed. Links and directories of other users are refused. */
static void current_session_is_stored_replaced_and_removed(void **state)
{
	char home[] = "/tmp/waymark-cli-XXXXXX", name[256], path[64], victim[64];

	(void)state;
	assert_non_null(mkdtemp(home));
	setenv("WAYMARK_HOME", home, 1);
	assert_int_equal(wmk_current_get(name, sizeof(name)), -ENOENT);
	assert_int_equal(wmk_current_forget(NULL), 0);
	umask(0);
	assert_int_equal(wmk_current_set("first"), 0);
	umask(022);
	mode_of(home, "", 0700);
	mode_of(home, "/session", 0600);
	assert_int_equal(wmk_current_set("second one"), 0);
	assert_int_equal(wmk_current_get(name, sizeof(name)), 0);
	assert_string_equal(name, "second one");
	assert_int_equal(wmk_current_forget("first"), 0);
	assert_int_equal(wmk_current_get(name, sizeof(name)), 0);
	assert_int_equal(wmk_current_forget("second one"), 0);
	assert_int_equal(wmk_current_get(name, sizeof(name)), -ENOENT);
	/* A link is not followed; writing replaces it. */
	snprintf(path, sizeof(path), "%s/.waymark/session", home);
	snprintf(victim, sizeof(victim), "%s/victim", home);
	assert_int_equal(symlink(victim, path), 0);
	assert_int_equal(wmk_current_get(name, sizeof(name)), -ELOOP);
	assert_int_equal(wmk_current_set("third"), 0);
	assert_int_equal(access(victim, F_OK), -1);
	assert_int_equal(wmk_current_get(name, sizeof(name)), 0);
	/* A directory in which other users can write is refused. */
	snprintf(path, sizeof(path), "%s/.waymark", home);
	chmod(path, 0777);
	assert_int_equal(wmk_current_get(name, sizeof(name)), -EPERM);
	assert_int_equal(wmk_current_set("fourth"), -EPERM);
	chmod(path, 0700);
	assert_int_equal(wmk_current_forget(NULL), 0);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(symlink("/", path), 0);
	assert_true(wmk_current_set("fifth") < 0);
	unlink(path);
	rmdir(home);
	unsetenv("WAYMARK_HOME");
}

/* The latest trace is newer or older than the last use of the current session. */
static void latest_trace_and_current_session_are_ordered_by_time(void **state)
{
	char home[] = "/tmp/waymark-cli-XXXXXX", path[PATH_MAX], place[128];
	bool since = true;

	(void)state;
	assert_non_null(mkdtemp(home));
	setenv("WAYMARK_HOME", home, 1);
	assert_int_equal(wmk_recorded_get(path, sizeof(path), &since), -ENOENT);
	assert_false(since);
	wmk_current_meant(NULL);
	wmk_recorded_set("/nowhere/at/all");
	assert_int_equal(wmk_recorded_get(path, sizeof(path), &since), -ENOENT);
	snprintf(place, sizeof(place), "%s/a\nb\n", home);
	assert_int_equal(mkdir(place, 0700), 0);
	umask(0);
	wmk_recorded_set(place);
	umask(022);
	mode_of(home, "", 0700);
	mode_of(home, "/trace", 0600);
	assert_int_equal(wmk_recorded_get(path, sizeof(path), &since), 0);
	assert_string_equal(path, place);
	assert_true(since);
	assert_int_equal(wmk_recorded_get(path, strlen(place), &since), -EINVAL);
	assert_int_equal(wmk_recorded_get(path, strlen(place) + 1, &since), 0);
	/* Without a current session, the trace stays the newer one. */
	wmk_current_meant(NULL);
	assert_int_equal(wmk_recorded_get(path, sizeof(path), &since), 0);
	assert_true(since);
	assert_int_equal(wmk_current_set("first"), 0);
	assert_int_equal(wmk_recorded_get(path, sizeof(path), &since), 0);
	assert_string_equal(path, place);
	assert_false(since);
	wmk_recorded_set(home);
	wmk_current_meant("second");
	assert_int_equal(wmk_recorded_get(path, sizeof(path), &since), 0);
	assert_string_equal(path, home);
	assert_true(since);
	wmk_current_meant("first");
	assert_int_equal(wmk_recorded_get(path, sizeof(path), &since), 0);
	assert_string_equal(path, home);
	assert_false(since);
	assert_int_equal(rmdir(place), 0);
	snprintf(path, sizeof(path), "%s/.waymark/trace-before", home);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(wmk_current_forget(NULL), 0);
	snprintf(path, sizeof(path), "%s/.waymark", home);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(home), 0);
	unsetenv("WAYMARK_HOME");
}

static void json_writer_sets_commas_between_members_only(void **state)
{
	char *buf;
	size_t len;
	struct wmk_cli_json json = { .out = open_memstream(&buf, &len) };

	(void)state;
	wmk_cli_json_open(&json, NULL, '{');
	wmk_cli_json_open(&json, "none", '[');
	wmk_cli_json_close(&json, ']');
	wmk_cli_json_open(&json, "list", '[');
	wmk_cli_json_u64(&json, NULL, UINT64_MAX);
	wmk_cli_json_i64(&json, NULL, -1);
	wmk_cli_json_open(&json, NULL, '{');
	wmk_cli_json_text(&json, "a", NULL);
	wmk_cli_json_bool(&json, "b", true);
	wmk_cli_json_close(&json, '}');
	wmk_cli_json_close(&json, ']');
	wmk_cli_json_double(&json, "d", 0.5);
	wmk_cli_json_close(&json, '}');
	fclose(json.out);
	assert_string_equal(buf,
			    "{\"none\":[],\"list\":[18446744073709551615,-1,{\"a\":null,\"b\":true}],\"d\":0.500}");
	free(buf);
}

static void parent_process_is_found_if_process_name_has_parentheses(void **state)
{
	(void)state;
	prctl(PR_SET_NAME, "x) R 1 (");
	assert_int_equal(wmk_proc_parent(getpid()), getppid());
	assert_int_equal(wmk_proc_parent(0), 0);
}

static void program_is_found_in_path_only_if_executable(void **state)
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

/* The first line is due after a second, the next ones every 200 ms. */
static void progress_line_is_due_after_a_second(void **state)
{
	const uint64_t ms = 1000000, begin = 5000 * ms;
	struct wmk_progress progress = { .next_ns = begin + 1000 * ms };
	char line[120];

	(void)state;
	assert_int_equal(wmk_progress_line(&progress, begin, 1, 10, 1, line, sizeof(line)), 0);
	assert_int_equal(wmk_progress_line(&progress, begin + 999 * ms, 1, 10, 1, line, sizeof(line)), 0);
	assert_false(progress.shown);
	assert_true(wmk_progress_line(&progress, begin + 1000 * ms, 500000000, 1000000000, 12345, line, sizeof(line)) >
		    0);
	assert_string_equal(line, " 50 % of 1000 MB, 12345 records");
	assert_true(progress.shown);
	assert_int_equal(wmk_progress_line(&progress, begin + 1100 * ms, 1, 10, 1, line, sizeof(line)), 0);
	assert_true(wmk_progress_line(&progress, begin + 1200 * ms, 0, 0, 0, line, sizeof(line)) > 0);
	assert_string_equal(line, "0 MB, 0 records");
	assert_true(wmk_progress_line(&progress, begin + 2000 * ms, UINT64_MAX, UINT64_MAX, UINT64_MAX, line,
				      sizeof(line)) < sizeof(line));
	/* (the file has grown meanwhile) */
	assert_true(wmk_progress_line(&progress, begin + 3000 * ms, 3000000000, 1000000000, 1, line, sizeof(line)) > 0);
	assert_string_equal(line, "100 % of 1000 MB, 1 records");
	progress.next_ns = 0;
	assert_int_equal(wmk_progress_line(&progress, UINT64_MAX, 1, 1, 1, line, sizeof(line)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(option_in_the_place_of_a_value_is_rejected),
		cmocka_unit_test(options_of_record_are_stored_up_to_the_program_name),
		cmocka_unit_test(wrong_options_of_record_are_refused_with_reason),
		cmocka_unit_test(valid_sizes_are_parsed_and_invalid_ones_refused),
		cmocka_unit_test(json_strings_are_escaped),
		cmocka_unit_test(commands_are_found_by_name),
		cmocka_unit_test(help_and_man_list_every_option),
		cmocka_unit_test(program_is_found_in_path_only_if_executable),
		cmocka_unit_test(shared_options_are_stored_and_invalid_ones_refused),
		cmocka_unit_test(current_session_is_stored_replaced_and_removed),
		cmocka_unit_test(latest_trace_and_current_session_are_ordered_by_time),
		cmocka_unit_test(progress_line_is_due_after_a_second),
		cmocka_unit_test(json_writer_sets_commas_between_members_only),
		cmocka_unit_test(parent_process_is_found_if_process_name_has_parentheses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
