/* SPDX-License-Identifier: MIT */
/*
 * child.h - find and start the program that is recorded, forward signals to it, and wait for it.
 *
 * Signals of the terminal (Ctrl-C) reach the program directly, because the program is in the process group of this
 * process. This process forwards a signal that another process sends only to this process. Signals from the program or
 * its descendants are not forwarded. A signal from the program to this process is either a mistake, or was sent to the
 * whole process group, which includes the program. This process waits until the program has ended, and returns the exit
 * status of the program.
 *
 * One thread. Call wmk_child_open() before any other thread starts, so that the signals are blocked in all threads.
 */
#ifndef WMK_CLI_CHILD_H
#define WMK_CLI_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct wmk_child {
	int signals;             /* a signalfd: poll it, then call wmk_child_handle_signals() */
	pid_t pid;               /* 0: not started yet */
	bool ended;
	int status;              /* of wait(2), once ended */
	int kept;                /* the signal that is counted instead of forwarded; 0: none */
	unsigned n_kept;         /* how often the counted signal has arrived */
	sigset_t old_mask;       /* the signal mask for the program, as it was before wmk_child_open() */
	struct sigaction old_chld, old_pipe, old_xfsz;
	struct rlimit old_files;
};

/*
 * Find the path of `name`: `name` itself if it contains a slash, or else the path found in PATH. 0, or -ENOENT,
 * -EACCES, ... with a cause chain.
 */
int wmk_child_find(const char *name, char *path, size_t size);
int wmk_child_open(struct wmk_child *child);
/*
 * Run the program, with WAYMARK_RUNDIR in its environment (NULL: unchanged). `before` is called when the new process
 * exists but has not yet called exec(). If `before` fails, the new process ends. Returns 0, or -errno with a cause
 * chain if the program could not be executed.
 */
int wmk_child_start(struct wmk_child *child, char *path, char **argv, const char *rundir,
		    int (*before)(void *data, pid_t pid), void *data);
/* Handle the pending signals: forward the signals, and reap child processes. */
void wmk_child_handle_signals(struct wmk_child *child);
/* Return the exit status for this process: that of the program, or 128 + n if signal n killed the program. */
int wmk_child_exit_status(const struct wmk_child *child);
void wmk_child_close(struct wmk_child *child);

#endif
