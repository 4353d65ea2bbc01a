/* SPDX-License-Identifier: MIT */
/*
 * own.h - the tracer's own processes and threads: a tracer must not feed on what it does itself.
 *
 *     find() ──processes──► /proc/PID/task ──threads──► wmk_kown_has(own, tid)      records of tracefs, as they are converted (stream.c)
 *                  └──► wmk_kown_pids()                                             what the BPF program leaves alone (calls_reader.c)
 *
 * Looked at anew when a time has passed that is short against a thread's life: not by each record. One that has just begun may have a few records.
 * Records that are left out are neither lost nor recorded.
 *
 * One thread.
 */
#ifndef WMK_KERNEL_OWN_H
#define WMK_KERNEL_OWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define WMK_KOWN_PIDS 8u

/* Which processes those are now: how many. */
typedef unsigned wmk_kown_find(void *data, pid_t pids[WMK_KOWN_PIDS]);

#define WMK_KOWN_SLOTS 1024u           /* a power of two; half of them at most are taken */

struct wmk_kown {
	wmk_kown_find *find;           /* NULL: this process alone */
	void *data;
	uint64_t looked;               /* CLOCK_MONOTONIC; 0: never */
	pid_t pids[WMK_KOWN_PIDS];
	unsigned n_pids, n_tids;
	uint32_t version;              /* changes with the processes */
	int32_t tids[WMK_KOWN_SLOTS];  /* by hash; 0: free */
};

void wmk_kown_init(struct wmk_kown *own, wmk_kown_find *find, void *data);
/* Now, if the last time is long enough ago: nothing, mostly. */
void wmk_kown_look(struct wmk_kown *own);
bool wmk_kown_has(const struct wmk_kown *own, int32_t tid);

/* The process whose number stands at the begin of a file, as each consumer daemon's does, if a process of that name (comm) has it; else 0. */
pid_t wmk_kown_of_file(const char *path, const char *comm);

#endif
