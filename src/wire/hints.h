/* SPDX-License-Identifier: MIT */
/*
 * hints.h - the file `hints` in the runtime directory, which applications read while they wait for the answer to their
 * registration. The daemon writes it.
 *
 * A reader may see it absent, stale or half changed: it decides how long a constructor waits, and what the helper
 * thread prepares meanwhile, nothing else.
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
	uint64_t start;                  /* of the daemon, clock ticks since boot (/proc/PID/stat, field 22) */
	uint32_t pid;                    /* of the daemon, as it sees itself; 0: unknown */
	uint32_t dumps;                  /* sessions that record and want state dumps */
};

/* ── the daemon's side ───────────────────────────────────────────────────────────────────────────────── */

struct wmk_hints_file {
	int fd;                          /* -1: not open */
	pthread_mutex_t lock;            /* of `is` */
	struct wmk_hints is;
};

/* Make the file anew in the directory `rundir_fd`: 0644, whatever the umask is. 0 or -errno with a cause chain. */
int wmk_hints_create(struct wmk_hints_file *file, int rundir_fd);
/* Any thread. */
void wmk_hints_set_daemon(struct wmk_hints_file *file, pid_t pid, uint64_t start);
/* One session more, or less, wants state dumps: applications prepare them while they wait. Any thread. */
void wmk_hints_count_dumps(struct wmk_hints_file *file, bool more);
/* The file goes. */
void wmk_hints_remove(struct wmk_hints_file *file, int rundir_fd);

/* ── an application's side ───────────────────────────────────────────────────────────────────────────── */

/* Read the file of `rundir`: a plain file of `owner` or root, which no other user can write. Else false, and zeros. */
bool wmk_hints_read(const char *rundir, uid_t owner, struct wmk_hints *hints);

#endif
