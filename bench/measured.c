/* SPDX-License-Identifier: MIT */
/*
 * measured.c - run a command; what it took of the CPU, and the most memory that it had, as a line on standard error: seconds, kB, exit status. (Who is
 * started by a large process inherits its peak; this one is small.)
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	struct rusage usage;
	int status = 0;
	pid_t pid;

	if (argc < 2)
		return 2;
	pid = fork();
	if (pid == 0) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		return 2;
	fprintf(stderr, "%.6f %ld %d\n", seconds(&usage.ru_utime) + seconds(&usage.ru_stime), usage.ru_maxrss,
		WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	return 0;
}
