/* SPDX-License-Identifier: MIT */
/*
 * tracefs.h - where the kernel's tracers are reached: finding the file system, small files of it read and written,
 * instances made and removed; and words for what is missing.
 *
 *     wmk_tracefs_open(NULL, &tracefs)            /sys/kernel/tracing, or where it is mounted, or mounted there by us
 *     wmk_tracefs_read(tracefs->dir, "trace_clock", &text, &len)
 *     wmk_tracefs_write(instance, "set_event", "sched:sched_switch", true)
 *     wmk_tracefs_instance_make(tracefs, name, &instance)     instances/<name>, a ring buffer of its own; its directory's descriptor
 *     wmk_tracefs_instance_remove(tracefs, name)
 *
 * Everything is opened beneath descriptors (openat, O_NOFOLLOW for the last part). -errno with a cause chain whose
 * first sentence says what to do: no root, not mounted, hidden by a container, read-only, locked down, an option of the
 * kernel that is off. Any thread; nothing is kept but descriptors.
 */
#ifndef WMK_KERNEL_TRACEFS_H
#define WMK_KERNEL_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WMK_TRACEFS_FILE_MAX (16u << 20)   /* bytes of one file that is read whole */

struct wmk_tracefs {
	int dir;                     /* O_PATH descriptor of its root */
	char path[256];
};

/* `path`: where it must be; NULL: found, WAYMARK_TRACEFS first. *tracefs is the caller's: wmk_tracefs_close(). */
int wmk_tracefs_open(const char *path, struct wmk_tracefs **tracefs);
void wmk_tracefs_close(struct wmk_tracefs *tracefs);
/* Somewhere; whether it can be used or not. */
bool wmk_tracefs_is_mounted(void);

/* The whole file, malloc'd, NUL-terminated behind *len bytes. -EFBIG above WMK_TRACEFS_FILE_MAX. */
int wmk_tracefs_read(int dir, const char *file, char **text, size_t *len);
/*
 * Write `text` in one call; append: behind what is there (set_event, set_event_pid, dynamic_events), else in its place.
 */
int wmk_tracefs_write(int dir, const char *file, const char *text, bool append);
/* One file that holds one number. */
int wmk_tracefs_read_number(int dir, const char *file, uint64_t *number);
int wmk_tracefs_write_number(int dir, const char *file, uint64_t number);
bool wmk_tracefs_has(int dir, const char *file);
/*
 * The kernel's words about the latest mistake in what was written, with the place marked (error_log); "" if there are
 * none.
 */
void wmk_tracefs_last_error(int dir, char *words, size_t size);

/* instances/<name>: -EEXIST; -ENOMEM. *instance: its descriptor, the caller's to close(). */
int wmk_tracefs_instance_make(const struct wmk_tracefs *tracefs, const char *name, int *instance);
int wmk_tracefs_instance_open(const struct wmk_tracefs *tracefs, const char *name, int *instance);
/* -EBUSY: somebody has one of its files open. -ENOENT is no error: it is gone. */
int wmk_tracefs_instance_remove(const struct wmk_tracefs *tracefs, const char *name);
/*
 * Names of directories in `file` beneath `dir` ("instances", "events"), in order. Stops at the first value other than
 * 0, and returns it.
 */
int wmk_tracefs_each(int dir, const char *file, int (*one)(void *data, const char *name), void *data);

#endif
