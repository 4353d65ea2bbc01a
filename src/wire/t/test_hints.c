/* SPDX-License-Identifier: MIT */
/* test_hints.c - the hints of a daemon are read unchanged; other files of that name are rejected. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "wire/hints.h"
#include "rundir_rig.h"

static int make_dir(void **state)
{
	(void)state;
	return rig_make(WMK_HINTS_FILE);
}

static int remove_dir(void **state)
{
	(void)state;
	return rig_remove();
}

static void hints_are_read_as_written(void **state)
{
	const mode_t before = umask(077);
	struct wmk_hints_file file = { .fd = -1 };
	struct wmk_hints is;
	struct stat st;

	(void)state;
	assert_false(wmk_hints_read(dir, geteuid(), &is));
	assert_int_equal(wmk_hints_create(&file, dir_fd), 0);
	umask(before);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0644);
	assert_true(wmk_hints_read(dir, geteuid(), &is));
	assert_true(is.pid == 0 && is.start == 0 && is.dumps == 0);
	wmk_hints_set_daemon(&file, 77, 12345);
	wmk_hints_count_dumps(&file, true);
	wmk_hints_count_dumps(&file, true);
	wmk_hints_count_dumps(&file, false);
	assert_true(wmk_hints_read(dir, geteuid(), &is));
	assert_true(is.pid == 77 && is.start == 12345 && is.dumps == 1);
	wmk_hints_remove(&file, dir_fd);
	assert_false(wmk_hints_read(dir, geteuid(), &is));
	assert_true(is.pid == 0 && is.dumps == 0);
}

static void untrusted_hints_file_is_refused(void **state)
{
	struct wmk_hints_file file = { .fd = -1 };
	struct wmk_hints is;

	(void)state;
	assert_int_equal(symlink("/dev/zero", path), 0);
	assert_false(wmk_hints_read(dir, geteuid(), &is));
	remove(path);
	assert_int_equal(mkfifo(path, 0644), 0);
	assert_false(wmk_hints_read(dir, geteuid(), &is));
	assert_int_equal(wmk_hints_create(&file, dir_fd), 0);
	assert_true(wmk_hints_read(dir, geteuid(), &is));
	assert_int_equal(chmod(path, 0666), 0);
	assert_false(wmk_hints_read(dir, geteuid(), &is));
	assert_int_equal(chmod(path, 0644), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 12345, 12345), 0);
		assert_false(wmk_hints_read(dir, 0, &is));
		assert_int_equal(chown(path, 0, 0), 0);
	}
	assert_int_equal(truncate(path, sizeof(is) - 1), 0);
	assert_false(wmk_hints_read(dir, geteuid(), &is));
	assert_int_equal(truncate(path, 0) | truncate(path, sizeof(is)), 0);
	assert_false(wmk_hints_read(dir, geteuid(), &is));
	wmk_hints_remove(&file, dir_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(hints_are_read_as_written, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(untrusted_hints_file_is_refused, make_dir, remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
