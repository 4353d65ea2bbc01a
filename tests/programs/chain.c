/* SPDX-License-Identifier: MIT */
/*
 * chain.c - three processes: this one waits for another one, which waits for a third one, which sleeps for 200 ms.
 * Prints the numbers of the processes, this one first.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <waymark/trace.h>

static int pass(int from, int to)
{
	char byte = 'x';

	if (from >= 0 && read(from, &byte, 1) != 1)
		return 1;
	return to >= 0 && write(to, &byte, 1) != 1;
}

static int sleeps(int to)
{
	const struct timespec time = { .tv_nsec = 200000000 };

	nanosleep(&time, NULL);
	return pass(-1, to);
}

static int request(int from)
{
	waymark_span(chain, request);
	return pass(from, -1);
}

int main(void)
{
	int first[2], second[2];
	pid_t b, c;

	if (pipe(first) || pipe(second) || (b = fork()) < 0)
		return 1;
	if (!b)
		_exit(pass(second[0], first[1]));
	c = fork();
	if (!c)
		_exit(sleeps(second[1]));
	if (c < 0 || request(first[0]))
		return 1;
	printf("%d %d %d\n", (int)getpid(), (int)b, (int)c);
	while (wait(NULL) > 0)
		;
	return 0;
}
