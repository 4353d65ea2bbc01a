/* SPDX-License-Identifier: MIT */
/*
 * test_spaces.c - offsets of time namespaces. Whole commands in namespaces: tests/cases/t_kernel_spaces.py.
 */
#include "kernel/spaces.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void offsets_are_read_as_the_kernel_writes_them(void **state)
{
	static const struct {
		const char *text;
		int64_t monotonic, boot;
	} rows[] = {
		{ "monotonic           5         0\nboottime            7         0\n", 5000000000, 7000000000 },
		{ "monotonic          -3 250000000\nboottime           -1         5\n", -2750000000, -999999995 },
		{ "boottime            7         0\nmonotonic           5         1\n", 5000000001, 7000000000 },
		{ "monotonic           0         0\nboottime            0         0\n", 0, 0 },
		{ "monotonic           5\nboottime            7         x\n", 0, 0 },
		{ "monotonic 99999999999999999 0\nboottime 1 1000000000\n", 0, 0 },
		{ "", 0, 0 }, { "monotonic", 0, 0 }, { "\n\n\n", 0, 0 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(wmk_kspaces_offset_parse(rows[i].text, "monotonic"), rows[i].monotonic);
		assert_int_equal(wmk_kspaces_offset_parse(rows[i].text, "boottime"), rows[i].boot);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_are_read_as_the_kernel_writes_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
