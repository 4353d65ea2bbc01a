/* SPDX-License-Identifier: MIT */
/*
 * statedump_ns.c - namespaces of the state dump: one record for each namespace of a thread. PID and user namespaces are
 * nested and have one record for each level, the innermost first.
 *
 * /proc has the number of the innermost namespace. An ioctl on a namespace returns its parent. A cache keeps the
 * ancestors, so that threads of one namespace need no further ioctl. Outer namespaces are not visible, so levels count
 * from the namespaces of this process. If this process is in the initial namespaces, the levels equal the kernel's
 * levels.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "kernel/statedump/statedump_record.h"

#define ID_UNKNOWN 65534u      /* the kernel's value for an id without a mapping in a user namespace */

static int emit(struct wmk_kdump *dump, enum wmk_kstatedump_event event)
{
	dump->counts.namespaces++;
	return wmk_kdump_emit(dump, event);
}

/* ── ancestors of a namespace ────────────────────────────────────────────────────────────────────────── */

static int next_outwards(int fd)
{
	const int parent = ioctl(fd, NS_GET_PARENT);

	close(fd);
	return parent;
}

static void ask_for_chain(int task, enum wmk_kns kind, uint32_t innermost, struct wmk_kdump_chain *chain)
{
	struct stat stat;
	char path[32];
	int fd;

	*chain = (struct wmk_kdump_chain){ .n = 1, .inums = { innermost } };
	snprintf(path, sizeof(path), "ns/%s", wmk_kns_names[kind]);
	fd = openat(task, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	/*
	 * The thread may have entered another namespace after `innermost` was read. The opened file then refers to the
	 * new namespace. The ancestors of the new namespace can differ from the ancestors of `innermost`.
	 */
	if (fd >= 0 && (fstat(fd, &stat) < 0 || (uint32_t)stat.st_ino != innermost)) {
		close(fd);
		return;
	}
	while (fd >= 0 && chain->n < WMK_KPROC_LEVELS) {
		fd = next_outwards(fd);
		if (fd >= 0 && fstat(fd, &stat) == 0)
			chain->inums[chain->n++] = (uint32_t)stat.st_ino;
	}
	if (fd >= 0)
		close(fd);
}

/* Return the ancestors of a namespace from a small cache, indexed by the innermost number. kind: PID or USER. */
static const struct wmk_kdump_chain *chain_of(struct wmk_kdump *dump, int task, enum wmk_kns kind, uint32_t innermost)
{
	struct wmk_kdump_chain *chain = &dump->chains[kind == WMK_KNS_USER][innermost % WMK_KDUMP_CHAINS];

	if (!chain->n || chain->inums[0] != innermost)
		ask_for_chain(task, kind, innermost, chain);
	return chain;
}

/* ── PID ─────────────────────────────────────────────────────────────────────────────────────────────── */

/* Return the numbers of the parent in all of its PID namespaces. */
static const struct wmk_kproc_status *parent_of(struct wmk_kdump *dump, int32_t pid)
{
	int dir;

	if (pid == dump->parent)
		return &dump->parent_status;
	dump->parent = pid;
	dump->parent_status = (struct wmk_kproc_status){ .tgid = 0 };
	dir = pid > 0 ? wmk_kproc_open_task(dump->proc, pid) : -ESRCH;
	if (dir >= 0) {
		wmk_kproc_status_read(&dump->lines, dir, &dump->parent_status);
		close(dir);
	}
	return &dump->parent_status;
}

/*
 * Return the parent's number at this level; 0 if the parent is in an outer namespace and has no number at this level.
 */
static int32_t vppid_of(struct wmk_kdump *dump, const struct wmk_kdump_task *task, uint32_t level)
{
	const struct wmk_kproc_status *parent;

	if (level == 0)
		return task->stat.ppid;
	parent = parent_of(dump, task->stat.ppid);
	return level < parent->n_tgids ? parent->tgids[level] : 0;
}

static int dump_pid(struct wmk_kdump *dump, const struct wmk_kdump_task *task)
{
	const struct wmk_kproc_status *status = &task->status;
	const struct wmk_kdump_chain *chain = NULL;
	uint32_t inum, n = status->n_tids;
	int err = wmk_kns_read(task->dir, WMK_KNS_PID, &inum);

	if (err < 0 && wmk_kdump_missed(dump, err) < 0)
		return err;
	if (err == 0)
		chain = chain_of(dump, task->dir, WMK_KNS_PID, inum);
	err = 0;
	/*
	 * Kernels before 4.1 do not list the levels of PID namespaces. The dump then makes one record for the thread,
	 * with the numbers that /proc shows.
	 */
	for (uint32_t i = 0; err == 0 && i < (n ? n : 1); i++) {
		const uint32_t level = n ? n - 1 - i : 0;

		wmk_kdump_put_i32(dump, task->tid);
		wmk_kdump_put_i32(dump, n ? status->tids[level] : task->tid);
		wmk_kdump_put_i32(dump, n && level < status->n_tgids ? status->tgids[level] : task->pid);
		wmk_kdump_put_i32(dump, vppid_of(dump, task, level));
		wmk_kdump_put_i32(dump, (int32_t)level);
		wmk_kdump_put_32(dump, chain && i < chain->n ? chain->inums[i] : 0);
		err = emit(dump, WMK_KSTATEDUMP_PID_NS);
	}
	return err;
}

/* ── users ───────────────────────────────────────────────────────────────────────────────────────────── */

/* Translate an id of our user namespace into the thread's own user namespace. */
static uint32_t id_inside(struct wmk_kdump *dump, const struct wmk_kdump_task *task, const char *file, uint32_t outside)
{
	uint32_t inside = ID_UNKNOWN;
	const char *line;
	size_t len;
	bool is_found = false;

	if (wmk_kproc_lines_open(&dump->lines, task->dir, file) < 0)
		return ID_UNKNOWN;
	while (!is_found && wmk_kproc_lines_next(&dump->lines, &line, &len) > 0)
		is_found = wmk_kproc_id_inside(line, len, outside, &inside);
	wmk_kproc_lines_close(&dump->lines);
	return is_found ? inside : ID_UNKNOWN;
}

static int dump_user(struct wmk_kdump *dump, const struct wmk_kdump_task *task)
{
	const struct wmk_kdump_chain *chain;
	uint32_t inum;
	int err = wmk_kns_read(task->dir, WMK_KNS_USER, &inum);

	if (err < 0)
		return wmk_kdump_missed(dump, err);
	chain = chain_of(dump, task->dir, WMK_KNS_USER, inum);
	for (uint32_t i = 0; err == 0 && i < chain->n; i++) {
		const bool is_ours = chain->inums[i] == dump->own_user_ns;
		/*
		 * /proc has the ids in our namespace and the map of the innermost namespace, but no ids of namespaces
		 * between the two.
		 */
		const bool is_innermost = i == 0;
		uint32_t uid = is_ours ? task->status.uid : ID_UNKNOWN, gid = is_ours ? task->status.gid : ID_UNKNOWN;

		if (!is_ours && is_innermost) {
			uid = id_inside(dump, task, "uid_map", task->status.uid);
			gid = id_inside(dump, task, "gid_map", task->status.gid);
		}
		wmk_kdump_put_i32(dump, task->tid);
		wmk_kdump_put_32(dump, uid);
		wmk_kdump_put_32(dump, gid);
		wmk_kdump_put_i32(dump, (int32_t)(chain->n - 1 - i));
		wmk_kdump_put_32(dump, chain->inums[i]);
		err = emit(dump, WMK_KSTATEDUMP_USER_NS);
	}
	return err;
}

/* ── the others ──────────────────────────────────────────────────────────────────────────────────────── */

static const struct {
	enum wmk_kns kind;
	enum wmk_kstatedump_event event;
} others[] = {
	{ WMK_KNS_CGROUP, WMK_KSTATEDUMP_CGROUP_NS }, { WMK_KNS_IPC, WMK_KSTATEDUMP_IPC_NS },
	{ WMK_KNS_MNT, WMK_KSTATEDUMP_MNT_NS },       { WMK_KNS_NET, WMK_KSTATEDUMP_NET_NS },
	{ WMK_KNS_UTS, WMK_KSTATEDUMP_UTS_NS },       { WMK_KNS_TIME, WMK_KSTATEDUMP_TIME_NS },
};

/* A zombie lacks some namespaces, and a kernel may be built without some kinds of namespaces. */
static int dump_other(struct wmk_kdump *dump, const struct wmk_kdump_task *task, size_t i)
{
	uint32_t inum;
	const int err = wmk_kns_read(task->dir, others[i].kind, &inum);

	if (err == -ENOENT)
		return 0;
	if (err < 0)
		return wmk_kdump_missed(dump, err);
	wmk_kdump_put_i32(dump, task->tid);
	wmk_kdump_put_32(dump, inum);
	return emit(dump, others[i].event);
}

int wmk_kdump_namespaces(struct wmk_kdump *dump, const struct wmk_kdump_task *task)
{
	int err = dump_pid(dump, task);

	if (err == 0)
		err = dump_user(dump, task);
	for (size_t i = 0; err == 0 && i < WMK_ARRAY_LEN(others); i++)
		err = dump_other(dump, task, i);
	return err;
}
