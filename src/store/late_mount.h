/* SPDX-License-Identifier: MIT */
/*
 * late_mount.h - early in the boot, the file system of a trace is not mounted yet: wait for it.
 *
 * /etc/fstab lists the file systems that the machine mounts. Entries with `noauto` are ignored. wmk_store_mount_await()
 * finds the innermost entry that contains the path, and waits until the file system of that entry is mounted. If the
 * entry has no `ro`, the function also waits until the file system is writable.
 */
#ifndef WMK_STORE_LATE_MOUNT_H
#define WMK_STORE_LATE_MOUNT_H

#include <limits.h>
#include <stdbool.h>

/*
 * Whether the file system of the path has yet to be mounted. `place` is set to the mount point of that file system. Any
 * thread.
 */
bool wmk_store_mount_is_due(const char *path, char place[PATH_MAX]);
/* Return when wmk_store_mount_is_due() is false. */
void wmk_store_mount_await(const char *path);

#endif
