/* SPDX-License-Identifier: MIT */
/*
 * resource_usage.c - run a command, and print its CPU time (seconds), peak memory (kB), exit status and wall-clock time
 * (seconds) as a line on standard error. A process inherits the peak memory of its parent, so this program is small.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	struct rusage usage;
	struct timespec begin, end;
	int status = 0;
	pid_t pid;

	if (argc < 2)
		return 2;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	pid = fork();
	if (pid == 0) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		return 2;
	clock_gettime(CLOCK_MONOTONIC, &end);
	fprintf(stderr, "%.6f %ld %d %.6f\n", seconds(&usage.ru_utime) + seconds(&usage.ru_stime), usage.ru_maxrss,
		WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
		(double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
	return 0;
}
