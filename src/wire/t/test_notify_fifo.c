/* SPDX-License-Identifier: MIT */
/*
 * test_notify_fifo.c - the notify FIFO reports each start of a daemon to all processes that have it open; other files
 * of that name are rejected.
 */
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
#include "wire/notify_fifo.h"
#include "rundir_rig.h"

#define LIMIT_MS 60000

static int make_dir(void **state)
{
	(void)state;
	return rig_make(WMK_NOTIFY_FIFO);
}

static int remove_dir(void **state)
{
	(void)state;
	return rig_remove();
}

static bool is_notified(int fifo, int ms)
{
	struct pollfd fd = { .fd = fifo };

	return poll(&fd, 1, ms) == 1 && (fd.revents & POLLHUP);
}

static void each_daemon_start_notifies_a_fifo_reader_once(void **state)
{
	(void)state;
	wmk_notify_send(dir_fd);                /* without a FIFO */
	assert_int_equal(wmk_notify_open(dir, geteuid()), -ENOENT);
	assert_int_equal(wmk_notify_create(dir_fd), 0);
	wmk_notify_send(dir_fd);                /* without a reader */
	int first = wmk_notify_open(dir, geteuid()), second = wmk_notify_open(dir, geteuid());

	assert_true(first >= 0 && second >= 0);
	assert_false(is_notified(first, 0));
	wmk_notify_send(dir_fd);
	int late = wmk_notify_open(dir, geteuid());

	assert_true(is_notified(first, LIMIT_MS) && is_notified(second, LIMIT_MS));
	assert_false(is_notified(late, 0));
	assert_int_equal(wmk_notify_create(dir_fd), 0);         /* the next daemon keeps it */
	wmk_notify_send(dir_fd);
	assert_true(is_notified(late, LIMIT_MS));
	close(first);
	close(second);
	close(late);
}

/* A process that sleeps in poll() is woken. */
static void process_in_poll_is_woken_by_the_notify_fifo(void **state)
{
	int ready[2], status;
	char byte;

	(void)state;
	assert_int_equal(wmk_notify_create(dir_fd), 0);
	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();

	if (pid == 0) {
		int fifo = wmk_notify_open(dir, geteuid());

		if (fifo < 0 || write(ready[1], "", 1) != 1)
			_exit(1);
		_exit(is_notified(fifo, LIMIT_MS) ? 0 : 2);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	wmk_notify_send(dir_fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(ready[0]);
	close(ready[1]);
}

static void mode_of_the_notify_fifo_does_not_depend_on_umask(void **state)
{
	struct stat st;
	const mode_t before = umask(077);

	(void)state;
	assert_int_equal(wmk_notify_create(dir_fd), 0);
	umask(before);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFIFO | 0644);
}

static void opens_as(int err)
{
	assert_int_equal(wmk_notify_open(dir, geteuid()), err);
}

/* An untrusted file is not opened by an application. The daemon replaces it, unless it is a directory. */
static void untrusted_notify_fifo_is_refused_and_replaced(void **state)
{
	(void)state;
	assert_int_equal(wmk_notify_create(dir_fd), 0);
	assert_int_equal(chmod(path, 0622), 0);
	opens_as(-EPERM);
	assert_int_equal(wmk_notify_create(dir_fd), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 12345, 12345), 0);
		opens_as(-EPERM);
		assert_int_equal(wmk_notify_create(dir_fd), 0);
	}
	remove(path);
	assert_int_equal(symlink("/dev/zero", path), 0);
	opens_as(-ELOOP);
	assert_int_equal(wmk_notify_create(dir_fd), 0);
	remove(path);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
	opens_as(-EPERM);
	assert_int_equal(wmk_notify_create(dir_fd), 0);
	close(wmk_notify_open(dir, geteuid()));
	remove(path);
	assert_int_equal(mkdir(path, 0755), 0);
	opens_as(-EPERM);
	assert_true(wmk_notify_create(dir_fd) < 0);
	wmk_error_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_daemon_start_notifies_a_fifo_reader_once, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(process_in_poll_is_woken_by_the_notify_fifo, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(mode_of_the_notify_fifo_does_not_depend_on_umask, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(untrusted_notify_fifo_is_refused_and_replaced, make_dir, remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
