/* SPDX-License-Identifier: MIT */
/*
 * hints.h - the file `hints` in the runtime directory, which applications read while they wait for the answer to their
 * registration. The daemon writes it.
 *
 * The hints file may be missing, out of date, or only partly updated. The hints file affects only two things: how long
 * a constructor waits, and whether the helper thread prepares a state dump in the meantime.
 */
#ifndef WMK_WIRE_HINTS_H
#define WMK_WIRE_HINTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define WMK_HINTS_FILE "hints"
#define WMK_HINTS_MAGIC 0x31746e6968796177u      /* "wayhint1" */

struct wmk_hints {                       /* the file's content */
	uint64_t magic;
	/* start time of the daemon, clock ticks since boot (/proc/PID/stat, field 22) */
	uint64_t start;
	uint32_t pid;                    /* pid of the daemon, in the first pid namespace; 0: unknown */
	uint32_t dumps;                  /* number of active sessions with state dumps */
};

/* ── the daemon's side ───────────────────────────────────────────────────────────────────────────────── */

struct wmk_hints_file {
	int fd;                          /* -1: not open */
	pthread_mutex_t lock;            /* protects `is` */
	struct wmk_hints is;
};

/*
 * Create the hints file in the directory `rundir_fd`, with mode 0644 regardless of the umask. 0 or -errno with a cause
 * chain.
 */
int wmk_hints_create(struct wmk_hints_file *file, int rundir_fd);
/* Store the pid and the start time of the daemon in the hints file. Any thread. */
void wmk_hints_set_daemon(struct wmk_hints_file *file, pid_t pid, uint64_t start);
/*
 * Increase the number of sessions with state dumps by one. If `more` is false, decrease the number of sessions with
 * state dumps by one. While the number of sessions with state dumps is not 0, applications prepare a state dump early.
 * Any thread.
 */
void wmk_hints_count_dumps(struct wmk_hints_file *file, bool more);
/* Remove the file. */
void wmk_hints_remove(struct wmk_hints_file *file, int rundir_fd);

/* ── an application's side ───────────────────────────────────────────────────────────────────────────── */

/*
 * Read the file in `rundir`. Returns false and sets *hints to zeros, unless the file is a regular file that belongs to
 * `owner` or root and that no other user can write.
 */
bool wmk_hints_read(const char *rundir, uid_t owner, struct wmk_hints *hints);

#endif
