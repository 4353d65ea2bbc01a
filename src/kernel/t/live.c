/* SPDX-License-Identifier: MIT */
/*
 * live.c - see live.h.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "kernel/t/live.h"

struct wmk_syscalls *live_open(const struct wmk_syscalls_options *options)
{
	struct wmk_syscalls *calls = NULL;
	char words[512];
	const int err = wmk_syscalls_open(options, &calls);

	if (err < 0) {
		print_message("%s\n", wmk_error_text(words, sizeof(words)));
		/* Only missing features of the machine; any other error is a failure. */
		assert_true(err == -EPERM || err == -ENOTSUP);
		skip();
	}
	return calls;
}

void live_want(struct wmk_syscalls *calls, enum wmk_kabi abi, const char *name)
{
	const int number = wmk_syscall_find(abi, name);

	assert_true(number >= 0);
	wmk_syscalls_want(calls, abi, (unsigned)number, true);
}

pid_t live_fork(int (*work)(void *data), void *data, int *go)
{
	int pipes[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(pipes[1]);
		/* At the end of file, the test has died. */
		_exit(read(pipes[0], &byte, 1) == 1 ? work(data) : 99);
	}
	close(pipes[0]);
	*go = pipes[1];
	return pid;
}

void live_go(int go)
{
	assert_int_equal(write(go, "", 1), 1);
	close(go);
}

static uint64_t drain(struct wmk_syscalls *calls, live_one *one, void *data)
{
	uint64_t n = 0;

	for (uint32_t ring = 0; ring < wmk_syscalls_rings(calls); ring++) {
		struct wmk_syscalls_batch batch;
		struct wmk_syscalls_record record;
		int got;

		if (wmk_syscalls_next(calls, ring, &batch) == 0)
			continue;
		while ((got = wmk_syscalls_take(&batch, &record)) > 0) {
			one(data, &record);
			n++;
		}
		assert_int_equal(got, 0);
		wmk_syscalls_release(&batch);
	}
	return n;
}

uint64_t live_read(struct wmk_syscalls *calls, pid_t pid, live_one *one, void *data)
{
	uint64_t n = 0, now;
	int status = 0;
	pid_t ended;

	do {
		ended = waitpid(pid, &status, WNOHANG);
		assert_true(ended >= 0);
		n += drain(calls, one, data);
	} while (ended == 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	while ((now = drain(calls, one, data)) != 0)
		n += now;
	return n;
}

struct wmk_syscalls_stats live_run(struct wmk_syscalls *calls, int (*work)(void *data), void *work_data, live_one *one,
				   void *data)
{
	struct wmk_syscalls_stats before, stats;
	uint64_t read;
	int go;
	const pid_t pid = live_fork(work, work_data, &go);

	assert_int_equal(wmk_syscalls_stats(calls, WMK_SYSCALLS_ALL_RINGS, &before), 0);
	assert_int_equal(wmk_syscalls_follow(calls, pid, true), 0);
	assert_int_equal(wmk_syscalls_start(calls), 0);
	live_go(go);
	read = live_read(calls, pid, one, data);
	wmk_syscalls_stop(calls);
	assert_int_equal(wmk_syscalls_stats(calls, WMK_SYSCALLS_ALL_RINGS, &stats), 0);
	assert_int_equal(stats.recorded - before.recorded, read);
	assert_int_equal(stats.missed, 0);
	return stats;
}

const struct wmk_syscalls_piece *live_piece(const struct wmk_syscalls_record *record, unsigned arg)
{
	for (unsigned i = 0; i < record->n_parts; i++)
		if (record->parts[i].arg == arg)
			return &record->parts[i];
	fail_msg("call %u has no part for argument %u", record->number, arg);
	return NULL;
}
