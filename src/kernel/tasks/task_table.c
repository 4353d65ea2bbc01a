/* SPDX-License-Identifier: MIT */
/*
 * task_table.c - the task table and the versions that events and scans add (see task_table.h, task_versions.h).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/tasks/task_versions.h"

#define CANDIDATES 64u         /* number of tasks among which the evicted task is chosen */

/* ── the table ───────────────────────────────────────────────────────────────────────────────────────── */

static struct wmk_ktask_entry **head_of(struct wmk_ktasks *tasks, int32_t tid)
{
	return &tasks->heads[((uint32_t)tid * 0x9E3779B1u >> 8) & (tasks->n_heads - 1)];
}

static struct wmk_ktask_entry **place_of(struct wmk_ktasks *tasks, int32_t tid)
{
	struct wmk_ktask_entry **at = head_of(tasks, tid);

	while (*at && (*at)->tid != tid)
		at = &(*at)->next;
	return at;
}

struct wmk_ktask_entry *wmk_ktasks_entry(struct wmk_ktasks *tasks, int32_t tid)
{
	return *place_of(tasks, tid);
}

static void version_free(struct wmk_ktasks *tasks, struct wmk_ktask_entry *entry, struct wmk_ktask_version **at)
{
	struct wmk_ktask_version *version = *at;

	*at = version->older;
	free(version->details);
	free(version);
	entry->n--;
	tasks->n_versions--;
}

static void entry_free(struct wmk_ktasks *tasks, struct wmk_ktask_entry **at)
{
	struct wmk_ktask_entry *entry = *at;

	while (entry->newest)
		version_free(tasks, entry, &entry->newest);
	*at = entry->next;
	free(entry);
	tasks->n_tasks--;
}

/* Returns whether the version is the beginning of a task: /proc listed the task, or task_newtask reported the task. */
static bool is_life(const struct wmk_ktask_version *version)
{
	return version->kind == WMK_KTASK_WALK || version->kind == WMK_KTASK_FORK;
}

/* ── eviction ────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Removes the oldest version of a task that has at least two versions. If the oldest version is the beginning of the
 * task and the next version is a change of the name, the function copies the new name to the oldest version. The
 * function then removes the version with the change instead of the oldest version.
 */
static void forget_oldest(struct wmk_ktasks *tasks, struct wmk_ktask_entry *entry)
{
	struct wmk_ktask_version **at = &entry->newest, *second;

	while ((*at)->older->older)
		at = &(*at)->older;
	second = *at;
	tasks->forgotten++;
	if (second->kind == WMK_KTASK_RENAME && is_life(second->older)) {
		memcpy(second->older->comm, second->comm, sizeof(second->comm));
		version_free(tasks, entry, at);
	} else {
		version_free(tasks, entry, &second->older);
	}
}

/*
 * Evicts a task other than `tid`. The search continues where the last search ended, and examines a few tasks. The
 * search prefers an exited task; otherwise it chooses the first examined task. Returns false if no other task exists.
 */
static bool evict_task(struct wmk_ktasks *tasks, int32_t tid)
{
	struct wmk_ktask_entry **chosen = NULL;
	uint32_t seen = 0;

	for (uint32_t heads = 0; heads < tasks->n_heads && seen < CANDIDATES; heads++) {
		tasks->hand = (tasks->hand + 1) & (tasks->n_heads - 1);
		for (struct wmk_ktask_entry **at = &tasks->heads[tasks->hand]; *at; at = &(*at)->next) {
			if ((*at)->tid == tid)
				continue;
			seen++;
			if (!chosen)
				chosen = at;
			if ((*at)->newest->kind == WMK_KTASK_EXIT) {
				chosen = at;
				seen = CANDIDATES;
				break;
			}
		}
	}
	if (!chosen)
		return false;
	tasks->forgotten += (*chosen)->n;
	entry_free(tasks, chosen);
	return true;
}

/* Makes room for one more version of `tid`. */
static void make_room(struct wmk_ktasks *tasks, int32_t tid)
{
	struct wmk_ktask_entry *entry = wmk_ktasks_entry(tasks, tid);

	if (entry && entry->n == WMK_KTASKS_HISTORY)
		forget_oldest(tasks, entry);
	if (tasks->n_versions >= tasks->limit && !evict_task(tasks, tid) && entry && entry->n > 1)
		forget_oldest(tasks, entry);
}

/* ── versions ────────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_ktask_version *wmk_ktasks_add(struct wmk_ktasks *tasks, int32_t tid, uint64_t ts, enum wmk_ktask_kind kind)
{
	struct wmk_ktask_version *version = calloc(1, sizeof(*version)), **at;
	struct wmk_ktask_entry **place;

	if (!version)
		return NULL;
	make_room(tasks, tid);
	place = place_of(tasks, tid);
	if (!*place) {
		*place = calloc(1, sizeof(**place));
		if (!*place) {
			free(version);
			return NULL;
		}
		(*place)->tid = tid;
		tasks->n_tasks++;
	}
	for (at = &(*place)->newest; *at && (*at)->ts > ts;)
		at = &(*at)->older;
	version->older = *at;
	version->ts = ts;
	version->kind = (uint8_t)kind;
	*at = version;
	(*place)->n++;
	tasks->n_versions++;
	return version;
}

static void keep_name(char kept[WMK_KPROC_NAME], const char comm[WMK_KPROC_NAME])
{
	memcpy(kept, comm, strnlen(comm, WMK_KPROC_NAME - 1));
}

int wmk_ktasks_note_fork(struct wmk_ktasks *tasks, uint64_t ts, int32_t parent, int32_t child,
			 const char comm[WMK_KPROC_NAME], uint64_t clone_flags)
{
	struct wmk_ktask_version *version = wmk_ktasks_add(tasks, child, ts, WMK_KTASK_FORK);

	if (!version)
		return -ENOMEM;
	keep_name(version->comm, comm);
	version->parent = parent;
	version->clone_flags = clone_flags;
	return 0;
}

int wmk_ktasks_note_rename(struct wmk_ktasks *tasks, uint64_t ts, int32_t tid, const char oldcomm[WMK_KPROC_NAME],
			   const char comm[WMK_KPROC_NAME])
{
	struct wmk_ktask_version *version = wmk_ktasks_add(tasks, tid, ts, WMK_KTASK_RENAME);

	if (!version)
		return -ENOMEM;
	keep_name(version->comm, comm);
	version->has_old = oldcomm != NULL;
	if (oldcomm)
		keep_name(version->old, oldcomm);
	return 0;
}

int wmk_ktasks_note_exit(struct wmk_ktasks *tasks, uint64_t ts, int32_t tid)
{
	return wmk_ktasks_add(tasks, tid, ts, WMK_KTASK_EXIT) ? 0 : -ENOMEM;
}

/*
 * The thread takes the number `tid` of the first thread, and `old_tid` becomes free: an exit of `old_tid` is noted. The
 * table may already contain the exit of the first thread, which had the number `tid`. The exec shows that `tid` is
 * still in use.
 */
int wmk_ktasks_note_exec(struct wmk_ktasks *tasks, uint64_t ts, int32_t tid, int32_t old_tid)
{
	return tid == old_tid ? 0 : wmk_ktasks_note_exit(tasks, ts, old_tid);
}

/* ── scan of /proc ───────────────────────────────────────────────────────────────────────────────────── */

/*
 * Returns the version at which the task that owns the number at `ts`, or a later task, began; NULL: no task is known.
 * *comm: the name of the life at `ts`. *then: the previous name in the next renaming, which must equal the name at
 * `ts`; NULL if the renaming has no previous name. If no later change of the name exists, *then is unchanged.
 */
static const struct wmk_ktask_version *life_about(struct wmk_ktasks *tasks, int32_t tid, uint64_t ts, const char **comm,
						  const char **then)
{
	const struct wmk_ktask_entry *entry = wmk_ktasks_entry(tasks, tid);
	const struct wmk_ktask_version *version = entry ? entry->newest : NULL;

	*comm = NULL;
	for (; version && !is_life(version); version = version->older) {
		if (version->ts > ts && version->kind == WMK_KTASK_RENAME)
			*then = version->has_old ? version->old : NULL;
		/* a later name disproves the exit: an exec took over the number */
		else if (version->ts <= ts && version->kind == WMK_KTASK_EXIT && !*comm)
			return NULL;
		else if (version->ts <= ts && version->kind == WMK_KTASK_RENAME && !*comm)
			*comm = version->comm;
	}
	if (version && !*comm)
		*comm = version->comm;
	return version;
}

/*
 * Compares a known task with the scan's result: the task may have a new name, or the number may belong to another task.
 * 1: the scan adds no life; 0: the caller adds one.
 */
static int seen_again(struct wmk_ktasks *tasks, int32_t pid, const struct wmk_kproc_stat *stat, uint64_t ts)
{
	struct wmk_ktask_version *version;
	char name[WMK_KPROC_NAME];
	const char *comm, *then = stat->name;
	const struct wmk_ktask_version *life = life_about(tasks, stat->tid, ts, &comm, &then);

	if (!life || (life->ts <= ts && life->pid && life->pid != pid))
		return 0;
	if (life->ts > ts || !then || strncmp(comm, then, WMK_KPROC_NAME) == 0)
		return 1;
	memcpy(name, then, sizeof(name));        /* (the version that holds the name may be evicted) */
	version = wmk_ktasks_add(tasks, stat->tid, ts, WMK_KTASK_RENAME);
	if (!version)
		return -ENOMEM;
	keep_name(version->comm, name);
	version->is_seen = true;
	return 1;
}

static int walk_thread(struct wmk_ktasks *tasks, int threads, int32_t pid, int32_t tid, uint64_t now,
		       uint32_t *n_threads)
{
	char path[32], text[WMK_KPROC_STAT];
	struct wmk_ktask_version *version;
	struct wmk_kproc_stat stat;
	long len;

	snprintf(path, sizeof(path), "%d/stat", (int)tid);
	len = wmk_kproc_read(threads, path, text, sizeof(text));
	if (len < 0)
		return wmk_kproc_is_gone((int)len) ? 0 : (int)len;
	if (wmk_kproc_stat_parse(text, (size_t)len, &stat) < 0 || stat.tid != tid)
		return 0;
	*n_threads = stat.n_threads;
	len = seen_again(tasks, pid, &stat, now);
	if (len != 0)
		return len < 0 ? (int)len : 0;
	version = wmk_ktasks_add(tasks, tid, now, WMK_KTASK_WALK);
	if (!version)
		return -ENOMEM;
	memcpy(version->comm, stat.name, sizeof(version->comm));
	version->pid = pid;
	version->ppid = stat.ppid;
	return 0;
}

static int walk_process(struct wmk_ktasks *tasks, int32_t pid, uint64_t now)
{
	char path[32];
	uint32_t n_threads = 0, unused;
	int32_t tid;
	DIR *threads;
	int err;

	snprintf(path, sizeof(path), "%d/task", (int)pid);
	threads = wmk_kproc_opendir(tasks->proc, path);
	if (!threads)
		return wmk_kproc_is_gone(-errno) ? 0 : -errno;
	err = walk_thread(tasks, dirfd(threads), pid, pid, now, &n_threads);
	while (err == 0 && n_threads != 1 && wmk_kproc_next_number(threads, &tid) > 0)
		if (tid != pid)
			err = walk_thread(tasks, dirfd(threads), pid, tid, now, &unused);
	closedir(threads);
	return err;
}

static int walk(struct wmk_ktasks *tasks, uint64_t now)
{
	DIR *processes = wmk_kproc_opendir(tasks->proc, ".");
	int32_t pid;
	int err = 0;

	if (!processes)
		return -errno;
	while (err == 0 && wmk_kproc_next_number(processes, &pid) > 0)
		err = walk_process(tasks, pid, now);
	closedir(processes);
	return err;
}

int wmk_ktasks_rescan(struct wmk_ktasks *tasks, uint64_t ts)
{
	int err = walk(tasks, ts);

	return err < 0 ? wmk_error(err, "cannot list processes in /proc again") : 0;
}

/* ── the whole table ─────────────────────────────────────────────────────────────────────────────────── */

int wmk_ktasks_open(const char *proc, uint64_t now, uint32_t limit, struct wmk_ktasks **result)
{
	struct wmk_ktasks *tasks;
	uint32_t n_heads = 64;
	int err;

	limit = limit ? limit : WMK_KTASKS_LIMIT;
	while (n_heads < limit / 2 && n_heads < 1u << 20)
		n_heads *= 2;
	tasks = calloc(1, sizeof(*tasks) + n_heads * sizeof(tasks->heads[0]));
	if (!tasks)
		return wmk_error(-ENOMEM, "cannot create the task table: no memory");
	tasks->limit = limit;
	tasks->n_heads = n_heads;
	proc = proc ? proc : "/proc";
	tasks->proc = open(proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = tasks->proc < 0 ? -errno : walk(tasks, now);
	if (err < 0) {
		wmk_ktasks_close(tasks);
		return wmk_error(err, "cannot list processes in %s", proc);
	}
	*result = tasks;
	return 0;
}

void wmk_ktasks_close(struct wmk_ktasks *tasks)
{
	for (uint32_t head = 0; tasks && head < tasks->n_heads; head++)
		while (tasks->heads[head])
			entry_free(tasks, &tasks->heads[head]);
	if (tasks && tasks->proc >= 0)
		close(tasks->proc);
	free(tasks);
}

void wmk_ktasks_counts(const struct wmk_ktasks *tasks, struct wmk_ktasks_counts *counts)
{
	*counts = (struct wmk_ktasks_counts){ .tasks = tasks->n_tasks, .versions = tasks->n_versions,
					      .forgotten = tasks->forgotten, .proc_reads = tasks->proc_reads };
}
