/* SPDX-License-Identifier: MIT */
/*
 * statedump_task.c - processes of the state dump: their threads, open files and mappings.
 *
 *     /proc/<pid>/task/<tid>/stat, status     lttng_statedump_process_state, and of its namespaces (statedump_ns.c)
 *                           /fd, fdinfo       lttng_statedump_file_descriptor, once for each file table
 *                           /maps             lttng_statedump_vm_map, once for each process
 *
 * All files are opened relative to the directory of the process. The directory of a process never refers to another
 * process, even when the process number is reused.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/statedump/statedump_record.h"

#define THREADS_MAX (4u << 20)     /* the kernel's PID_MAX_LIMIT */
#define PER_PROCESS_MAX 1000000u   /* files, mappings */

/*
 * Values of the fields type, mode, submode and status in lttng-modules. Neither /proc nor lttng-modules has the
 * execution mode of a thread.
 */
enum { USER_THREAD = 0, KERNEL_THREAD = 1 };
enum { MODE_UNKNOWN = 5 };
enum { SUBMODE_NONE = 0 };
enum { STATUS_UNNAMED = 0, STATUS_WAIT_CPU = 2, STATUS_ZOMBIE = 4, STATUS_WAIT = 5, STATUS_DEAD = 7 };

/* Flag bits that the kernel uses for open files and for mappings. */
#define FMODE_READ_WRITE 3u
#define FMODE_PATH 0x4000u
#define FLAG_NO_NOTIFY 0x4000000u  /* internal to the kernel */
#define VM_READ 1u
#define VM_WRITE 2u
#define VM_EXEC 4u
#define VM_SHARED 8u
#define VM_MAYSHARE 0x80u

/* One process, with the file tables of its threads. */
struct process {
	int32_t pid;
	int dir;
	/* first thread of the first file table; first thread of the latest file table; 0: no table yet */
	int32_t tables[2];
	bool has_maps;             /* the mappings of the process were recorded */
};

static uint32_t limit_of(uint32_t limit, uint32_t otherwise)
{
	return limit ? limit : otherwise;
}

static int32_t status_of(char state)
{
	switch (state) {
	case 'R':
		/* also for a running task: records of sched_switch show which task runs */
		return STATUS_WAIT_CPU;
	case 'S':
	case 'D':
	case 'I':
		return STATUS_WAIT;
	case 'Z':
		return STATUS_ZOMBIE;
	case 'X':
	case 'x':
		return STATUS_DEAD;
	default:
		return STATUS_UNNAMED;
	}
}

/* ── file tables ─────────────────────────────────────────────────────────────────────────────────────── */

/*
 * If threads cannot be compared, this function assumes that the threads share the table of the process, as nearly all
 * threads do.
 */
static bool shares_files(const struct wmk_kdump *dump, int32_t a, int32_t b)
{
	return !dump->may_compare || syscall(SYS_kcmp, a, b, KCMP_FILES, 0, 0) <= 0;
}

/*
 * Return the first thread that uses the file table of `task`. *is_new: this table is not recorded yet. 0: the thread
 * has no table, or shares the hidden table of the kernel threads.
 */
static int32_t table_of(const struct wmk_kdump *dump, struct process *process, const struct wmk_kdump_task *task,
			bool *is_new)
{
	*is_new = false;
	if (wmk_kdump_is_zombie(task) || task->stat.flags & WMK_KPROC_KTHREAD)
		return 0;
	for (unsigned i = 0; i < 2; i++)
		if (process->tables[i] && shares_files(dump, process->tables[i], task->tid))
			return process->tables[i];
	*is_new = true;
	process->tables[process->tables[0] ? 1 : 0] = task->tid;
	return task->tid;
}

static int read_flags(struct wmk_kdump *dump, const struct wmk_kdump_task *task, int32_t fd, uint32_t *flags)
{
	char path[32];
	const char *line;
	size_t len;
	bool is_found = false;
	int err;

	snprintf(path, sizeof(path), "fdinfo/%d", (int)fd);
	err = wmk_kproc_lines_open(&dump->lines, task->dir, path);
	if (err < 0)
		return err;
	while (!is_found && (err = wmk_kproc_lines_next(&dump->lines, &line, &len)) > 0)
		is_found = wmk_kproc_fdinfo_flags(line, len, flags);
	wmk_kproc_lines_close(&dump->lines);
	return err < 0 ? err : is_found ? 0 : -EPROTO;
}

/*
 * Compute the access mode of an open file in the same way as the kernel's OPEN_FMODE(). /proc shows no other bit of
 * f_mode.
 */
static uint32_t fmode_of(uint32_t flags)
{
	return flags & O_PATH ? FMODE_PATH : (flags + 1) & FMODE_READ_WRITE;
}

static int dump_file(struct wmk_kdump *dump, const struct wmk_kdump_task *task, int files, int32_t table, int32_t fd)
{
	char name[16], path[PATH_MAX];
	uint32_t flags = 0;
	ssize_t len;
	int err;

	snprintf(name, sizeof(name), "%d", (int)fd);
	len = readlinkat(files, name, path, sizeof(path));
	/* If the path of the file is too long for the kernel to return (ENAMETOOLONG), the record has an empty path. */
	err = len >= 0 || errno == ENAMETOOLONG ? read_flags(dump, task, fd, &flags) : -errno;
	if (err < 0)
		return wmk_kdump_missed(dump, err);
	wmk_kdump_put_64(dump, (uint64_t)table);
	wmk_kdump_put_i32(dump, fd);
	wmk_kdump_put_32(dump, flags & ~FLAG_NO_NOTIFY);
	wmk_kdump_put_32(dump, fmode_of(flags));
	wmk_kdump_put_text(dump, path, len > 0 ? (size_t)len : 0);
	dump->counts.files++;
	return wmk_kdump_emit(dump, WMK_KSTATEDUMP_FILE_DESCRIPTOR);
}

static int dump_files(struct wmk_kdump *dump, const struct wmk_kdump_task *task, int32_t table)
{
	const uint32_t most = limit_of(dump->options->max_files, PER_PROCESS_MAX);
	DIR *files = wmk_kproc_opendir(task->dir, "fd");
	int32_t fd;
	int err = 0;

	if (!files)
		return wmk_kdump_missed(dump, -errno);
	for (uint32_t n = 0; err == 0 && wmk_kproc_next_number(files, &fd) > 0; n++) {
		if (n < most)
			err = dump_file(dump, task, dirfd(files), table, fd);
		else
			dump->counts.left_out++;
	}
	closedir(files);
	return err;
}

/* ── memory ──────────────────────────────────────────────────────────────────────────────────────────── */

static int dump_map(struct wmk_kdump *dump, int32_t pid, const struct wmk_kproc_map *map)
{
		/*
		 * VM_SHARED is certain only for a shared mapping that is writable. For a mapping of a file that was
		 * opened read-only, the kernel clears VM_SHARED.
		 */
	const uint64_t flags = (map->can_read ? VM_READ : 0) | (map->can_write ? VM_WRITE : 0) |
			       (map->can_execute ? VM_EXEC : 0) | (map->is_shared ? VM_MAYSHARE : 0) |
			       (map->is_shared && map->can_write ? VM_SHARED : 0);

	wmk_kdump_put_i32(dump, pid);
	wmk_kdump_put_64(dump, map->start);
	wmk_kdump_put_64(dump, map->end);
	wmk_kdump_put_64(dump, flags);
	wmk_kdump_put_64(dump, map->inode);
	wmk_kdump_put_64(dump, map->offset);
	dump->counts.maps++;
	return wmk_kdump_emit(dump, WMK_KSTATEDUMP_VM_MAP);
}

static int dump_map_lines(struct wmk_kdump *dump, int32_t pid)
{
	const uint32_t most = limit_of(dump->options->max_maps, PER_PROCESS_MAX);
	struct wmk_kproc_map map;
	const char *line;
	size_t len;
	uint32_t n = 0;
	int err;

	while ((err = wmk_kproc_lines_next(&dump->lines, &line, &len)) > 0) {
		if (n++ >= most)
			dump->counts.left_out++;
		else if (wmk_kproc_map_parse(line, len, &map) < 0)
			dump->counts.gone++;
		else
			err = dump_map(dump, pid, &map);
		/*
		 * `was_refused` shows that `record` returned a value other than 0. A positive `err` can also be a
		 * result of wmk_kproc_lines_next().
		 */
		if (dump->was_refused)
			return err;
	}
	return err < 0 ? wmk_kdump_missed(dump, err) : 0;
}

static int dump_maps(struct wmk_kdump *dump, const struct wmk_kdump_task *task)
{
	int err = wmk_kproc_lines_open(&dump->lines, task->dir, "maps");

	if (err < 0)
		return wmk_kdump_missed(dump, err);
	err = dump_map_lines(dump, task->pid);
	wmk_kproc_lines_close(&dump->lines);
	return err;
}

/* ── threads ─────────────────────────────────────────────────────────────────────────────────────────── */

/* Keep the thread of an interrupt ("irq/24-virtio0") for the records of interrupts. */
static void note_irq_thread(struct wmk_kdump *dump, const struct wmk_kdump_task *task)
{
	const char *name = task->stat.name;
	struct wmk_kdump_irq_thread *thread = &dump->irq_threads[dump->n_irq_threads];
	uint64_t irq;
	size_t used;

	if (!(task->stat.flags & WMK_KPROC_KTHREAD) || strncmp(name, "irq/", 4) != 0)
		return;
	used = wmk_kproc_number(name + 4, strlen(name + 4), 10, UINT32_MAX, &irq);
	if (!used || name[4 + used] != '-')
		return;
	if (dump->n_irq_threads == WMK_KDUMP_IRQ_THREADS) {
		dump->counts.left_out++;
		return;
	}
	*thread = (struct wmk_kdump_irq_thread){ .irq = (uint32_t)irq, .tid = task->tid };
	strcpy(thread->name, name + 4 + used + 1);
	dump->n_irq_threads++;
}

static int dump_state(struct wmk_kdump *dump, const struct wmk_kdump_task *task, int32_t table)
{
	wmk_kdump_put_i32(dump, task->tid);
	wmk_kdump_put_i32(dump, task->pid);
	wmk_kdump_put_i32(dump, task->stat.ppid);
	wmk_kdump_put(dump, task->stat.name, sizeof(task->stat.name));
	wmk_kdump_put_i32(dump, task->stat.flags & WMK_KPROC_KTHREAD ? KERNEL_THREAD : USER_THREAD);
	wmk_kdump_put_i32(dump, MODE_UNKNOWN);
	wmk_kdump_put_i32(dump, SUBMODE_NONE);
	wmk_kdump_put_i32(dump, status_of(task->stat.state));
	wmk_kdump_put_32(dump, task->stat.cpu);
	wmk_kdump_put_64(dump, (uint64_t)table);
	return wmk_kdump_emit(dump, WMK_KSTATEDUMP_PROCESS_STATE);
}

static int dump_task(struct wmk_kdump *dump, struct process *process, const struct wmk_kdump_task *task)
{
	bool has_table;
	const int32_t table = table_of(dump, process, task, &has_table);
	int err = 0;

	note_irq_thread(dump, task);
	dump->counts.threads++;
	if (wmk_kdump_wants(dump, WMK_KSTATEDUMP_PROCESSES))
		err = dump_state(dump, task, table);
	if (err == 0 && wmk_kdump_wants(dump, WMK_KSTATEDUMP_NAMESPACES))
		err = wmk_kdump_namespaces(dump, task);
	if (err == 0 && has_table && wmk_kdump_wants(dump, WMK_KSTATEDUMP_FILES))
		err = dump_files(dump, task, table);
	/*
	 * The maps come from the first thread that still has memory, because the main thread may have ended and
	 * released its memory.
	 */
	if (err == 0 && table && !process->has_maps && wmk_kdump_wants(dump, WMK_KSTATEDUMP_MAPS)) {
		process->has_maps = true;
		err = dump_maps(dump, task);
	}
	return err;
}

/* *n_threads, if not NULL: the number of threads that /proc reports for the process. */
static int dump_thread(struct wmk_kdump *dump, struct process *process, int32_t tid, uint32_t *n_threads)
{
	struct wmk_kdump_task task = { .tid = tid, .pid = process->pid };
	char path[32];
	int err;

	if (dump->counts.threads >= limit_of(dump->options->max_threads, THREADS_MAX)) {
		dump->counts.left_out++;
		return 0;
	}
	snprintf(path, sizeof(path), "task/%d", (int)tid);
	task.dir = wmk_kproc_open(process->dir, path, true);
	if (task.dir < 0)
		return wmk_kdump_missed(dump, task.dir);
	err = wmk_kproc_stat_read(task.dir, &task.stat);
	if (err == 0 && wmk_kdump_wants(dump, WMK_KSTATEDUMP_NAMESPACES))
		err = wmk_kproc_status_read(&dump->lines, task.dir, &task.status);
	/* Another thread has reused the thread number. */
	if (err == 0 && task.stat.tid != tid)
		err = -ESRCH;
	if (n_threads)
		*n_threads = err == 0 ? task.stat.n_threads : 0;
	err = err < 0 ? wmk_kdump_missed(dump, err) : dump_task(dump, process, &task);
	close(task.dir);
	return err;
}

static int dump_other_threads(struct wmk_kdump *dump, struct process *process)
{
	DIR *threads = wmk_kproc_opendir(process->dir, "task");
	int32_t tid;
	int err = 0;

	if (!threads)
		return wmk_kdump_missed(dump, -errno);
	while (err == 0 && wmk_kproc_next_number(threads, &tid) > 0)
		if (tid != process->pid)
			err = dump_thread(dump, process, tid, NULL);
	closedir(threads);
	return err;
}

static int dump_process(struct wmk_kdump *dump, int32_t pid)
{
	struct process process = { .pid = pid };
	uint32_t n_threads = 0;
	int err;

	process.dir = wmk_kproc_open_task(dump->proc, pid);
	if (process.dir < 0)
		return wmk_kdump_missed(dump, process.dir);
	dump->counts.processes++;
	err = dump_thread(dump, &process, pid, &n_threads);
	if (err == 0 && n_threads != 1)
		err = dump_other_threads(dump, &process);
	close(process.dir);
	return err;
}

int wmk_kdump_processes(struct wmk_kdump *dump)
{
	const struct wmk_kstatedump_options *options = dump->options;
	DIR *processes;
	int32_t pid;
	int err = 0;

	for (size_t i = 0; options->pids && err == 0 && i < options->n_pids; i++)
		err = dump_process(dump, options->pids[i]);
	if (options->pids)
		return err;
	processes = wmk_kproc_opendir(dump->proc, ".");
	if (!processes)
		return wmk_kdump_missed(dump, -errno);
	while (err == 0 && wmk_kproc_next_number(processes, &pid) > 0)
		err = dump_process(dump, pid);
	closedir(processes);
	return err;
}
