/* SPDX-License-Identifier: MIT */
/*
 * pager.c - send standard output through a pager (see pager.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/pager.h"

/* The usual options of less: exit if the text fits on the screen, keep colours, do not clear the screen. */
#define LESS_OPTIONS "FRX"

static const char *wanted(void)
{
	const char *ours = getenv("WAYMARK_PAGER"), *any = getenv("PAGER");

	return ours ? ours : any ? any : "less";
}

/*
 * The pager must not inherit the write end of its own input pipe. If the pager inherited the write end, the pager would
 * never read an end of file.
 */
static pid_t start(const char *command, int in, int out)
{
	char *argv[] = { (char *)(uintptr_t)"sh", (char *)(uintptr_t)"-c", (char *)(uintptr_t)command, NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid = 0;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return 0;
	if (posix_spawn_file_actions_adddup2(&actions, in, 0) != 0 ||
	    posix_spawn_file_actions_addclose(&actions, in) != 0 ||
	    posix_spawn_file_actions_addclose(&actions, out) != 0 ||
	    posix_spawn(&pid, "/bin/sh", &actions, NULL, argv, environ) != 0)
		pid = 0;
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

void wmk_pager_begin(struct wmk_pager *pager)
{
	const char *command = wanted();
	int ends[2];

	pager->pid = 0;
	pager->error = -1;
	if (!isatty(1) || !*command || strcmp(command, "cat") == 0 || pipe(ends) != 0)
		return;
	setenv("LESS", LESS_OPTIONS, 0);
	pager->pid = start(command, ends[0], ends[1]);
	if (pager->pid && dup2(ends[1], 1) < 0)
		pager->pid = 0;
	if (pager->pid && isatty(2) && (pager->error = fcntl(2, F_DUPFD_CLOEXEC, 3)) >= 0)
		dup2(ends[1], 2);
	close(ends[0]);
	close(ends[1]);
	/* If the user quits the pager early, the write must fail with an error instead of killing the command. */
	if (pager->pid)
		signal(SIGPIPE, SIG_IGN);
}

void wmk_pager_end(struct wmk_pager *pager)
{
	int status;

	if (!pager->pid)
		return;
	if (pager->error >= 0) {
		dup2(pager->error, 2);
		close(pager->error);
	}
	/* Close the pager's input. Ignore a write error, because the user may have quit the pager. */
	if (!freopen("/dev/null", "we", stdout))
		close(1);
	while (waitpid(pager->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	pager->pid = 0;
}
