/* SPDX-License-Identifier: MIT */
/*
 * uprobe.c - counts how often a program passes an instruction, by a uprobe of the kernel.
 *
 *     uprobe FILE OFFSET -- PROGRAM ARGS...     prints `hits N`; status 77 if uprobes are not available to this user or
 *                                               kernel
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct perf_event_attr attr;
	unsigned type = 0;
	int ready[2], status;
	uint64_t hits = 0;
	if (argc < 5 || strcmp(argv[3], "--"))
		return 2;
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	if (!f || fscanf(f, "%u", &type) != 1 || pipe(ready))
		return 77;
	fclose(f);
	pid_t pid = fork();
	if (!pid) {
		char c;
		if (read(ready[0], &c, 1) != 1)
			_exit(126);
		execv(argv[4], argv + 4);
		_exit(127);
	}
	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = type;
	attr.config1 = (uint64_t)(uintptr_t)argv[1];
	attr.config2 = strtoull(argv[2], NULL, 0);
	attr.inherit = 1;
	int fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, 0);
	if (fd < 0) {
		perror("uprobe: perf_event_open");
		close(ready[0]);
		close(ready[1]);
		waitpid(pid, &status, 0);
		return 77;
	}
	if (write(ready[1], "", 1) != 1 || waitpid(pid, &status, 0) != pid || read(fd, &hits,
		sizeof(hits)) != sizeof(hits))
		return 3;
	printf("hits %llu\n", (unsigned long long)hits);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
