/* SPDX-License-Identifier: MIT */
/* prog_host.c - programs with ways of their own, which the library must not get into. What comes out is in test_host.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <waymark/runtime.h>
#include <waymark/trace.h>

#define DEADLOCK_S 40    /* nothing here takes longer than that, but what never ends */

static int in_main;

static void mark(const char *where)
{
	waymark(t, mark, where, wm_named("pid", (int)syscall(SYS_getpid)));
}

static int wait_ok(pid_t pid)
{
	int status = -1;

	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

/*
 * Stands before the C library's, for libwaymark too. From main() on the environment is the program's, which may change it at any moment, and
 * before that its first thread's.
 */
char *secure_getenv(const char *name)
{
	size_t len = strlen(name);

	if (!strncmp(name, "WAYMARK_", 8) && (in_main || syscall(SYS_gettid) != getpid()))
		_exit(66);
	for (char **at = environ; at && *at; at++)
		if (!strncmp(*at, name, len) && (*at)[len] == '=')
			return *at + len + 1;
	return NULL;
}

/* A child finds its controller by what the environment was at the start. (With rings of its own it records nothing before.) */
static int do_environment(void)
{
	mark("before");
	setenv("WAYMARK_RUNDIR", "/nowhere", 1);
	setenv("WAYMARK_REGISTER_TIMEOUT", "0", 1);
	pid_t pid = fork();

	if (pid == 0) {
		mark("child");
		exit(0);
	}
	int rc = wait_ok(pid);

	mark("after");
	return rc;
}

int main(int argc, char **argv)
{
	static const struct { const char *name; int (*run)(void); } kinds[] = {
		{ "environment", do_environment },
	};

	in_main = 1;
	alarm(DEADLOCK_S);
	for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[1], kinds[i].name))
			return kinds[i].run();
	return 90;
}
