/* SPDX-License-Identifier: MIT */
/*
 * open_syscalls.h - system calls that have begun but not returned yet, by thread. Internal to src/import.
 *
 * The record of an open call is in the window, at the time of the begin. If the record leaves the window before the end
 * of its call is read, the record describes only the begin. So the number of open calls never exceeds the number of
 * records in the window.
 */
#ifndef WMK_IMPORT_OPEN_SYSCALLS_H
#define WMK_IMPORT_OPEN_SYSCALLS_H

#include "import/window.h"

#define WMK_IMPORT_OPEN_HEADS 4096u

struct wmk_import_open_syscall {
	struct wmk_import_open_syscall *next;
	int64_t thread;                  /* -1: not in the log */
	struct wmk_import_record *record;
	size_t args_at;                  /* offset in the record's payload; ends with a NUL */
	char name[64];                   /* name of the system call, cut to this size */
};

struct wmk_import_open_syscalls {
	struct wmk_import_open_syscall *heads[WMK_IMPORT_OPEN_HEADS];
	unsigned n;
};

/* The thread of a line; -1 if the line has none. */
int64_t wmk_import_open_thread(const struct wmk_import_line *line);
/* Add the open call of a record; the record refers to it. -ENOMEM. */
int wmk_import_open_add(struct wmk_import_open_syscalls *opens, const struct wmk_import_line *line,
			struct wmk_import_record *record, size_t args_at);
/* The open system call of a thread; NULL: none. */
struct wmk_import_open_syscall *wmk_import_open_find(const struct wmk_import_open_syscalls *opens, int64_t thread);
/*
 * The open call that a line resumes; NULL: none. strace prints thread numbers only while it traces several threads. So
 * the line with the begin of a call may lack a thread number. If the line lacks a thread number, the line resumes the
 * only open call.
 */
struct wmk_import_open_syscall *wmk_import_open_resumed(const struct wmk_import_open_syscalls *opens,
						const struct wmk_import_line *line);
/* Remove and free an open call. The record of a removed call no longer waits for the end of the call. */
void wmk_import_open_remove(struct wmk_import_open_syscalls *opens, struct wmk_import_open_syscall *open);

#endif
