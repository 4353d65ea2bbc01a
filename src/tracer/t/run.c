/* SPDX-License-Identifier: MIT */
/* run.c - see run.h. */
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tracer/t/run.h"

static char dir[64];

const char *run_make_dir(void)
{
	strcpy(dir, "/tmp/waymark-test-XXXXXX");
	if (!mkdtemp(dir))
		abort();
	setenv("WAYMARK_RUNDIR", dir, 1);
	return dir;
}

void run_remove_dir(void)
{
	rmdir(dir);
	unsetenv("WAYMARK_RUNDIR");
}

pid_t run_start(const char *const *argv)
{
	char self[PATH_MAX], path[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		abort();
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	snprintf(path, sizeof(path), "%s/%s", self, argv[0]);
	pid_t pid = fork();

	if (pid == 0) {
		/* the program must not inherit the descriptors of the test */
		syscall(SYS_close_range, 3u, ~0u, 0);
		execv(path, (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	return pid;
}

pid_t run_start_with_input(const char *const *argv, int *end)
{
	int ends[2], saved = dup(0);

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		abort();
	dup2(ends[0], 0);
	pid_t pid = run_start(argv);

	dup2(saved, 0);
	close(saved);
	close(ends[0]);
	*end = ends[1];
	return pid;
}

void run_pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

int run_helper_of(pid_t pid)
{
	char path[64], text[256], state;
	struct dirent *entry;

	for (int i = 0; i < 10000; i++) {
		snprintf(path, sizeof(path), "/proc/%d/task", pid);
		DIR *tasks = opendir(path);
		int tid = 0;

		while (tasks && (entry = readdir(tasks)))
			if (atoi(entry->d_name) > 0 && atoi(entry->d_name) != pid)
				tid = atoi(entry->d_name);
		if (tasks)
			closedir(tasks);
		snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
		FILE *stat = tid ? fopen(path, "r") : NULL;
		size_t n = stat ? fread(text, 1, sizeof(text) - 1, stat) : 0;

		if (stat)
			fclose(stat);
		text[n] = '\0';
		if (n && sscanf(strrchr(text, ')'), ") %c", &state) == 1 && state == 'S')
			return tid;
		run_pause_ms(1);
	}
	return -1;
}

long run_switches(pid_t pid, int tid)
{
	char path[64], line[128];
	long n = -1;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	FILE *status = fopen(path, "r");

	while (status && fgets(line, sizeof(line), status))
		sscanf(line, "voluntary_ctxt_switches: %ld", &n);
	if (status)
		fclose(status);
	return n;
}

int run_wait(pid_t pid)
{
	for (int i = 0; i < 60000; i++) {
		int status;
		pid_t got = waitpid(pid, &status, WNOHANG);

		if (got == pid)
			return status;
		if (got < 0)
			return -1;
		run_pause_ms(1);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return -1;
}

int run_program(const char *name, const char *argument)
{
	return run_wait(run_start((const char *[]){ name, argument, NULL }));
}

void run_keep(void *data, uint32_t ring, uint64_t ts, const char *text)
{
	struct run_records *records = data;

	(void)ring;
	(void)ts;
	if (records->n == records->cap) {
		records->cap = records->cap ? records->cap * 2 : 64;
		records->text = realloc(records->text, records->cap * sizeof(*records->text));
	}
	records->text[records->n++] = strdup(text);
}

unsigned run_count(const struct run_records *records, const char *text)
{
	unsigned n = 0;

	for (unsigned i = 0; i < records->n; i++)
		n += !strcmp(records->text[i], text);
	return n;
}

unsigned run_count_prefix(const struct run_records *records, const char *prefix)
{
	unsigned n = 0;

	for (unsigned i = 0; i < records->n; i++)
		n += !strncmp(records->text[i], prefix, strlen(prefix));
	return n;
}

void run_forget(struct run_records *records)
{
	for (unsigned i = 0; i < records->n; i++)
		free(records->text[i]);
	free(records->text);
	memset(records, 0, sizeof(*records));
}
