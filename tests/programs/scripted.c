/* SPDX-License-Identifier: MIT */
/*
 * scripted.c - executes the commands on its standard input, one line after the other. It responds to each with a line:
 * "ok", or "no" and the reason.
 *
 *     emit N          N records of test:seq
 *     text N          N records of test:text, strings of 10 bytes
 *     long N          the same with strings of 20000 bytes
 *     late N          N records of scripted:late, which are not in the ledger
 *     odd N           N records of scripted:odd: a number that begins at the second byte, and a sequence of the numbers
 *                     so far
 *     fork N          a child makes N records as a separate writer, and ends
 *     exec N          a child executes `procs leaf N`; its path is the program's first argument
 *     child 0         a child that waits; flag 1 of the ledger is its pid
 *     heir 0          that child forks another, which waits (flag 2 is its pid), and ends
 *     will N          that other child makes N records as a separate writer, and ends
 *     threads N       N more threads, which make a record every millisecond until the program ends
 *     rest N          sleep N ms without a record
 *     snapshot REASON request a snapshot; "no" without a flight recorder, or if an earlier request is not served
 *     handler REASON  the same in a signal handler
 *     dying REASON    request a snapshot, then abort() at once
 *     heir_dying REASON   the same in a child that was forked just before
 *
 * Prints "ready" first. Ends at the end of its input.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <waymark/runtime.h>
#include "ledger.h"

static char *leaf;

static int child_ended_well(pid_t pid)
{
	int status;

	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static int do_fork(uint64_t n)
{
	pid_t pid = fork();

	if (pid == 0) {
		uint32_t own = writer_new();

		for (uint64_t i = 0; i < n; i++)
			writer_emit(own);
		_exit(0);
	}
	return child_ended_well(pid);
}

static int heirs[2];                    /* a pipe: one byte for the child to proceed, then 8 for its child */
static pid_t waiting;

static int do_child(void)
{
	uint64_t n;
	char byte;

	if (pipe(heirs))
		return 0;
	waiting = fork();
	if (waiting)
		return waiting > 0;
	ledger->flag[1] = (uint64_t)getpid();
	if (read(heirs[0], &byte, 1) != 1 || fork())
		_exit(0);
	ledger->flag[2] = (uint64_t)getpid();
	if (read(heirs[0], &n, sizeof(n)) == sizeof(n)) {
		uint32_t own = writer_new();

		while (n--)
			writer_emit(own);
	}
	_exit(0);
}

static int do_exec(char *n)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl(leaf, leaf, "leaf", n, (char *)NULL);
		_exit(127);
	}
	return child_ended_well(pid);
}

static void *thread(void *arg)
{
	uint32_t own = writer_new();

	for (;;) {
		writer_emit(own);
		usleep(1000);
	}
	return arg;
}

static int do_threads(uint64_t n)
{
	pthread_t one;

	for (uint64_t i = 0; i < n; i++)
		if (pthread_create(&one, NULL, thread, NULL))
			return 0;
	return 1;
}

static void do_odd(uint64_t n)
{
	uint64_t so_far[8];

	for (uint64_t i = 0; i < n; i++) {
		so_far[i % 8] = i;
		waymark(scripted, odd, wm_named("byte", (uint8_t)i), wm_named("value", (uint32_t)i),
			wm_named("far", wm_seq(so_far, i % 8 + 1)));
	}
}

static const char *volatile reason;
static volatile int requested;

static void on_signal(int sig)
{
	(void)sig;
	requested = waymark_snapshot(reason);
}

static int do_handler(const char *why)
{
	reason = why;
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	return requested == 0;
}

static int do_dying(const char *why)
{
	waymark_snapshot(why);
	abort();
}

static int do_heir_dying(const char *why)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		do_dying(why);
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status);
}

static int scripted(uint32_t writer, const char *word, char *number)
{
	uint64_t n = strtoull(number, NULL, 10);
	static char longer[20001];
	char text[11];

	if (!strcmp(word, "emit"))
		for (uint64_t i = 0; i < n; i++)
			writer_emit(writer);
	else if (!strcmp(word, "text"))
		for (uint64_t i = 0; i < n; i++)
			writer_emit_text(writer, text, 10);
	else if (!strcmp(word, "long"))
		for (uint64_t i = 0; i < n; i++)
			writer_emit_text(writer, longer, sizeof(longer) - 1);
	else if (!strcmp(word, "late"))
		for (uint64_t i = 0; i < n; i++)
			waymark(scripted, late, i);
	else if (!strcmp(word, "odd"))
		do_odd(n);
	else if (!strcmp(word, "fork"))
		return do_fork(n);
	else if (!strcmp(word, "exec"))
		return do_exec(number);
	else if (!strcmp(word, "child"))
		return do_child();
	else if (!strcmp(word, "heir"))
		return write(heirs[1], "", 1) == 1 && child_ended_well(waiting);
	else if (!strcmp(word, "will"))
		return write(heirs[1], &n, sizeof(n)) == sizeof(n);
	else if (!strcmp(word, "threads"))
		return do_threads(n);
	else if (!strcmp(word, "snapshot"))
		return waymark_snapshot(number) == 0;
	else if (!strcmp(word, "handler"))
		return do_handler(number);
	else if (!strcmp(word, "dying"))
		return do_dying(number);
	else if (!strcmp(word, "heir_dying"))
		return do_heir_dying(number);
	else if (!strcmp(word, "rest"))
		usleep((useconds_t)(n * 1000));
	else
		return 0;
	return 1;
}

int main(int argc, char **argv)
{
	char line[128], word[32], number[32];

	leaf = argc > 1 ? argv[1] : NULL;
	ledger_map();
	uint32_t writer = writer_new();
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		int ok = sscanf(line, "%31s %31s", word, number) == 2 && scripted(writer, word, number);

		printf(ok ? "ok\n" : "no: %s", line);
		fflush(stdout);
	}
	return 0;
}
