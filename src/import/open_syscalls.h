/* SPDX-License-Identifier: MIT */
/*
 * open_syscalls.h - system calls that have begun but not returned yet, by thread. Internal to src/import.
 *
 * The record of an open system call is in the window, with the time at which the call began. If the record leaves the
 * window before the import has read the end of the call, the record contains only the start of the call. So the number
 * of open system calls never exceeds the number of records in the window.
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

/* Return the thread of a line, or -1 if the line contains no thread. */
int64_t wmk_import_open_thread(const struct wmk_import_line *line);
/* Add the open system call of a record; the record then refers to the call. -ENOMEM. */
int wmk_import_open_add(struct wmk_import_open_syscalls *opens, const struct wmk_import_line *line,
			struct wmk_import_record *record, size_t args_at);
/* Return the open system call of a thread, or NULL if the thread has no open system call. */
struct wmk_import_open_syscall *wmk_import_open_find(const struct wmk_import_open_syscalls *opens, int64_t thread);
/*
 * Return the open system call that a line resumes, or NULL if the line resumes no call. strace prints thread numbers
 * only while it traces several threads. So a line with the start of a system call may lack a thread number. A line
 * without a thread number resumes the only open system call.
 */
struct wmk_import_open_syscall *wmk_import_open_resumed(const struct wmk_import_open_syscalls *opens,
						const struct wmk_import_line *line);
/* Remove and free an open system call. The record of a removed system call no longer waits for the end of the call. */
void wmk_import_open_remove(struct wmk_import_open_syscalls *opens, struct wmk_import_open_syscall *open);

#endif
