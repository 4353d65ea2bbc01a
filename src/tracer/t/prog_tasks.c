/* SPDX-License-Identifier: MIT */
/* prog_tasks.c - processes and tasks of every kind that record. test_tasks.c has the expected results. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <waymark/runtime.h>
#include <waymark/trace.h>

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
/* Its search for leaks needs this process in /proc, which another PID namespace lacks. */
const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
	!__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer) && !__has_feature(memory_sanitizer)
/* In a child that the C library did not prepare, the heap may be locked by a thread that does not exist there. */
static pid_t heap_owner;
void __libc_free(void *at);

void free(void *at)
{
	if (heap_owner && syscall(SYS_getpid) != heap_owner)
		_exit(55);
	__libc_free(at);
}
#else
static pid_t heap_owner;
#endif

static void mark(const char *where)
{
	waymark(t, mark, where, wm_named("pid", (int)syscall(SYS_getpid)));
}

static int wait_ok(pid_t pid)
{
	int status = -1;

	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static int do_fork(void)
{
	mark("before");
	pid_t pid = fork();

	if (pid == 0) {
		mark("child");
		pid = fork();
		if (pid == 0) {
			mark("grandchild");
			exit(0);
		}
		exit(wait_ok(pid));
	}
	int rc = wait_ok(pid);

	mark("after");
	return rc;
}

static int do_vfork(void)
{
	for (volatile int i = 0; i < 5; i++) {
		mark("before");
		pid_t pid = vfork();

		if (pid == 0) {
			mark("lost");
			mark("lost");
			if (i == 4)
				execl("/nonexistent", "x", (char *)NULL);
			_exit(7);
		}
		if (wait_ok(pid) != 7)
			return 1;
		mark("after");
	}
	return 0;
}

static int in_clone(void *arg)
{
	int *pipe_end = arg;
	char byte;

	mark("lost");
	/* lives until its parent has recorded meanwhile */
	return read(*pipe_end, &byte, 1) == 1 ? 5 : 6;
}

/* A copy of a task without restartable sequences has none either, whatever its storage contains. */
static int in_clone_that_forks(void *arg)
{
	(void)arg;
	pid_t pid = fork();

	if (pid == 0) {
		mark("lost");
		_exit(0);
	}
	return wait_ok(pid) == 0 ? 5 : 6;
}

static int do_clone_fork(void)
{
	static char stack[65536] __attribute__((aligned(16)));

	mark("before");
	pid_t pid = clone(in_clone_that_forks, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);

	if (wait_ok(pid) != 5)
		return 1;
	mark("after");
	return 0;
}

static int do_clone(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	int ends[2];

	if (pipe(ends) != 0)
		return 1;
	mark("before");
	pid_t pid = clone(in_clone, stack + sizeof(stack), CLONE_VM | SIGCHLD, &ends[0]);

	for (int i = 0; i < 100; i++)
		mark("beside");
	if (write(ends[1], "", 1) != 1 || wait_ok(pid) != 5)
		return 1;
	mark("after");
	return 0;
}

static int in_copy(void *arg)
{
	(void)arg;
	mark("copy");
	return 3;
}

static int in_other(void *pipe_end)
{
	char byte;

	return read(*(int *)pipe_end, &byte, 1) == 1 ? 3 : 4;
}

static int do_clone_copy(void)
{
	static char stack[65536] __attribute__((aligned(16)));

	mark("before");
	heap_owner = getpid();
	return wait_ok(clone(in_copy, stack + sizeof(stack), SIGCHLD, NULL)) == 3 ? 0 : 1;
}

/* The program sees only its own descriptors, and may close all of them. */
static int do_descriptors(void)
{
	mark("before");
	for (int fd = 3; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return 1;
	if (syscall(SYS_close_range, 3u, ~0u, 0) != 0)
		return 2;
	int fd = open("/dev/null", O_RDONLY);

	if (fd != 3)
		return 3;
	mark("after");
	return 0;
}

static int do_unshare(void)
{
	mark("before");
	if (unshare(CLONE_NEWUSER) != 0)
		return 77;
	mark("after");
	return 0;
}

static int do_setuid(void)
{
	mark("before");
	if (setresuid(12345, 12345, 12345) != 0)
		return 77;
	/* the process has another user: it has left the rings, and that user has no session daemon */
	mark("not recorded");
	return 0;
}

static int do_stop(void)
{
	mark("before");
	waymark_helper_stop();
	waymark_helper_stop();
	mark("not recorded");
	return wm_enabled(t, mark) ? 1 : 0;
}

static int do_exec(void)
{
	mark("before");
	execl("/proc/self/exe", "prog_tasks", "simple", (char *)NULL);
	return 1;
}

/* Sites are enabled, and no page is both writable and executable. */
static int do_text(void)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	mark("before");
	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, " rwx"))
			return 2;
	return maps && wm_enabled(t, mark) ? 0 : 1;
}

/* Return the thread that is not the main thread. */
static int helper_tid(void)
{
	struct dirent *entry;
	DIR *tasks = opendir("/proc/self/task");
	int tid = 0;

	while (tasks && (entry = readdir(tasks)))
		if (atoi(entry->d_name) > 0 && atoi(entry->d_name) != getpid())
			tid = atoi(entry->d_name);
	if (tasks)
		closedir(tasks);
	return tid;
}

/* Enter another PID namespace, in which no thread can be started: the helper thread must stay the same. */
static int do_setns(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	int ends[2], before = helper_tid(), rc = 0;
	char path[64];

	if (pipe(ends) != 0)
		return 1;
	mark("before");
	pid_t pid = clone(in_other, stack + sizeof(stack), CLONE_NEWPID | SIGCHLD, &ends[0]);

	if (pid < 0)
		return 77;
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (setns(fd, 0) != 0)
		rc = 77;
	else if (before == 0 || helper_tid() != before)
		rc = 2;
	mark("after");
	if (write(ends[1], "", 1) != 1 || wait_ok(pid) != 3)
		return 3;
	return rc;
}

static void *outlive(void *arg)
{
	char path[64], state = 0;

	(void)arg;
	/* until the main thread has ended */
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", getpid());
	for (int i = 0; i < 30000 && state != 'Z'; i++) {
		FILE *stat = fopen(path, "r");

		if (!stat || fscanf(stat, "%*d %*s %c", &state) != 1)
			exit(1);
		fclose(stat);
		usleep(1000);
	}
	mark("after");
	return NULL;
}

/* The main thread exits; the program ends with the other one. */
static int do_leave(void)
{
	pthread_t thread;

	mark("before");
	if (pthread_create(&thread, NULL, outlive, NULL) != 0)
		return 1;
	pthread_exit(NULL);
}

static int in_clone_that_changes(void *arg)
{
	(void)arg;
	return setresuid(12345, 12345, 12345) == 0 ? 5 : 77;
}

/* Another process that shares this memory changes its user: the helper thread of this process is not affected. */
static int do_clone_setuid(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	int helper = helper_tid();

	mark("before");
	int rc = wait_ok(clone(in_clone_that_changes, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL));

	if (rc != 5)
		return rc;
	/* a helper thread that was asked to end takes some time */
	for (int i = 0; i < 200 && helper_tid() == helper; i++)
		usleep(1000);
	mark("after");
	return helper && helper_tid() == helper ? 0 : 2;
}

static int do_simple(void)
{
	mark("simple");
	return wm_enabled(t, mark) ? 0 : 88;
}

int main(int argc, char **argv)
{
	static const struct { const char *name; int (*run)(void);
	} kinds[] = {
		{ "fork", do_fork },
		{ "vfork", do_vfork },
		{ "clone", do_clone },
		{ "clone_copy", do_clone_copy },
		{ "descriptors", do_descriptors },
		{ "unshare", do_unshare },
		{ "setuid", do_setuid },
		{ "stop", do_stop },
		{ "exec", do_exec },
		{ "text", do_text },
		{ "simple", do_simple },
		{ "setns", do_setns },
		{ "clone_fork", do_clone_fork },
		{ "leave", do_leave },
		{ "clone_setuid", do_clone_setuid },
	};

	for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[1], kinds[i].name))
			return kinds[i].run();
	return 90;
}
