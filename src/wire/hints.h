/* SPDX-License-Identifier: MIT */
/*
 * hints.h - the file `hints` in the runtime directory, which applications read while they wait for the answer to their
 * registration. The daemon writes it.
 *
 * The file may be absent, outdated or partly changed. The file only affects how long a constructor waits, and whether
 * the helper thread prepares a state dump meanwhile.
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

/* Create the file in the directory `rundir_fd`, with mode 0644 for any umask. 0 or -errno with a cause chain. */
int wmk_hints_create(struct wmk_hints_file *file, int rundir_fd);
/* Set pid and start time of the daemon. Any thread. */
void wmk_hints_set_daemon(struct wmk_hints_file *file, pid_t pid, uint64_t start);
/*
 * Count one more session with state dumps. If `more` is false, count one session less. While the count is not 0,
 * applications prepare a dump early. Any thread.
 */
void wmk_hints_count_dumps(struct wmk_hints_file *file, bool more);
/* Remove the file. */
void wmk_hints_remove(struct wmk_hints_file *file, int rundir_fd);

/* ── an application's side ───────────────────────────────────────────────────────────────────────────── */

/*
 * Read the file in `rundir`. Returns false and zeros unless the file is a regular file of `owner` or root that no other
 * user can write.
 */
bool wmk_hints_read(const char *rundir, uid_t owner, struct wmk_hints *hints);

#endif
