/* SPDX-License-Identifier: MIT */
/*
 * catalog.h - which events this kernel has, and which of them a user's pattern means.
 *
 *     "sched_switch"  "sched_*"       by the name in traces (lttng-modules', see event_names.h), or the kernel's own
 *     "sched:sched_switch"  "block:*" by the kernel's subsystem too
 *     "syscall:openat"  "syscall:*"   a system call: its entry and its exit
 *     "*"                             everything
 *
 * Globs are those of fnmatch(3). A catalog is what the kernel said when it was opened: modules come and go, so it is
 * opened anew for each command. Constant: any thread.
 */
#ifndef WMK_KERNEL_CATALOG_H
#define WMK_KERNEL_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/nearest.h"
#include "kernel/tracefs/tracefs.h"

struct wmk_kcatalog;

struct wmk_kentry {
	const char *system, *name;       /* as the kernel calls it: events/<system>/<name> */
	const char *trace;               /* as traces do */
	const char *call;                /* of a system call: its name, else NULL */
	bool is_exit;
};

int wmk_kcatalog_open(const struct wmk_tracefs *tracefs, struct wmk_kcatalog **catalog);
void wmk_kcatalog_close(struct wmk_kcatalog *catalog);
size_t wmk_kcatalog_size(const struct wmk_kcatalog *catalog);
/* In the order of their names in traces. */
const struct wmk_kentry *wmk_kcatalog_at(const struct wmk_kcatalog *catalog, size_t i);
bool wmk_kentry_fits(const struct wmk_kentry *name, const char *pattern);
/* How many events it means. */
size_t wmk_kcatalog_count(const struct wmk_kcatalog *catalog, const char *pattern);
/*
 * Does the pattern mean an event? Else -ENOENT, in words: the nearest names; or what the kernel lacks (no system calls:
 * CONFIG_FTRACE_SYSCALLS).
 */
int wmk_kcatalog_check(const struct wmk_kcatalog *catalog, const char *pattern);

#endif
