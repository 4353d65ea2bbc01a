/* SPDX-License-Identifier: MIT */
/*
 * late_mount.h - early in the boot, the file system of a trace is not mounted yet: wait for it.
 *
 * /etc/fstab names the file systems that the machine mounts. A path waits if the file system that contains it is listed
 * there without `noauto`, and is not mounted, or is mounted read-only although it is listed without `ro`.
 */
#ifndef WMK_STORE_LATE_MOUNT_H
#define WMK_STORE_LATE_MOUNT_H

#include <limits.h>
#include <stdbool.h>

/* Whether the path is on a file system that has yet to be mounted, which is stored in `place`. Any thread. */
bool wmk_store_mount_is_due(const char *path, char place[PATH_MAX]);
/* Return when wmk_store_mount_is_due() is false. */
void wmk_store_mount_await(const char *path);

#endif
