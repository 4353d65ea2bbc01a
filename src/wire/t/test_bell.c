/* SPDX-License-Identifier: MIT */
/* test_bell.c - a bell is heard by whoever has it open, whenever it was rung since; and what is none is not opened. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/error.h"
#include "wire/bell.h"

static char dir[64];

static int make_dir(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/wmk-bell-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

static int open_bells(void)
{
	int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), bells = wmk_bells_open(at);

	close(at);
	return bells;
}

/* Within `ms`. */
static bool has_rung(int bell, int ms)
{
	struct pollfd fd = { .fd = bell };

	return poll(&fd, 1, ms) == 1 && (fd.revents & POLLHUP);
}

static void rings(void **state)
{
	int bells = open_bells();

	(void)state;
	assert_true(bells >= 0);
	wmk_bell_ring(dir, geteuid());          /* there is none */
	assert_int_equal(wmk_bell_open(dir, geteuid()), -ENOENT);
	assert_int_equal(wmk_bell_make(bells, geteuid()), 1);
	assert_int_equal(wmk_bell_make(bells, geteuid()), 0);
	wmk_bell_ring(dir, geteuid());          /* nobody hears it */
	int first = wmk_bell_open(dir, geteuid()), second = wmk_bell_open(dir, geteuid());

	assert_true(first >= 0 && second >= 0);
	assert_false(has_rung(first, 50));
	wmk_bell_ring(dir, geteuid());
	int late = wmk_bell_open(dir, geteuid());

	/* who opened it before has heard it, and hears it once more whenever he asks; who comes later has not */
	assert_true(has_rung(first, 0) && has_rung(second, 0) && has_rung(first, 0));
	assert_false(has_rung(late, 50));
	wmk_bell_ring(dir, geteuid());
	assert_true(has_rung(late, 0));
	close(first);
	close(second);
	close(late);
	close(bells);
}

/* Somebody sleeps when it rings. */
static void wakes(void **state)
{
	int bells = open_bells(), go[2];
	char byte;

	(void)state;
	assert_int_equal(wmk_bell_make(bells, geteuid()), 1);
	assert_int_equal(pipe(go), 0);
	pid_t pid = fork();

	if (pid == 0) {
		int bell = wmk_bell_open(dir, geteuid());

		if (write(go[1], "", 1) != 1)
			_exit(2);
		_exit(bell >= 0 && has_rung(bell, 30000) ? 0 : 1);
	}
	assert_int_equal(read(go[0], &byte, 1), 1);
	wmk_bell_ring(dir, geteuid());
	int status = -1;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(go[0]);
	close(go[1]);
	close(bells);
}

/* Of another kind, or another's; and a directory that others can write to. */
static void no_bell(void **state)
{
	int bells = open_bells();
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/" WMK_BELLS_DIR "/%u", dir, (unsigned)geteuid());
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_int_equal(wmk_bell_open(dir, geteuid()), -EPERM);
	unlink(path);
	assert_int_equal(symlink("/dev/zero", path), 0);
	assert_int_equal(wmk_bell_open(dir, geteuid()), -ELOOP);
	unlink(path);
	snprintf(path, sizeof(path), "%s/" WMK_BELLS_DIR "/%u", dir, (unsigned)geteuid() + 1);
	assert_int_equal(mkfifo(path, 0666), 0);
	assert_int_equal(wmk_bell_open(dir, geteuid() + 1), -EPERM);
	assert_int_equal(fchmod(bells, 0777), 0);
	assert_int_equal(open_bells(), -EACCES);
	wmk_error_clear();
	close(bells);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rings, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(wakes, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(no_bell, make_dir, remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
