/* SPDX-License-Identifier: MIT */
/*
 * procfs.h - reads and parses text files of /proc in bounded memory. Internal to src/kernel: the state dump and the
 * task table use these functions.
 *
 * No content is trusted. A test tree is forged, and a process chooses its own name ("a) S 1", newlines). A list of
 * 65536 groups makes a very long line. Functions that read return plain -errno without a cause chain, because a process
 * that has exited is not an error. Parsers are pure.
 */
#ifndef WMK_KERNEL_PROCFS_H
#define WMK_KERNEL_PROCFS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WMK_KPROC_LINE 8192u       /* bytes of a line that are parsed; the rest is skipped */
#define WMK_KPROC_FILE (256u << 20) /* bytes of a file that are read by lines */
#define WMK_KPROC_STAT 2048u       /* buffer for a stat file; 52 numbers and a name need less */
#define WMK_KPROC_LEVELS 33u       /* nested PID namespaces: the initial one and 32 more, the kernel's limit */
#define WMK_KPROC_NAME 16u         /* bytes of a task's name with its NUL */

/* ── reading ─────────────────────────────────────────────────────────────────────────────────────────── */

/* Opens a directory, or a file without blocking (a forged tree can contain a FIFO). */
int wmk_kproc_open(int dir, const char *path, bool is_dir);
/* Opens the directory of a task. `proc`: the tree's directory, or AT_FDCWD for /proc. */
int wmk_kproc_open_task(int proc, int32_t tid);
/* Reads at most the first `size` - 1 bytes of a file and appends a NUL. Returns the number of bytes without the NUL. */
long wmk_kproc_read(int dir, const char *file, char *buf, size_t size);
/* Reads a file that contains one decimal number. */
int wmk_kproc_read_number(int dir, const char *file, uint64_t *number);
/*
 * Finds the next directory entry with a number as name (a task, a descriptor). 1: *number has it; 0: no more entries.
 */
int wmk_kproc_next_number(DIR *dir, int32_t *number);
/* openat() and fdopendir(). Returns NULL with errno. */
DIR *wmk_kproc_opendir(int dir, const char *path);
/*
 * Returns true if the error means that the object has disappeared or is hidden; false if this process lacks resources.
 */
bool wmk_kproc_is_gone(int err);

struct wmk_kproc_lines {
	int fd;
	size_t begin, end;
	size_t left;               /* remaining bytes of WMK_KPROC_FILE */
	bool at_end;
	char buf[WMK_KPROC_LINE];
};

int wmk_kproc_lines_open(struct wmk_kproc_lines *lines, int dir, const char *file);
/*
 * 1: *line has the next line without its newline, cut to WMK_KPROC_LINE, valid until the next call. 0: no more lines.
 */
int wmk_kproc_lines_next(struct wmk_kproc_lines *lines, const char **line, size_t *len);
void wmk_kproc_lines_close(struct wmk_kproc_lines *lines);

/* ── stat ────────────────────────────────────────────────────────────────────────────────────────────── */

#define WMK_KPROC_KTHREAD 0x00200000u    /* flag PF_KTHREAD: a kernel thread */
#define WMK_KPROC_WORKER 0x00000020u     /* flag PF_WQ_WORKER: a worker of a work queue */

struct wmk_kproc_stat {
	int32_t tid, ppid;
	int32_t prio;              /* -100 ... 39, as the kernel's task_prio() */
	uint32_t flags, n_threads, cpu;
	uint64_t start;            /* start time in ticks since boot */
	char state; /* 'R', 'S', ... */
	/* as in the kernel: 15 bytes, without the suffix that /proc adds to a worker's name; padded with zeros */
	char name[WMK_KPROC_NAME];
};

/* -EPROTO: the text has another format. */
int wmk_kproc_stat_parse(const char *text, size_t len, struct wmk_kproc_stat *stat);
int wmk_kproc_stat_read(int task, struct wmk_kproc_stat *stat);
/* Reads the stat file of a task in /proc. -ENOENT: the task does not exist. */
int wmk_kproc_stat_of(int32_t tid, struct wmk_kproc_stat *stat);

/* ── status ──────────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_kproc_status {
	int32_t tgid;                                       /* 0: the file has no such line */
	uint32_t uid, gid;                                  /* real ids, as seen in the reader's user namespace */
	/*
	 * numbers of the task in nested namespaces: the number in the reader's namespace first, the number in the
	 * task's own namespace last
	 */
	uint32_t n_tids, n_tgids;
	int32_t tids[WMK_KPROC_LEVELS], tgids[WMK_KPROC_LEVELS];
};

/* Adds the values of one line. */
void wmk_kproc_status_line(const char *line, size_t len, struct wmk_kproc_status *status);
int wmk_kproc_status_read(struct wmk_kproc_lines *lines, int task, struct wmk_kproc_status *status);
/* Reads the status file of a task in /proc. -ENOENT: the task does not exist. */
int wmk_kproc_status_of(struct wmk_kproc_lines *lines, int32_t tid, struct wmk_kproc_status *status);

/* ── namespaces ──────────────────────────────────────────────────────────────────────────────────────── */

enum wmk_kns {
	WMK_KNS_PID,
	WMK_KNS_USER,
	WMK_KNS_CGROUP,
	WMK_KNS_IPC,
	WMK_KNS_MNT,
	WMK_KNS_NET,
	WMK_KNS_TIME,
	WMK_KNS_UTS,
	WMK_KNS_KINDS
};

extern const char *const wmk_kns_names[WMK_KNS_KINDS];
/* Parses "pid:[4026531836]". -EPROTO: another format. */
int wmk_kns_parse(enum wmk_kns kind, const char *text, size_t len, uint32_t *inum);
/* Reads the inode number of a namespace of the task. */
int wmk_kns_read(int task, enum wmk_kns kind, uint32_t *inum);

/*
 * Parses one line of uid_map or gid_map. If the line's range contains `outside`, fills *inside with the id inside of
 * the user namespace and returns true.
 */
bool wmk_kproc_id_inside(const char *line, size_t len, uint32_t outside, uint32_t *inside);

/* ── files and memory ────────────────────────────────────────────────────────────────────────────────── */

struct wmk_kproc_map {
	uint64_t start, end, offset, inode;
	bool can_read, can_write, can_execute, is_shared;
};

/* Parses one line of maps. -EPROTO: another format. */
int wmk_kproc_map_parse(const char *line, size_t len, struct wmk_kproc_map *map);
/* Parses the line "flags:" of fdinfo. Returns false for other lines. */
bool wmk_kproc_fdinfo_flags(const char *line, size_t len, uint32_t *flags);

/* ── lines of names and values ───────────────────────────────────────────────────────────────────────── */

/*
 * Parses "name  : value", as in cpuinfo. Returns false for another name. *value: the value without surrounding blanks.
 */
bool wmk_kproc_value(const char *line, size_t len, const char *name, const char **value, size_t *value_len);
/*
 * Parses a number of the given base at the beginning of the text. Returns the length of the number in bytes; 0: no
 * number, or a number above `max`.
 */
size_t wmk_kproc_number(const char *text, size_t len, unsigned base, uint64_t max, uint64_t *number);

#endif
