/* SPDX-License-Identifier: MIT */
/*
 * init.c - process 1 of the small machine that qemu boots for the aarch64 tests.
 *
 * Runs every line of /tests as a command (words separated by blanks, no quoting), prints "RESULT <status> <line>" after
 * each, then powers off. tests/arm64/qemu.py builds the initramfs around it and reads those lines.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_WORDS 32

static void mount_all(void)
{
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/dev", 0755);
	mkdir("/tmp", 01777);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	mkdir("/dev/shm", 01777);
	mount("tmpfs", "/dev/shm", "tmpfs", 0, NULL);
	mount("tmpfs", "/tmp", "tmpfs", 0, NULL);
}

/* Exit status, or 128 + signal. */
static int run_line(char *line)
{
	char *words[MAX_WORDS + 1], *save = NULL;
	int n = 0, status = 0;

	/* Leading NAME=VALUE words go into the environment of the command. */
	for (char *w = strtok_r(line, " \n", &save); w && n < MAX_WORDS; w = strtok_r(NULL, " \n", &save))
		words[n++] = w;
	words[n] = NULL;
	pid_t pid = fork();
	if (pid == 0) {
		int first = 0;
		char *env[MAX_WORDS + 1];
		while (first < n && strchr(words[first], '=')) {
			env[first] = words[first];
			first++;
		}
		env[first] = NULL;
		if (first < n)
			execve(words[first], words + first, env);
		perror("execve");
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 255;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(void)
{
	char line[512], copy[512];

	mount_all();
	FILE *tests = fopen("/tests", "r");
	while (tests && fgets(line, sizeof(line), tests)) {
		line[strcspn(line, "\n")] = '\0';
		memcpy(copy, line, sizeof(copy));
		int status = run_line(line);
		printf("RESULT %d %s\n", status, copy);
		fflush(stdout);
	}
	printf("END OF TESTS\n");
	fflush(stdout);
	sync();
	reboot(RB_POWER_OFF);
	return 1;
}
