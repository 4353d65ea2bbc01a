/* SPDX-License-Identifier: MIT */
/*
 * own_pids.h - the tracer's own processes and threads: a tracer must not feed on what it does itself.
 *
 *     find() ──processes──► /proc/PID/task ──threads──► wmk_kown_has(own, tid)      records of tracefs, as they are converted (cpu_stream.c)
 *                  └──► wmk_kown_pids()                                             what the BPF program leaves alone (calls_reader.c)
 *
 * Looked at anew when a time has passed that is short against a thread's life: not by each record. One that has just
 * begun may have a few records. A thread of this process that lives so short that its records are read when it is gone
 * (the state dump's) says when it was there:
 *
 *     begun = wmk_kown_now(); pthread_create(...)       in it: wmk_kown_thread_begins(begun) ... wmk_kown_thread_ends(begun)
 *
 * so another thread that gets its number is not taken for it. Records that are left out are neither lost nor recorded.
 *
 * One thread for a struct wmk_kown; those about threads: any.
 */
#ifndef WMK_KERNEL_OWN_PIDS_H
#define WMK_KERNEL_OWN_PIDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define WMK_KOWN_PIDS 8u

/* Which processes those are now: how many. */
typedef unsigned wmk_kown_find(void *data, pid_t pids[WMK_KOWN_PIDS]);

/* A moment, by the clocks that records may have. */
struct wmk_kown_time { uint64_t counter, monotonic; };

struct wmk_kown_span {
	int32_t tid;                   /* 0: none */
	struct wmk_kown_time from, until;
};

#define WMK_KOWN_SPANS 16u             /* such threads that are known, the latest ones */
#define WMK_KOWN_SLOTS 1024u           /* a power of two; half of them at most are taken */

struct wmk_kown {
	wmk_kown_find *find;           /* NULL: this process alone */
	void *data;
	uint64_t looked;               /* CLOCK_MONOTONIC; 0: never */
	pid_t pids[WMK_KOWN_PIDS];
	unsigned n_pids, n_tids;
	uint32_t version;              /* changes with the processes */
	int32_t tids[WMK_KOWN_SLOTS];  /* by hash; 0: free */
	bool is_counter;               /* the clock of its records; else the monotonic one */
	uint32_t spans_version;
	unsigned n_spans;
	struct wmk_kown_span spans[WMK_KOWN_SPANS];
};

void wmk_kown_init(struct wmk_kown *own, wmk_kown_find *find, void *data, bool is_counter);
/* Now, if the last time is long enough ago: nothing, mostly. */
void wmk_kown_look(struct wmk_kown *own);
/* Was the thread one of them at that time? */
bool wmk_kown_has(const struct wmk_kown *own, int32_t tid, uint64_t ts);

struct wmk_kown_time wmk_kown_now(void);
void wmk_kown_thread_begins(struct wmk_kown_time begun);
void wmk_kown_thread_ends(struct wmk_kown_time begun);

/*
 * The process whose number stands at the begin of a file, as each consumer daemon's does, if a process of that name
 * (comm) has it; else 0.
 */
pid_t wmk_kown_of_file(const char *path, const char *comm);

#endif
