/* SPDX-License-Identifier: MIT */
/*
 * calls.c - makes an exact number of calls of a rare system call (sched_getscheduler), for traces of the kernel.
 *
 *     calls N [CPU]        on that CPU, if it exists. Prints the process id, makes the calls, then prints "made".
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
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
	for (unsigned long made = 0; made < n; made++)
		syscall(SYS_sched_getscheduler, 0);
	puts("made");
	return 0;
}
