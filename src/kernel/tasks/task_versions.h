/* SPDX-License-Identifier: MIT */
/*
 * task_versions.h - the structures of the task table. Internal to src/kernel/tasks: task_table.c stores versions, and
 * task_lookup.c derives the state at a time from the versions.
 *
 *     number ──hash──► struct wmk_ktask_entry ─newest─► RENAME 90 ─older─► FORK 40 ─older─► EXIT 20 ─older─► WALK 5
 *                                                       └───── one life ────────┘           └── the life before ──┘
 */
#ifndef WMK_KERNEL_TASK_VERSIONS_H
#define WMK_KERNEL_TASK_VERSIONS_H

#include "kernel/tasks/task_table.h"

enum wmk_ktask_kind {
	WMK_KTASK_WALK,        /* seen in a scan of /proc: the life began earlier, at an unknown time */
	WMK_KTASK_FORK,        /* beginning of a life */
	WMK_KTASK_RENAME,
	WMK_KTASK_EXIT,        /* end of a life; without an older version: /proc has no task of that number */
};

/* State that no event reports. */
struct wmk_ktask_details {
	unsigned known;        /* PRIO, VIRTUAL, NAMESPACES */
	int32_t prio, vtid, vpid;
	uint32_t ns[WMK_KNS_KINDS];
};

struct wmk_ktask_version {
	struct wmk_ktask_version *older;
	uint64_t ts;
	uint8_t kind;
	bool has_old;                      /* RENAME */
	bool is_seen;                      /* RENAME: found by a scan, not by an event; the name may be newer than
					    * the version's time */
	char comm[WMK_KPROC_NAME];         /* WALK, FORK, RENAME */
	char old[WMK_KPROC_NAME];          /* RENAME: the name before */
	int32_t parent;                    /* FORK: the thread that created this task */
	uint64_t clone_flags;              /* FORK */
	int32_t pid, ppid;                 /* WALK; FORK: 0 until the parent's values are known */
	struct wmk_ktask_details *details; /* WALK, FORK: NULL until the first look-up */
};

struct wmk_ktask_entry {
	struct wmk_ktask_entry *next;      /* in the chain of one head */
	int32_t tid;
	uint32_t n;
	struct wmk_ktask_version *newest;
};

struct wmk_ktasks {
	int proc;
	uint32_t limit, n_versions, n_tasks;
	uint32_t n_heads, hand;            /* a power of two; the head where the next search for eviction begins */
	uint64_t forgotten, proc_reads;
	struct wmk_kproc_lines lines;
	struct wmk_ktask_entry *heads[];
};

struct wmk_ktask_entry *wmk_ktasks_entry(struct wmk_ktasks *tasks, int32_t tid);
/*
 * Inserts a version in the order of time. NULL: no memory. To make room, the function may evict versions of other
 * numbers, but keeps at least one version of `tid`.
 */
struct wmk_ktask_version *wmk_ktasks_add(struct wmk_ktasks *tasks, int32_t tid, uint64_t ts, enum wmk_ktask_kind kind);

#endif
