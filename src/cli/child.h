/* SPDX-License-Identifier: MIT */
/*
 * child.h - the program that is recorded: found, started, sent the signals that were meant for it, waited for.
 *
 * Signals. Those of the terminal (Ctrl-C) reach the program from the terminal itself, since it stays in our process
 * group; those that somebody sends to us alone are passed on. What the program or one of its descendants sends comes to
 * us because we are in their group, or by mistake: it is not passed on, or the program would get it twice. We live
 * until the program has ended, and its status becomes ours.
 *
 * One thread; wmk_child_open() comes before any other thread starts, so that all of them have the signals blocked.
 */
#ifndef WMK_CLI_CHILD_H
#define WMK_CLI_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct wmk_child {
	int signals;             /* a signalfd: poll it, then wmk_child_look() */
	pid_t pid;               /* 0: not started yet */
	bool ended;
	int status;              /* as wait(2) tells it, once ended */
	sigset_t old_mask;       /* the program starts with what we started with */
	struct sigaction old_chld, old_pipe, old_xfsz;
	struct rlimit old_files;
};

/* Where `name` is: as given if it holds a slash, else by PATH. 0, or -ENOENT, -EACCES, ... with a cause chain. */
int wmk_child_find(const char *name, char *path, size_t size);
int wmk_child_open(struct wmk_child *child);
/*
 * Run it, with WAYMARK_RUNDIR in its environment (NULL: as it is). `before` is called when the process is there and
 * waits to become the program; when it fails, the process ends. 0, or -errno with a cause chain when it could not be
 * executed.
 */
int wmk_child_start(struct wmk_child *child, char *path, char **argv, const char *rundir,
		    int (*before)(void *data, pid_t pid), void *data);
/* Deal with the signals that came: pass on, reap. */
void wmk_child_look(struct wmk_child *child);
/* What we exit with: the program's status, 128 + n when signal n killed it. */
int wmk_child_exit_status(const struct wmk_child *child);
void wmk_child_close(struct wmk_child *child);

#endif
