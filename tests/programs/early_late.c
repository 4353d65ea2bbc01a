/* SPDX-License-Identifier: MIT */
/*
 * early_late.c - records in constructors, destructors, exit handlers and signal handlers.
 *
 *     early_late N USEC       N records of main, while a timer's handler records every USEC microseconds (0: no timer)
 *
 * Flag 0: how often the handler ran.
 */
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include "ledger.h"

static uint32_t ctor_writer, handler_writer, exit_writer;

__attribute__((constructor(150))) static void very_early(void)
{
	ledger_map();
	ctor_writer = writer_new();
	writer_emit(ctor_writer);
}

__attribute__((constructor)) static void early(void)
{
	writer_emit(ctor_writer);
}

__attribute__((destructor)) static void late(void)
{
	writer_emit(ctor_writer);
}

__attribute__((destructor(150))) static void very_late(void)
{
	writer_emit(ctor_writer);
}

static void at_exit(void)
{
	writer_emit(exit_writer);
}

static void on_timer(int sig)
{
	(void)sig;
	writer_emit(handler_writer);
	ledger->flag[0]++;
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	long us = argc > 2 ? atol(argv[2]) : 0;
	uint32_t w = writer_new();
	handler_writer = writer_new();
	exit_writer = writer_new();
	atexit(at_exit);
	struct sigaction action;
	memset(&action, 0, sizeof(action));
	action.sa_handler = on_timer;
	action.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &action, NULL);
	struct itimerval every = { { 0, us }, { 0, us } }, never = { { 0, 0 }, { 0, 0 } };
	setitimer(ITIMER_REAL, &every, NULL);
	for (uint64_t i = 0; i < n || (us && ledger->flag[0] < 20); i++)
		writer_emit(w);
	setitimer(ITIMER_REAL, &never, NULL);
	return 0;
}
