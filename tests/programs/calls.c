/* SPDX-License-Identifier: MIT */
/*
 * calls.c - a system call that hardly anybody makes (sched_getscheduler), so many times and no more: for traces of the kernel.
 *
 *     calls N [CPU]        on that CPU, as long as it is there. Prints the number of the process, then makes the calls, then prints "made".
 *     calls 0              until it is told to end by a line (or the end) of its input: prints then how many it made
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void call(void)
{
	syscall(SYS_sched_getscheduler, 0);
}

static int is_told(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };

	return poll(&in, 1, 0) != 0;
}

int main(int argc, char **argv)
{
	const unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	unsigned long made = 0;
	cpu_set_t cpus;

	if (argc > 2) {
		CPU_ZERO(&cpus);
		CPU_SET((size_t)strtoul(argv[2], NULL, 10), &cpus);
		if (sched_setaffinity(0, sizeof(cpus), &cpus) != 0) {
			perror("sched_setaffinity");
			return 1;
		}
	}
	printf("%d\n", (int)getpid());
	fflush(stdout);
	if (n) {
		for (; made < n; made++)
			call();
		puts("made");
		return 0;
	}
	while (!is_told()) {
		for (int i = 0; i < 100; i++, made++)
			call();
	}
	printf("%lu\n", made);
	return 0;
}
