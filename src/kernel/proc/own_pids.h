/* SPDX-License-Identifier: MIT */
/*
 * own_pids.h - the tracer's own processes and threads. Records of the tracer's own threads are excluded, so that
 * tracing does not record itself.
 *
 *     find() ──processes──► /proc/PID/task ──threads──► wmk_kown_has(own, tid)   cpu_stream.c excludes their records
 *                  └──► own->pids                                               the BPF program excludes their calls
 *
 * The list is refreshed at most every 100 ms, not for each record. A new thread can therefore have a few records in the
 * trace. A short-lived thread of this process, for example the thread of the state dump, can exit before a reader reads
 * the thread's records. A short-lived thread therefore announces its lifetime:
 *
 *     begun = wmk_kown_now(); pthread_create(...)
 *     in the thread: wmk_kown_thread_begins(begun) ... wmk_kown_thread_ends(begun)
 *
 * Records of a short-lived thread are excluded only within the announced lifetime, because a later thread can get the
 * same number. Excluded records count neither as lost nor as recorded.
 *
 * A struct wmk_kown belongs to one thread. Any thread may call wmk_kown_now() and wmk_kown_thread_...().
 */
#ifndef WMK_KERNEL_OWN_PIDS_H
#define WMK_KERNEL_OWN_PIDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define WMK_KOWN_PIDS 8u

/* Fills `pids` with the tracer's processes that exist now, and returns their number. */
typedef unsigned wmk_kown_find(void *data, pid_t pids[WMK_KOWN_PIDS]);

/* One moment, as a value of each clock that the records of a channel can use. */
struct wmk_kown_time { uint64_t counter, monotonic; };

struct wmk_kown_span {
	int32_t tid;                   /* 0: unused */
	struct wmk_kown_time from, until;
};

/* number of short-lived threads that are kept; a new thread replaces the oldest */
#define WMK_KOWN_SPANS 16u
#define WMK_KOWN_SLOTS 1024u           /* number of slots: a power of two; at most half of the slots are used */

struct wmk_kown {
	wmk_kown_find *find;           /* NULL: only this process */
	void *data;
	uint64_t refreshed;            /* CLOCK_MONOTONIC; 0: never */
	pid_t pids[WMK_KOWN_PIDS];
	unsigned n_pids, n_tids;
	uint32_t version;              /* changes when the list of processes changes */
	int32_t tids[WMK_KOWN_SLOTS];  /* by hash; 0: free */
	bool is_counter;               /* records have the counter's clock; false: the monotonic clock */
	uint32_t spans_version;
	unsigned n_spans;
	struct wmk_kown_span spans[WMK_KOWN_SPANS];
};

void wmk_kown_init(struct wmk_kown *own, wmk_kown_find *find, void *data, bool is_counter);
/* Refreshes the lists of processes and threads. The function returns quickly if the last refresh is recent. */
void wmk_kown_refresh(struct wmk_kown *own);
/* Returns true if the thread belonged to the tracer at that time. */
bool wmk_kown_has(const struct wmk_kown *own, int32_t tid, uint64_t ts);

struct wmk_kown_time wmk_kown_now(void);
void wmk_kown_thread_begins(struct wmk_kown_time begun);
void wmk_kown_thread_ends(struct wmk_kown_time begun);

/*
 * Reads a process number from the start of the file. Returns the number if its process has the name `comm`; else 0. For
 * example, each consumer daemon stores its process number in its lock file.
 */
pid_t wmk_kown_of_file(const char *path, const char *comm);

#endif
