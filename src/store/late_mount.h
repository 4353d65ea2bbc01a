/* SPDX-License-Identifier: MIT */
/*
 * late_mount.h - early in the boot, the file system of a trace is not mounted yet: wait for it.
 *
 * /etc/fstab lists the file systems that the machine mounts. Entries with `noauto` are ignored. A path waits for the
 * innermost entry that contains it, until that file system is mounted. If the entry has no `ro`, the path also waits
 * until the file system is writable.
 */
#ifndef WMK_STORE_LATE_MOUNT_H
#define WMK_STORE_LATE_MOUNT_H

#include <limits.h>
#include <stdbool.h>

/* Whether the path is on a file system that has yet to be mounted. `place` is set to its mount point. Any thread. */
bool wmk_store_mount_is_due(const char *path, char place[PATH_MAX]);
/* Return when wmk_store_mount_is_due() is false. */
void wmk_store_mount_await(const char *path);

#endif
