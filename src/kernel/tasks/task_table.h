/* SPDX-License-Identifier: MIT */
/*
 * task_table.h - who is who: what a thread of that number was called at that time, whose it was, in which namespaces.
 * For the contexts `pid`, `procname`, `prio`, `vpid`, `vtid`, ... of the kernel's records, which tell only a number
 * (`tid`) and a time.
 *
 *     /proc, once ──wmk_ktasks_open()───┐
 *     task_newtask        ──_note_fork()┤   versions of each      _find(tid, cpu, ts) ──► struct wmk_ktask
 *     task_rename         ──_note_rename┼─► number, by time ─────►       │
 *     sched_process_exec  ──_note_exec()┤                                └ first time: /proc/<tid>/ for priority and namespaces
 *     sched_process_exit  ──_note_exit()┘
 *
 * Events may be noted in any order: each CPU's are in order, those of two are not. What is known of a number at a time
 * is the latest that happened before; what the walk through /proc saw is true before as well, back to the number's next
 * event. A number that was given again is another task from its task_newtask on; one that has exited keeps its name
 * until then, as it still has records (it switches away).
 *
 * Priorities and namespaces are those at the time when they were asked for first, as no event tells their changes; a
 * task that had ended before has its parent's, where a fork hands them on. A number that no event and no walk told of
 * is looked for in /proc as well.
 *
 * A hash table: one look-up is one chain, and as many versions as the number has, which are few (WMK_KTASKS_HISTORY at
 * most). Memory is bounded by `limit`; who must go is counted. One thread at a time.
 */
#ifndef WMK_KERNEL_TASK_TABLE_H
#define WMK_KERNEL_TASK_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/proc/procfs.h"

#define WMK_KTASKS_LIMIT (1u << 18)    /* versions, if nothing else is said: some 30 to 50 MB */
#define WMK_KTASKS_HISTORY 64u         /* versions of one number: the oldest are forgotten */

struct wmk_ktasks;

/* What of a task is wanted, or known. */
enum {
	WMK_KTASK_NAME = 1,            /* procname */
	WMK_KTASK_PID = 2,             /* pid, ppid */
	WMK_KTASK_PRIO = 4,
	WMK_KTASK_VIRTUAL = 8,         /* vpid, vtid */
	WMK_KTASK_NAMESPACES = 16,     /* ns: those that are not 0 */
};

struct wmk_ktask {
	unsigned known;
	int32_t tid, pid, ppid;
	int32_t vtid, vpid;            /* in its own PID namespace */
	int32_t prio;                  /* as the kernel's task_prio(): -100 ... 39, 20 is usual */
	char procname[WMK_KPROC_NAME]; /* zeros behind it */
	uint32_t ns[WMK_KNS_KINDS];    /* inode numbers, by enum wmk_kns; 0: not known */
	bool has_exited;               /* before that time */
	/* from that time on up to before this one it is the same, unless something is noted */
	uint64_t until;
};

struct wmk_ktasks_counts {
	uint64_t tasks, versions;      /* now */
	uint64_t forgotten;            /* versions that had to go because of a limit */
	uint64_t asked;                /* tasks that were looked at in /proc after the walk */
};

/*
 * `proc`: another tree than "/proc", or NULL. `now`: the clock's value; the walk counts from then on. `limit`: versions
 * at most, 0:
 * WMK_KTASKS_LIMIT. -errno with a cause chain: /proc cannot be opened, no memory. *tasks is the caller's:
 * wmk_ktasks_close().
 */
int wmk_ktasks_open(const char *proc, uint64_t now, uint32_t limit, struct wmk_ktasks **tasks);
void wmk_ktasks_close(struct wmk_ktasks *tasks);
/*
 * Some of what happened before `ts` is not noted and will not be: whoever lives is looked at once more, and is as he is
 * now from then on, but for what is noted of later. -errno with a cause chain.
 */
int wmk_ktasks_again(struct wmk_ktasks *tasks, uint64_t ts);

/*
 * Names are comm's 16 bytes, with or without a NUL. 0, or -ENOMEM without a chain: this was not noted.
 * task_newtask: recorded by the parent `parent`; fields pid (`child`), comm, clone_flags.
 */
int wmk_ktasks_note_fork(struct wmk_ktasks *tasks, uint64_t ts, int32_t parent, int32_t child,
			 const char comm[WMK_KPROC_NAME], uint64_t clone_flags);
/* task_rename: pid, oldcomm (NULL: not known), newcomm. Also what an exec does. */
int wmk_ktasks_note_rename(struct wmk_ktasks *tasks, uint64_t ts, int32_t tid, const char oldcomm[WMK_KPROC_NAME],
			   const char comm[WMK_KPROC_NAME]);
/*
 * sched_process_exec: pid, old_pid. A thread that is not its process's first gets that one's number, and its own is
 * nobody's.
 */
int wmk_ktasks_note_exec(struct wmk_ktasks *tasks, uint64_t ts, int32_t tid, int32_t old_tid);
int wmk_ktasks_note_exit(struct wmk_ktasks *tasks, uint64_t ts, int32_t tid);

/*
 * `cpu`: where the record was made; number 0 is the idle task of each CPU, "swapper/<cpu>". `want`: of WMK_KTASK_...;
 * what is not known is not in out->known, and 0; what was not wanted may be there as well. -ENOENT: nothing at all is
 * known but out->tid.
 */
int wmk_ktasks_find(struct wmk_ktasks *tasks, int32_t tid, uint32_t cpu, uint64_t ts, unsigned want,
		    struct wmk_ktask *out);
void wmk_ktasks_counts(const struct wmk_ktasks *tasks, struct wmk_ktasks_counts *counts);

#endif
