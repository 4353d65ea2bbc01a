/* SPDX-License-Identifier: MIT */
/*
 * tracefs.h - the file system of the kernel's tracers: find it, read and write its small files, create and remove
 * instances, and explain what is missing.
 *
 *     wmk_tracefs_open(NULL, &tracefs)            /sys/kernel/tracing, or its mount point, or mounts it there
 *     wmk_tracefs_read(tracefs->dir, "trace_clock", &text, &len)
 *     wmk_tracefs_write(instance, "set_event", "sched:sched_switch", true)
 *     wmk_tracefs_instance_make(tracefs, name, &instance)     instances/<name> with its own ring buffer: its descriptor
 *     wmk_tracefs_instance_remove(tracefs, name)
 *
 * Every file is opened relative to a descriptor (openat, with O_NOFOLLOW for the last component). Errors are -errno
 * with a cause chain. The first sentence of the cause chain contains the remedy. Examples of causes: no root, not
 * mounted, hidden by a container, read-only, locked down, a kernel option that is off. Any thread may call the
 * functions, because the descriptors are the only state.
 */
#ifndef WMK_KERNEL_TRACEFS_H
#define WMK_KERNEL_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WMK_TRACEFS_FILE_MAX (16u << 20)   /* limit of bytes in a file that is read whole */

struct wmk_tracefs {
	int dir;                     /* O_PATH descriptor of its root */
	char path[256];
};

/*
 * `path`: mount point of tracefs; NULL: search, WAYMARK_TRACEFS first. The caller owns *tracefs: wmk_tracefs_close().
 */
int wmk_tracefs_open(const char *path, struct wmk_tracefs **tracefs);
void wmk_tracefs_close(struct wmk_tracefs *tracefs);
/* Return whether tracefs is mounted anywhere, usable or not. */
bool wmk_tracefs_is_mounted(void);

/* Read a whole file into *text, malloc'd, with a NUL after *len bytes. -EFBIG above WMK_TRACEFS_FILE_MAX. */
int wmk_tracefs_read(int dir, const char *file, char **text, size_t *len);
/*
 * Write `text` in one system call. append: keep the existing content (set_event, set_event_pid, dynamic_events);
 * otherwise replace it.
 */
int wmk_tracefs_write(int dir, const char *file, const char *text, bool append);
/* Read or write a file that holds one number. */
int wmk_tracefs_read_number(int dir, const char *file, uint64_t *number);
int wmk_tracefs_write_number(int dir, const char *file, uint64_t number);
bool wmk_tracefs_has(int dir, const char *file);
/* Copy the kernel's latest message about an invalid input (error_log); "" if the kernel has no message. */
void wmk_tracefs_last_error(int dir, char *words, size_t size);

/* Create or open instances/<name>. -EEXIST; -ENOMEM. The caller closes *instance. */
int wmk_tracefs_instance_make(const struct wmk_tracefs *tracefs, const char *name, int *instance);
int wmk_tracefs_instance_open(const struct wmk_tracefs *tracefs, const char *name, int *instance);
/* -EBUSY: a process has a file of the instance open. Returns 0 if the instance does not exist. */
int wmk_tracefs_instance_remove(const struct wmk_tracefs *tracefs, const char *name);
/*
 * Call `one` for each directory in `file` below `dir` ("instances", "events"), sorted by name. The first value other
 * than 0 ends the loop and is returned.
 */
int wmk_tracefs_each(int dir, const char *file, int (*one)(void *data, const char *name), void *data);

#endif
