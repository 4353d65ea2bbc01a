/* SPDX-License-Identifier: MIT */
/*
 * catalog.h - the events of this kernel, and the patterns that select them.
 *
 *     "sched_switch"  "sched_*"       name in traces (as in lttng-modules, see event_names.h) or in the kernel
 *     "sched:sched_switch"  "block:*" with the kernel's subsystem
 *     "syscall:openat"  "syscall:*"   a system call: its entry and its exit
 *     "*"                             all events
 *
 * Patterns are those of fnmatch(3). A catalog contains the events that exist when it is opened. Modules can add and
 * remove events, so each command opens a new catalog. A catalog is constant; any thread may use it.
 */
#ifndef WMK_KERNEL_CATALOG_H
#define WMK_KERNEL_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/nearest.h"
#include "kernel/tracefs/tracefs.h"

struct wmk_kcatalog;

struct wmk_kentry {
	const char *system, *name;       /* the kernel's names: events/<system>/<name> */
	const char *trace;               /* the name in traces */
	const char *call;                /* name of a system call; NULL: another event */
	bool is_exit;
};

int wmk_kcatalog_open(const struct wmk_tracefs *tracefs, struct wmk_kcatalog **catalog);
void wmk_kcatalog_close(struct wmk_kcatalog *catalog);
size_t wmk_kcatalog_size(const struct wmk_kcatalog *catalog);
/* Returns event `i`; events are sorted by their names in traces. */
const struct wmk_kentry *wmk_kcatalog_at(const struct wmk_kcatalog *catalog, size_t i);
bool wmk_kentry_fits(const struct wmk_kentry *name, const char *pattern);
/* Returns the number of events that the pattern selects. */
size_t wmk_kcatalog_count(const struct wmk_kcatalog *catalog, const char *pattern);
/*
 * Checks that the pattern selects an event. -ENOENT with a cause: the nearest names, or the feature that the kernel
 * lacks (no system calls: CONFIG_FTRACE_SYSCALLS).
 */
int wmk_kcatalog_check(const struct wmk_kcatalog *catalog, const char *pattern);

#endif
