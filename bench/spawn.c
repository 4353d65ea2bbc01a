/* SPDX-License-Identifier: MIT */
/*
 * spawn.c - measure the time of programs from exec to exit: start the given programs in turn, N times each.
 *
 *     spawn CPU N PROGRAM...
 *
 * Prints a line for each program: its median time in microseconds, then the median of its differences to the first
 * program in the same turn. The order within a turn alternates.
 */
#include <sched.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double start_one(char *program)
{
	char *argv[] = { program, NULL };
	struct timespec a, b;
	int status;
	pid_t pid;
	clock_gettime(CLOCK_MONOTONIC, &a);
	if (posix_spawn(&pid, program, NULL, NULL, argv, environ) || waitpid(pid, &status, 0) != pid || status) {
		fprintf(stderr, "spawn: %s cannot be run\n", program);
		exit(1);
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	return (double)(b.tv_sec - a.tv_sec) * 1e6 + (double)(b.tv_nsec - a.tv_nsec) / 1e3;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	int n = argc > 3 ? atoi(argv[2]) : 0, programs = argc - 3;
	cpu_set_t set;
	if (n < 1 || n > 100000) {
		fprintf(stderr, "usage: %s CPU N PROGRAM...\n", argv[0]);
		return 2;
	}
	CPU_ZERO(&set);
	CPU_SET(atoi(argv[1]), &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("spawn: sched_setaffinity");
		return 1;
	}
	double *us = calloc((size_t)n * (size_t)programs, sizeof(*us)), *sorted = calloc((size_t)n, sizeof(*sorted));
	if (!us || !sorted)
		return 1;
	for (int r = -3; r < n; r++)
		for (int p = 0; p < programs; p++) {
			int which = r & 1 ? programs - 1 - p : p;
			double t = start_one(argv[3 + which]);
			if (r >= 0)
				us[which * n + r] = t;
		}
	for (int p = 0; p < programs; p++) {
		for (int r = 0; r < n; r++)
			sorted[r] = us[p * n + r];
		qsort(sorted, (size_t)n, sizeof(*sorted), by_value);
		double own = sorted[n / 2];
		for (int r = 0; r < n; r++)
			sorted[r] = us[p * n + r] - us[r];
		qsort(sorted, (size_t)n, sizeof(*sorted), by_value);
		printf("%.2f %.2f\n", own, sorted[n / 2]);
	}
	free(us);
	free(sorted);
	return 0;
}
