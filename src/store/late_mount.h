/* SPDX-License-Identifier: MIT */
/*
 * late_mount.h - early in the boot, the file system of a trace is not mounted yet: wait for it.
 *
 * /etc/fstab lists the file systems that the machine mounts. Entries with `noauto` are ignored. wmk_store_mount_await()
 * finds the innermost entry that contains the path, and waits until the file system of that entry is mounted. If the
 * entry does not have the option `ro`, the function also waits until the file system is writable.
 */
#ifndef WMK_STORE_LATE_MOUNT_H
#define WMK_STORE_LATE_MOUNT_H

#include <limits.h>
#include <stdbool.h>

/*
 * Return true if the file system of the path is configured, but not mounted yet. `place` receives the mount point of
 * this file system. Any thread.
 */
bool wmk_store_mount_is_due(const char *path, char place[PATH_MAX]);
/* Return when wmk_store_mount_is_due() is false. */
void wmk_store_mount_await(const char *path);

#endif
