/* SPDX-License-Identifier: MIT */
/*
 * task_table.h - the history of tasks: the name, process and namespaces of a thread number at a time. The history
 * supplies the contexts `pid`, `procname`, `prio`, `vpid`, `vtid` and others of kernel records. A kernel record
 * contains only a number (`tid`) and a time.
 *
 *     /proc, once ──wmk_ktasks_open()───┐
 *     task_newtask        ──_note_fork()┤   versions of each      _find(tid, cpu, ts) ──► struct wmk_ktask
 *     task_rename         ──_note_rename┼─► number, by time ─────►       │
 *     sched_process_exec  ──_note_exec()┤                                └ first time: /proc/<tid>/ for priority and
 *     sched_process_exit  ──_note_exit()┘                                  namespaces
 *
 * Events may be noted in any order: events of one CPU are ordered, but events of two CPUs are not. The state at a time
 * follows from the latest version before this time. The state that the scan of /proc found also applies to the past,
 * back to the previous event of the same number. After each task_newtask event of a thread number, this number denotes
 * the new task. An exited task keeps its name until the next task_newtask of its number. The last records of a task
 * follow its exit, for example the switch to the next task, and need the task's name.
 *
 * Priorities and namespaces are the values of the first look-up, because no event reports their changes. A task that
 * exited before the look-up gets the values that a fork inherits from the parent. A thread number without any event or
 * scan result is looked up in /proc, too.
 *
 * The table is a hash table. A look-up follows one chain and then the few versions of the number (WMK_KTASKS_HISTORY at
 * most). `limit` bounds memory; evicted versions are counted. One thread at a time.
 */
#ifndef WMK_KERNEL_TASK_TABLE_H
#define WMK_KERNEL_TASK_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/proc/procfs.h"

#define WMK_KTASKS_LIMIT (1u << 18)    /* default limit of versions: 30 to 50 MB */
#define WMK_KTASKS_HISTORY 64u         /* maximum number of versions of one number; the oldest versions are removed */

struct wmk_ktasks;

/* Parts of a task's state, as bits: wanted parts or known parts. */
enum {
	WMK_KTASK_NAME = 1,            /* procname */
	WMK_KTASK_PID = 2,             /* pid, ppid */
	WMK_KTASK_PRIO = 4,
	WMK_KTASK_VIRTUAL = 8,         /* vpid, vtid */
	WMK_KTASK_NAMESPACES = 16,     /* ns: the elements that are not 0 */
};

struct wmk_ktask {
	unsigned known;
	int32_t tid, pid, ppid;
	int32_t vtid, vpid;            /* in its own PID namespace */
	int32_t prio;                  /* as the kernel's task_prio(): -100 ... 39, 20 is usual */
	char procname[WMK_KPROC_NAME]; /* padded with zeros */
	uint32_t ns[WMK_KNS_KINDS];    /* inode numbers, by enum wmk_kns; 0: unknown */
	bool has_exited;               /* the task exited before that time */
	/* the state is valid before this time, unless a further event is noted */
	uint64_t until;
};

struct wmk_ktasks_counts {
	uint64_t tasks, versions;      /* current numbers */
	uint64_t forgotten;            /* versions that were removed because of a limit */
	uint64_t proc_reads;           /* tasks that were looked up in /proc after the scan */
};

/*
 * `proc`: another tree than "/proc", or NULL. `now`: the time of the scan. `limit`: maximum number of versions, 0:
 * WMK_KTASKS_LIMIT. The caller owns *tasks and calls wmk_ktasks_close(). -errno with a cause chain: /proc cannot be
 * opened, or no memory.
 */
int wmk_ktasks_open(const char *proc, uint64_t now, uint32_t limit, struct wmk_ktasks **tasks);
void wmk_ktasks_close(struct wmk_ktasks *tasks);
/*
 * Scans /proc again. The caller calls this function when events before `ts` were lost. The state that the scan finds
 * applies from `ts` on, except where later events are noted. -errno with a cause chain.
 */
int wmk_ktasks_rescan(struct wmk_ktasks *tasks, uint64_t ts);

/*
 * The functions that note an event return 0, or -ENOMEM without a cause chain: the event was not noted. Names are the
 * 16 bytes of comm, with or without a NUL.
 *
 * task_newtask: recorded by the parent `parent`; fields pid (`child`), comm, clone_flags.
 */
int wmk_ktasks_note_fork(struct wmk_ktasks *tasks, uint64_t ts, int32_t parent, int32_t child,
			 const char comm[WMK_KPROC_NAME], uint64_t clone_flags);
/* task_rename: pid, oldcomm (NULL: unknown), newcomm. An exec causes it, too. */
int wmk_ktasks_note_rename(struct wmk_ktasks *tasks, uint64_t ts, int32_t tid, const char oldcomm[WMK_KPROC_NAME],
			   const char comm[WMK_KPROC_NAME]);
/*
 * sched_process_exec: pid, old_pid. If a thread other than the first thread calls exec, the calling thread takes over
 * the number of the first thread. The old number of the calling thread becomes free.
 */
int wmk_ktasks_note_exec(struct wmk_ktasks *tasks, uint64_t ts, int32_t tid, int32_t old_tid);
int wmk_ktasks_note_exit(struct wmk_ktasks *tasks, uint64_t ts, int32_t tid);

/*
 * `cpu`: the CPU of the record; number 0 is the idle task of each CPU, "swapper/<cpu>". `want`: WMK_KTASK_... bits. An
 * unknown value is 0, and its bit in out->known is 0. out->known may have more bits than `want`. -ENOENT: only out->tid
 * is known.
 */
int wmk_ktasks_find(struct wmk_ktasks *tasks, int32_t tid, uint32_t cpu, uint64_t ts, unsigned want,
		    struct wmk_ktask *out);
void wmk_ktasks_counts(const struct wmk_ktasks *tasks, struct wmk_ktasks_counts *counts);

#endif
