/* SPDX-License-Identifier: MIT */
/*
 * task_lookup.c - derives the state of a task at a time from its versions (see task_table.h, task_versions.h).
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/tasks/task_versions.h"

#define FAMILY_MAX 32u         /* maximum number of ancestors that are searched for inherited values */
#define IDLE_PRIO 20

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

/* The state of a thread number at one time. */
struct view {
	struct wmk_ktask_version *life;    /* NULL: unknown */
	const char *comm;                  /* NULL: unknown */
	bool has_exited;                   /* the task exited before that time */
	/* according to the events, the life has ended by now; /proc has another task of that number, or no such task */
	bool is_over;
	uint64_t until;                    /* time of the next version */
};

/*
 * Skips versions that are newer than `ts`, beginning with the newest version. *view receives the facts about the life
 * at `ts` that these versions contain. Returns the newest version at or before `ts`.
 */
static struct wmk_ktask_version *skip_newer(struct wmk_ktask_version *version, uint64_t ts, struct view *view)
{
	for (; version && version->ts > ts; version = version->older) {
		switch (version->kind) {
		case WMK_KTASK_WALK:
			view->life = version;
			view->comm = version->comm;
			break;
		case WMK_KTASK_RENAME:
			view->comm = version->has_old ? version->old : NULL;
			break;
		default:
			*view = (struct view){ .is_over = true };
		}
		view->until = version->ts;
	}
	return version;
}

static struct view view_at(const struct wmk_ktask_entry *entry, uint64_t ts)
{
	struct view later = { .until = UINT64_MAX }, view;
	struct wmk_ktask_version *version = skip_newer(entry->newest, ts, &later);

	view = (struct view){ .is_over = later.is_over, .until = later.until };
	for (; version && !view.life; version = version->older)
		switch (version->kind) {
		case WMK_KTASK_RENAME:
			if (!view.comm)
				view.comm = version->is_seen && later.comm ? later.comm : version->comm;
			break;
		case WMK_KTASK_EXIT:
			/*
			 * A change of the name after the exit shows that the number is still in use: a thread has taken
			 * over the number by an exec.
			 */
			view.has_exited |= !view.comm;
			break;
		default:
			view.life = version;
			/*
			 * A name that the scan of /proc found can be newer than `ts`. The next event task_rename
			 * contains the old name, which is the name at `ts`.
			 */
			if (!view.comm)
				view.comm = version->kind == WMK_KTASK_WALK && later.comm && !view.has_exited
						    ? later.comm
						    : version->comm;
		}
	if (!view.life && !view.has_exited) {
		view.life = later.life;
		view.comm = view.comm ? view.comm : later.comm;
	}
	view.is_over |= view.has_exited;
	return view;
}

static struct view view_of(struct wmk_ktasks *tasks, int32_t tid, uint64_t ts)
{
	const struct wmk_ktask_entry *entry = wmk_ktasks_entry(tasks, tid);

	return entry ? view_at(entry, ts) : (struct view){ .until = UINT64_MAX };
}

/* ── /proc ───────────────────────────────────────────────────────────────────────────────────────────── */

/* Reads a task in /proc. *pid: 0, or the process that the task must belong to. */
static int read_task(struct wmk_ktasks *tasks, int32_t tid, int32_t *pid, struct wmk_kproc_stat *stat,
	       struct wmk_ktask_details *details)
{
	struct wmk_kproc_status status;
	/*
	 * wmk_kproc_open_task() also finds threads other than the first thread of a process, although /proc does not
	 * list their directories.
	 */
	const int dir = wmk_kproc_open_task(tasks->proc, tid);
	int err;

	if (dir < 0)
		return dir;
	tasks->proc_reads++;
	err = wmk_kproc_stat_read(dir, stat);
	if (err == 0)
		err = wmk_kproc_status_read(&tasks->lines, dir, &status);
	if (err == 0 && (stat->tid != tid || status.tgid <= 0 || (*pid && *pid != status.tgid)))
		err = -ESRCH;
	if (err == 0) {
		*pid = status.tgid;
		details->known = WMK_KTASK_PRIO | WMK_KTASK_NAMESPACES |
				 (status.n_tids && status.n_tgids ? WMK_KTASK_VIRTUAL : 0);
		details->prio = stat->prio;
		details->vtid = status.n_tids ? status.tids[status.n_tids - 1] : 0;
		details->vpid = status.n_tgids ? status.tgids[status.n_tgids - 1] : 0;
		for (unsigned kind = 0; kind < WMK_KNS_KINDS; kind++)
			if (wmk_kns_read(dir, kind, &details->ns[kind]) < 0)
				details->ns[kind] = 0;
	}
	close(dir);
	return err;
}

/*
 * Looks up a task without any version. If /proc lacks the task, the table gets an EXIT version, so that no second
 * look-up of this task follows.
 */
static struct wmk_ktask_version *look_up_unknown(struct wmk_ktasks *tasks, int32_t tid, uint64_t ts)
{
	struct wmk_ktask_details *details = calloc(1, sizeof(*details));
	struct wmk_ktask_version *version;
	struct wmk_kproc_stat stat;
	int32_t pid = 0;
	const int err = details ? read_task(tasks, tid, &pid, &stat, details) : -ENOMEM;

	version = err == -ENOMEM ? NULL : wmk_ktasks_add(tasks, tid, ts, err == 0 ? WMK_KTASK_WALK : WMK_KTASK_EXIT);
	if (err < 0 || !version) {
		free(details);
		return NULL;
	}
	memcpy(version->comm, stat.name, sizeof(version->comm));
	version->pid = pid;
	version->ppid = stat.ppid;
	version->details = details;
	return version;
}

/* ── family ──────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Determines the process of a task from the task's clone flags and from the parent's process, and stores the process in
 * `life`. False: the process is unknown.
 */
static bool resolve(struct wmk_ktasks *tasks, int32_t tid, struct wmk_ktask_version *life, unsigned depth)
{
	const bool is_thread = life->clone_flags & CLONE_THREAD;
	struct view parent;

	if (life->pid)
		return true;
	if (depth == FAMILY_MAX || life->kind != WMK_KTASK_FORK)
		return false;
	parent = view_of(tasks, life->parent, life->ts);
	if (!parent.life || !resolve(tasks, life->parent, parent.life, depth + 1))
		return false;
	life->pid = is_thread ? parent.life->pid : tid;
	life->ppid = life->clone_flags & (CLONE_THREAD | CLONE_PARENT) ? parent.life->ppid : parent.life->pid;
	return true;
}

/* Copies the values that a child inherits from its parent, except namespaces that the clone flags create. */
static void inherit(const struct wmk_ktask_version *life, int32_t tid, const struct wmk_ktask_details *from,
		    struct wmk_ktask_details *to)
{
	static const uint64_t fresh[WMK_KNS_KINDS] = {
		[WMK_KNS_PID] = CLONE_NEWPID,   [WMK_KNS_USER] = CLONE_NEWUSER, [WMK_KNS_CGROUP] = CLONE_NEWCGROUP,
		[WMK_KNS_IPC] = CLONE_NEWIPC,   [WMK_KNS_MNT] = CLONE_NEWNS,    [WMK_KNS_NET] = CLONE_NEWNET,
		[WMK_KNS_TIME] = CLONE_NEWTIME, [WMK_KNS_UTS] = CLONE_NEWUTS,
	};

	to->known = from->known & (WMK_KTASK_PRIO | WMK_KTASK_NAMESPACES);
	to->prio = from->prio;
	for (unsigned kind = 0; kind < WMK_KNS_KINDS; kind++)
		to->ns[kind] = life->clone_flags & fresh[kind] ? 0 : from->ns[kind];
	/*
	 * Thread numbers in a nested PID namespace are unknown. Thread numbers in the outermost PID namespace equal the
	 * table's numbers.
	 */
	if (from->known & WMK_KTASK_VIRTUAL && from->vtid == life->parent && !(life->clone_flags & CLONE_NEWPID) &&
	    life->pid) {
		to->known |= WMK_KTASK_VIRTUAL;
		to->vtid = tid;
		to->vpid = life->pid;
	}
}

static const struct wmk_ktask_details *details_of(struct wmk_ktasks *tasks, int32_t tid, const struct view *view,
						  unsigned depth)
{
	struct wmk_ktask_version *life = view->life;
	const struct wmk_ktask_details *from;
	struct wmk_kproc_stat stat;
	struct view parent;
	int32_t pid = life->pid;

	if (life->details || depth == FAMILY_MAX)
		return life->details;
	life->details = calloc(1, sizeof(*life->details));
	if (!life->details || (!view->is_over && read_task(tasks, tid, &pid, &stat, life->details) == 0)) {
		if (life->details && !life->pid) {
			life->pid = pid;
			life->ppid = stat.ppid;
		}
		return life->details;
	}
	parent = life->kind == WMK_KTASK_FORK ? view_of(tasks, life->parent, life->ts) : (struct view){ .life = NULL };
	from = parent.life ? details_of(tasks, life->parent, &parent, depth + 1) : NULL;
	if (from)
		inherit(life, tid, from, life->details);
	return life->details;
}

/* ── look-up ─────────────────────────────────────────────────────────────────────────────────────────── */

static int find_idle(uint32_t cpu, struct wmk_ktask *out)
{
	out->known = WMK_KTASK_NAME | WMK_KTASK_PID | WMK_KTASK_PRIO | WMK_KTASK_VIRTUAL;
	out->prio = IDLE_PRIO;
	out->until = UINT64_MAX;
	snprintf(out->procname, sizeof(out->procname), "swapper/%u", cpu);
	return 0;
}

static void fill_details(struct wmk_ktasks *tasks, const struct view *view, struct wmk_ktask *out)
{
	const struct wmk_ktask_details *details = details_of(tasks, out->tid, view, 0);

	if (!details)
		return;
	out->known |= details->known;
	out->prio = details->prio;
	out->vtid = details->vtid;
	out->vpid = details->vpid;
	memcpy(out->ns, details->ns, sizeof(out->ns));
}

static void fill_process(struct wmk_ktasks *tasks, const struct view *view, struct wmk_ktask *out)
{
	if (resolve(tasks, out->tid, view->life, 0)) {
		out->pid = view->life->pid;
		out->ppid = view->life->ppid;
	} else if (view->life->clone_flags & CLONE_THREAD) {
		return;
	} else {
		/* The task is a separate process, and its parent is unknown. */
		out->pid = out->tid;
	}
	out->known |= WMK_KTASK_PID;
}

int wmk_ktasks_find(struct wmk_ktasks *tasks, int32_t tid, uint32_t cpu, uint64_t ts, unsigned want,
		    struct wmk_ktask *out)
{
	struct view view;

	*out = (struct wmk_ktask){ .tid = tid };
	if (tid == 0)
		return find_idle(cpu, out);
	view = view_of(tasks, tid, ts);
	if (!view.life && !view.is_over && look_up_unknown(tasks, tid, ts))
		view = view_of(tasks, tid, ts);
	if (view.comm) {
		out->known |= WMK_KTASK_NAME;
		memcpy(out->procname, view.comm, sizeof(out->procname));
	}
	out->has_exited = view.has_exited;
	out->until = view.until;
	if (view.life) {
		const bool is_resolved = resolve(tasks, tid, view.life, 0);

		if (want & (WMK_KTASK_PRIO | WMK_KTASK_VIRTUAL | WMK_KTASK_NAMESPACES) ||
		    (want & WMK_KTASK_PID && !is_resolved))
			fill_details(tasks, &view, out);
		fill_process(tasks, &view, out);
	}
	return out->known ? 0 : -ENOENT;
}
