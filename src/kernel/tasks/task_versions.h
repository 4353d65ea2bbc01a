/* SPDX-License-Identifier: MIT */
/*
 * task_versions.h - the table of tasks. Internal: task_table.c has the table and what is noted in it, task_lookup.c
 * what follows from it.
 *
 *     number ──hash──► struct task ─newest─► RENAME 90 ─older─► FORK 40 ─older─► EXIT 20 ─older─► WALK 5
 *                                            └───── one life ────────┘           └── the life before ──┘
 */
#ifndef WMK_KERNEL_TASK_VERSIONS_H
#define WMK_KERNEL_TASK_VERSIONS_H

#include "kernel/tasks/task_table.h"

enum wmk_ktask_kind {
	WMK_KTASK_WALK,        /* seen in /proc: a life that has begun before, nobody knows when */
	WMK_KTASK_FORK,        /* a life begins */
	WMK_KTASK_RENAME,
	WMK_KTASK_EXIT,        /* it ends; or, with nothing before it, /proc had nobody of that number */
};

/* What no event tells. */
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
	bool is_seen;                      /* RENAME: no event told, /proc did; it may be a name that came later */
	char comm[WMK_KPROC_NAME];         /* WALK, FORK, RENAME */
	char old[WMK_KPROC_NAME];          /* RENAME: what it was called before */
	int32_t parent;                    /* FORK: who made it */
	uint64_t clone_flags;              /* FORK */
	int32_t pid, ppid;                 /* WALK; FORK: once its parent's are known, else pid is 0 */
	struct wmk_ktask_details *details; /* WALK, FORK: once they were asked for */
};

struct wmk_ktask_entry {
	struct wmk_ktask_entry *next;      /* of the same head */
	int32_t tid;
	uint32_t n;
	struct wmk_ktask_version *newest;
};

struct wmk_ktasks {
	int proc;
	uint32_t limit, n_versions, n_tasks;
	uint32_t n_heads, hand;            /* a power of two; which head is looked at next for who must go */
	uint64_t forgotten, asked;
	struct wmk_kproc_lines lines;
	struct wmk_ktask_entry *heads[];
};

struct wmk_ktask_entry *wmk_ktasks_entry(struct wmk_ktasks *tasks, int32_t tid);
/* A version in its place by time; NULL without memory. It may make others go, never `tid`'s. */
struct wmk_ktask_version *wmk_ktasks_add(struct wmk_ktasks *tasks, int32_t tid, uint64_t ts, enum wmk_ktask_kind kind);

#endif
