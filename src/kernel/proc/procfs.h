/* SPDX-License-Identifier: MIT */
/*
 * procfs.h - texts of /proc: read in bounded memory, and understood. Internal to src/kernel: the state dump and the
 * table of tasks are made of it.
 *
 * Nothing is trusted: the tree may be made up, a process may call itself what it likes ("a) S 1", newlines), a line may
 * be as long as a list of 65536 groups is. Reading gives plain -errno without a chain: that a process is gone is no
 * error to anybody. Parsers are pure.
 */
#ifndef WMK_KERNEL_PROCFS_H
#define WMK_KERNEL_PROCFS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WMK_KPROC_LINE 8192u       /* bytes of a line that are looked at, at most; the rest is skipped */
#define WMK_KPROC_FILE (256u << 20) /* bytes of a file that are gone through by lines */
#define WMK_KPROC_STAT 2048u       /* bytes of a stat file; 52 numbers and a name take less */
#define WMK_KPROC_LEVELS 33u       /* of namespaces: the kernel nests 32 in the first */
#define WMK_KPROC_NAME 16u         /* of a task, with its NUL */

/* ── reading ─────────────────────────────────────────────────────────────────────────────────────────── */

/* A directory; or a file, which is never waited for (a FIFO in a made-up tree). */
int wmk_kproc_open(int dir, const char *path, bool is_dir);
/* The directory of a task. `proc`: that of the tree, or AT_FDCWD for /proc. */
int wmk_kproc_open_task(int proc, int32_t tid);
/* The first `size` - 1 bytes of a file, and a NUL. Returns how many. */
long wmk_kproc_read(int dir, const char *file, char *buf, size_t size);
/* One decimal number that stands alone in a file. */
int wmk_kproc_read_number(int dir, const char *file, uint64_t *number);
/* Numbers that are names in a directory, those of tasks and files. 1: *number; 0: no more. */
int wmk_kproc_next_number(DIR *dir, int32_t *number);
/* openat() and fdopendir(): NULL with errno. */
DIR *wmk_kproc_opendir(int dir, const char *path);
/* Is this an errno of something that went away, or cannot be seen, while one looks; not of our own means. */
bool wmk_kproc_is_gone(int err);

struct wmk_kproc_lines {
	int fd;
	size_t begin, end;
	size_t left;               /* of WMK_KPROC_FILE */
	bool at_end;
	char buf[WMK_KPROC_LINE];
};

int wmk_kproc_lines_open(struct wmk_kproc_lines *lines, int dir, const char *file);
/* 1: a line, without its newline, cut to WMK_KPROC_LINE; valid until the next call. 0: no more. */
int wmk_kproc_lines_next(struct wmk_kproc_lines *lines, const char **line, size_t *len);
void wmk_kproc_lines_close(struct wmk_kproc_lines *lines);

/* ── stat ────────────────────────────────────────────────────────────────────────────────────────────── */

#define WMK_KPROC_KTHREAD 0x00200000u    /* flags: a thread of the kernel; ... */
#define WMK_KPROC_WORKER 0x00000020u     /* ... that works for whoever has work */

struct wmk_kproc_stat {
	int32_t tid, ppid;
	int32_t prio;              /* -100 ... 39, as the kernel's task_prio() */
	uint32_t flags, n_threads, cpu;
	uint64_t start;            /* when it began, in ticks since the machine did */
	char state; /* 'R', 'S', ... */
	/* as in the kernel: 15 bytes, without what /proc adds to a worker's; zeros behind it */
	char name[WMK_KPROC_NAME];
};

/* -EPROTO: it is none. */
int wmk_kproc_stat_parse(const char *text, size_t len, struct wmk_kproc_stat *stat);
int wmk_kproc_stat_read(int task, struct wmk_kproc_stat *stat);
/* Of a task in /proc. -ENOENT: it does not exist. */
int wmk_kproc_stat_of(int32_t tid, struct wmk_kproc_stat *stat);

/* ── status ──────────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_kproc_status {
	int32_t tgid;                                       /* 0: not said */
	uint32_t uid, gid;                                  /* real ones, as the reader's user namespace has them */
	/* numbers in namespaces, the reader's first, the task's own last */
	uint32_t n_tids, n_tgids;
	int32_t tids[WMK_KPROC_LEVELS], tgids[WMK_KPROC_LEVELS];
};

/* What one line says is added. */
void wmk_kproc_status_line(const char *line, size_t len, struct wmk_kproc_status *status);
int wmk_kproc_status_read(struct wmk_kproc_lines *lines, int task, struct wmk_kproc_status *status);
/* Of a task in /proc. -ENOENT: it does not exist. */
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
/* "pid:[4026531836]". -EPROTO. */
int wmk_kns_parse(enum wmk_kns kind, const char *text, size_t len, uint32_t *inum);
/* The namespace of a task. */
int wmk_kns_read(int task, enum wmk_kns kind, uint32_t *inum);

/* One line of uid_map or gid_map: if `outside` is of its range, what it is inside. */
bool wmk_kproc_id_inside(const char *line, size_t len, uint32_t outside, uint32_t *inside);

/* ── files and memory ────────────────────────────────────────────────────────────────────────────────── */

struct wmk_kproc_map {
	uint64_t start, end, offset, inode;
	bool can_read, can_write, can_execute, is_shared;
};

/* One line of maps. -EPROTO. */
int wmk_kproc_map_parse(const char *line, size_t len, struct wmk_kproc_map *map);
/* One line of fdinfo, if it is that of the flags. */
bool wmk_kproc_fdinfo_flags(const char *line, size_t len, uint32_t *flags);

/* ── lines of names and values ───────────────────────────────────────────────────────────────────────── */

/* "name  : value", as in cpuinfo: is it of that name; where its value begins, without blanks around it. */
bool wmk_kproc_value(const char *line, size_t len, const char *name, const char **value, size_t *value_len);
/*
 * A number of the given base at the beginning of the text: how many bytes it takes, 0: there is none, or it is above
 * `max`.
 */
size_t wmk_kproc_number(const char *text, size_t len, unsigned base, uint64_t max, uint64_t *number);

#endif
