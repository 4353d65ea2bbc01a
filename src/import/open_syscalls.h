/* SPDX-License-Identifier: MIT */
/*
 * open_syscalls.h - calls of which the begin was read and the end was not, by thread. Internal to src/import.
 *
 * Their records wait in the window, at the time of their begin. One that the window lets go before its end comes stays
 * a record of a begin. So there are no more of them than of records there.
 */
#ifndef WMK_IMPORT_OPEN_SYSCALLS_H
#define WMK_IMPORT_OPEN_SYSCALLS_H

#include "import/window.h"

#define WMK_IMPORT_OPEN_HEADS 4096u

struct wmk_import_open_syscall {
	struct wmk_import_open_syscall *next;
	int64_t thread;                  /* -1: the log tells none */
	struct wmk_import_record *record;
	size_t args_at;                  /* in its payload: up to a NUL */
	char name[64];                   /* of the call, cut */
};

struct wmk_import_open_syscalls {
	struct wmk_import_open_syscall *heads[WMK_IMPORT_OPEN_HEADS];
	unsigned n;
};

/* The thread of a line. */
int64_t wmk_import_open_thread(const struct wmk_import_line *line);
/* One more: of the record, which knows it then. -ENOMEM. */
int wmk_import_open_add(struct wmk_import_open_syscalls *opens, const struct wmk_import_line *line,
			struct wmk_import_record *record, size_t args_at);
/* The call that a thread is in; NULL: none. */
struct wmk_import_open_syscall *wmk_import_open_find(const struct wmk_import_open_syscalls *opens, int64_t thread);
/*
 * The call that a line resumes; NULL: none. strace names threads while there are several: a call may have begun before,
 * in the only thread there was then, or be the only one that has not ended.
 */
struct wmk_import_open_syscall *wmk_import_open_resumed(const struct wmk_import_open_syscalls *opens,
						const struct wmk_import_line *line);
/* Its record does not wait any more. */
void wmk_import_open_remove(struct wmk_import_open_syscalls *opens, struct wmk_import_open_syscall *open);

#endif
