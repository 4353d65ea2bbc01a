/* SPDX-License-Identifier: MIT */
/*
 * test_procfs.c - parse texts of /proc, valid and invalid ones.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernel/proc/procfs.h"
#include "tree.h"

#define REST \
	" 1 1 0 -1 4194304 99 0 0 0 0 0 0 0 20 0 3 0 3554310 3133440 390 18446744073709551615 1 2 3 4 5 0 0 0 0 0 0 " \
	"0 17 1 0 0 0"

static int parse(const char *text, struct wmk_kproc_stat *stat)
{
	/* In memory of its own, without a NUL. */
	char *copy = malloc(strlen(text) + 1);
	int err;

	memcpy(copy, text, strlen(text));
	copy = realloc(copy, strlen(text) ? strlen(text) : 1);
	err = wmk_kproc_stat_parse(copy, strlen(text), stat);
	free(copy);
	return err;
}

static void process_names_with_parentheses_are_parsed_from_stat(void **state)
{
	static const struct {
		const char *text, *name;
		char state;
	} cases[] = {
		{ "7 (sh) S 1" REST, "sh", 'S' },
		{ "7 () S 1" REST, "", 'S' },
		{ "7 (a) R 9 (b) S 1" REST, "a) R 9 (b", 'S' },
		{ "7 (\n) Z 5\n) S 1" REST, "\n) Z 5\n", 'S' },
		{ "7 (123456789012345678) D 1" REST, "123456789012345", 'D' },
		{ "7 (kworker/0:1-events) I 1" REST, "kworker/0:1-eve", 'I' },   /* a user process may have this name */
		{ "7 (((())) X 1" REST, "((())", 'X' },
	};
	struct wmk_kproc_stat stat;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(cases[i].text, &stat), 0);
		assert_string_equal(stat.name, cases[i].name);
		assert_int_equal(stat.state, cases[i].state);
		assert_int_equal(stat.tid, 7);
		assert_int_equal(stat.ppid, 1);
		assert_int_equal(stat.flags, 4194304);
		assert_int_equal(stat.prio, 20);
		assert_int_equal(stat.n_threads, 3);
		assert_int_equal(stat.cpu, 1);
		for (size_t n = strlen(stat.name); n < sizeof(stat.name); n++)
			assert_int_equal(stat.name[n], 0);
	}
}

static void work_names_are_removed_from_kworker_names(void **state)
{
#define WORKER(name) "8 (" name ") I 2 1 1 0 -1 69238880 0 0 0 0 0 0 0 0 -51 0 1 0 9 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0"
	static const char *const cases[][2] = {
		{ WORKER("kworker/0:1-events"), "kworker/0:1" },
		{ WORKER("kworker/u5:12+flush-254:0"), "kworker/u5:12" },
		{ WORKER("kworker/0:0H"), "kworker/0:0H" },
		{ WORKER("kworker/R-nvme-wq"), "kworker/R-nvme-" },
		{ WORKER("kdevtmpfs-x"), "kdevtmpfs-x" },
		{ WORKER("kworker/"), "kworker/" },
	};
	struct wmk_kproc_stat stat;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(cases[i][0], &stat), 0);
		assert_string_equal(stat.name, cases[i][1]);
		assert_int_equal(stat.prio, -51);
	}
}

/* Each prefix of a valid line is refused until it has the last number that is needed. */
static void truncated_stat_is_refused(void **state)
{
	static const char whole[] = "7 (sh) S 1" REST;
	static const char *const bad[] = { "", "x", "7", "7 sh S 1" REST, "99999999999 (sh) S 1" REST,
					   "7 (sh S 1 1", "7 (sh) S -1" REST, "-7 (sh) S 1" REST };
	struct wmk_kproc_stat stat;
	const size_t needed = (size_t)(strstr(whole, " 17 1") + 5 - whole);
	char text[sizeof(whole)];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse(bad[i], &stat), -EPROTO);
	for (size_t len = 0; len <= sizeof(whole) - 1; len++) {
		memcpy(text, whole, len);
		text[len] = '\0';
		assert_int_equal(parse(text, &stat), len < needed ? -EPROTO : 0);
	}
}

static void proc_status_lines_are_parsed_into_ids_of_each_namespace(void **state)
{
	static const char *const lines[] = {
		"Name:\tTgid:\t9",           "Tgid:\t41",         "Pid:\t42",          "Uid:\t1000\t1001\t1002\t1003",
		"Gid:\t4294967295\t0\t0\t0", "NStgid:\t41\t7\t1", "NSpid:\t42\t8\t2 ", "NSpgid:\t1"
	};
	struct wmk_kproc_status status = { .tgid = 0 };
	char many[512] = "NSpid:";

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		wmk_kproc_status_line(lines[i], strlen(lines[i]), &status);
	assert_int_equal(status.tgid, 41);
	assert_int_equal(status.uid, 1000);
	assert_int_equal(status.gid, UINT32_MAX);
	assert_int_equal(status.n_tgids, 3);
	assert_int_equal(status.n_tids, 3);
	assert_int_equal(status.tgids[2], 1);
	assert_int_equal(status.tids[1], 8);
	for (unsigned i = 0; i < 60; i++)
		strcat(many, "\t5");
	wmk_kproc_status_line(many, strlen(many), &status);
	assert_int_equal(status.n_tids, WMK_KPROC_LEVELS);
}

static void invalid_lines_of_proc_maps_are_refused(void **state)
{
	static const char *const good[] = {
		"5568a000-5568c000 r-xp 00002000 fe:00 247134                     /usr/bin/cat",
		"5568a000-5568c000 r-xp 00002000 fe:00 247134",
		"5568a000-5568c000 r-xp 00002000 fe:00 247134 /a b/\\012x (deleted)",
	}, *const bad[] = {
		"", "5568a000", "5568c000-5568a000 r-xp 0 fe:00 1", "5568a000-5568c000 rw 0 fe:00 1",
		"5568a000-5568c000 rwxz 0 fe:00 1",
		"5568a000-5568c000 wrxp 0 fe:00 1", "5568a000-5568c000 r-xp 0 fe 1", "5568a000-5568c000 r-xp 0 fe:00 ",
		"11112222333344445-1 r-xp 0 fe:00 1",
		"5568a000-11112222333344445 r-xp 0 fe:00 1",
	};
	struct wmk_kproc_map map;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(wmk_kproc_map_parse(good[i], strlen(good[i]), &map), 0);
		assert_int_equal(map.start, 0x5568a000);
		assert_int_equal(map.end, 0x5568c000);
		assert_int_equal(map.offset, 0x2000);
		assert_int_equal(map.inode, 247134);
		assert_true(map.can_read && !map.can_write && map.can_execute && !map.is_shared);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(wmk_kproc_map_parse(bad[i], strlen(bad[i]), &map), -EPROTO);
	assert_int_equal(wmk_kproc_map_parse("ffffffffff600000-ffffffffff601000 --xs 0 0:0 0", 46, &map), 0);
	assert_int_equal(map.start, 0xffffffffff600000u);
	assert_true(map.is_shared && map.can_execute && !map.can_read);
}

static void malformed_proc_numbers_and_values_are_refused(void **state)
{
	uint32_t number = 5;
	uint64_t big;
	const char *value;
	size_t len;

	(void)state;
	assert_int_equal(wmk_kns_parse(WMK_KNS_PID, "pid:[4026531836]", 16, &number), 0);
	assert_int_equal(number, 4026531836u);
	assert_int_equal(wmk_kns_parse(WMK_KNS_MNT, "pid:[4026531836]", 16, &number), -EPROTO);
	assert_int_equal(wmk_kns_parse(WMK_KNS_PID, "pid:[4294967296]", 16, &number), -EPROTO);
	assert_int_equal(wmk_kns_parse(WMK_KNS_PID, "pid:[]", 6, &number), -EPROTO);
	assert_int_equal(wmk_kns_parse(WMK_KNS_PID, "pid:[1]x", 8, &number), -EPROTO);
	assert_true(wmk_kproc_fdinfo_flags("flags:\t02100002", 15, &number));
	assert_int_equal(number, 02100002);
	assert_false(wmk_kproc_fdinfo_flags("flags:\t", 7, &number));
	assert_false(wmk_kproc_fdinfo_flags("flags:\t777777777777", 19, &number));
	assert_false(wmk_kproc_fdinfo_flags("eventfd-flags:\t1", 16, &number));
	assert_true(wmk_kproc_id_inside("         0     100000      65536", 32, 100005, &number));
	assert_int_equal(number, 5);
	assert_false(wmk_kproc_id_inside("         0     100000      65536", 32, 165536, &number));
	assert_false(wmk_kproc_id_inside("         0     100000      65536", 32, 99999, &number));
	assert_false(wmk_kproc_id_inside("4294967295 0 4294967295", 23, 1, &number));
	assert_true(wmk_kproc_value("model name\t: AMD EPYC  ", 23, "model name", &value, &len));
	assert_int_equal(len, 8);
	assert_memory_equal(value, "AMD EPYC", 8);
	assert_false(wmk_kproc_value("model name\t: x", 14, "model", &value, &len));
	assert_int_equal(wmk_kproc_number("18446744073709551615", 20, 10, UINT64_MAX, &big), 20);
	assert_true(big == UINT64_MAX);
	assert_int_equal(wmk_kproc_number("18446744073709551616", 20, 10, UINT64_MAX, &big), 0);
	assert_int_equal(wmk_kproc_number("256", 3, 10, 255, &big), 0);
	assert_int_equal(wmk_kproc_number("255z", 4, 10, 255, &big), 3);
	assert_int_equal(wmk_kproc_number("9", 1, 10, 4, &big), 0);
}

/* A line of `n` bytes between two others: the end of the buffer falls on each of its bytes. */
static void lines_are_read_across_buffer_ends(void **state)
{
	static struct wmk_kproc_lines in;
	static char text[3 * WMK_KPROC_LINE];
	struct tree tree;
	const char *line;
	size_t len;
	int dir;

	(void)state;
	tree_make(&tree);
	dir = open(tree.dir, O_RDONLY | O_DIRECTORY);
	for (size_t n = WMK_KPROC_LINE - 700; n < WMK_KPROC_LINE + 700; n++) {
		size_t at = 0;

		at += (size_t)sprintf(text, "first\n");
		memset(text + at, 'x', n);
		at += n;
		at += (size_t)sprintf(text + at, "\nlast\n\nend");
		tree_put_bytes(&tree, "file", text, at);
		assert_int_equal(wmk_kproc_lines_open(&in, dir, "file"), 0);
		assert_int_equal(wmk_kproc_lines_next(&in, &line, &len), 1);
		assert_int_equal(len, 5);
		assert_int_equal(wmk_kproc_lines_next(&in, &line, &len), 1);
		assert_in_range(len, n < WMK_KPROC_LINE ? n : WMK_KPROC_LINE - 512, n);
		for (size_t i = 0; i < len; i++)
			assert_int_equal(line[i], 'x');
		assert_int_equal(wmk_kproc_lines_next(&in, &line, &len), 1);
		assert_int_equal(len, 4);
		assert_memory_equal(line, "last", 4);
		assert_int_equal(wmk_kproc_lines_next(&in, &line, &len), 1);
		assert_int_equal(len, 0);
		assert_int_equal(wmk_kproc_lines_next(&in, &line, &len), 1);
		assert_memory_equal(line, "end", 3);
		assert_int_equal(wmk_kproc_lines_next(&in, &line, &len), 0);
		assert_int_equal(wmk_kproc_lines_next(&in, &line, &len), 0);
		wmk_kproc_lines_close(&in);
	}
	close(dir);
	tree_remove(&tree);
}

/* A file without an end, and a FIFO without a writer. */
static void endless_files_and_fifos_do_not_block(void **state)
{
	static struct wmk_kproc_lines in;
	struct tree tree;
	char fifo[300], buf[16];
	const char *line;
	size_t len, n = 0;
	int dir;

	(void)state;
	tree_make(&tree);
	dir = open("/dev", O_RDONLY | O_DIRECTORY);
	assert_int_equal(wmk_kproc_lines_open(&in, dir, "zero"), 0);
	while (wmk_kproc_lines_next(&in, &line, &len) > 0)
		n++;
	assert_int_equal(n, 1);
	wmk_kproc_lines_close(&in);
	close(dir);
	dir = open(tree.dir, O_RDONLY | O_DIRECTORY);
	snprintf(fifo, sizeof(fifo), "%s/fifo", tree.dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(wmk_kproc_read(dir, "fifo", buf, sizeof(buf)), 0);
	assert_int_equal(wmk_kproc_read(dir, "none", buf, sizeof(buf)), -ENOENT);
	tree_link(&tree, "link", "fifo");
	assert_int_equal(wmk_kproc_read(dir, "link", buf, sizeof(buf)), -ELOOP);
	close(dir);
	tree_remove(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(process_names_with_parentheses_are_parsed_from_stat),
		cmocka_unit_test(work_names_are_removed_from_kworker_names),
		cmocka_unit_test(truncated_stat_is_refused),
		cmocka_unit_test(proc_status_lines_are_parsed_into_ids_of_each_namespace),
		cmocka_unit_test(invalid_lines_of_proc_maps_are_refused),
		cmocka_unit_test(malformed_proc_numbers_and_values_are_refused),
		cmocka_unit_test(lines_are_read_across_buffer_ends),
		cmocka_unit_test(endless_files_and_fifos_do_not_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
