/* SPDX-License-Identifier: MIT */
/*
 * workers.c - a program that forks: three worker processes do tasks. Their records and those of the parent are in one
 * trace.
 *
 *     waymark record -c vpid -- examples/workers
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <waymark/trace.h>

#define WORKERS 3
#define TASKS 4

/* A forked child records at once, under its own process id. */
static int work(int worker)
{
	for (int task = 0; task < TASKS; task++) {
		long sum = 0;

		for (int i = 0; i <= 1000 * task; i++)
			sum += i ^ worker;
		waymark(workers, task, worker, task, sum);
	}
	return worker;
}

int main(void)
{
	pid_t pids[WORKERS];

	for (int worker = 0; worker < WORKERS; worker++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("workers: fork");
			return 1;
		}
		if (pid == 0)
			_exit(work(worker));
		pids[worker] = pid;
		waymark(workers, started, worker, pid);
	}
	for (int worker = 0; worker < WORKERS; worker++) {
		int status = 0;

		waitpid(pids[worker], &status, 0);
		waymark(workers, ended, worker, status);
	}
	return 0;
}
