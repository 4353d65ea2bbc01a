/* SPDX-License-Identifier: MIT */
/*
 * path.h - opens the directories of a path one by one. Internal to src/store.
 *
 * A directory that Waymark creates is never a link. An existing directory in the path of a trace may be a link, as home
 * directories often are. A link in the path must belong to root or to the user that owns the new files. Any other owner
 * could redirect the path. Links are resolved component by component as well, so the rule also applies to their
 * targets.
 */
#ifndef WMK_STORE_PATH_H
#define WMK_STORE_PATH_H

/* MAKE: create missing directories. FOLLOW: directories before the last one may be links. */
#define WMK_PATH_MAKE 1u
#define WMK_PATH_FOLLOW 2u

/* Open the root or the working directory, where the path begins. Returns a descriptor or -errno. */
int wmk_path_start(const char *path);
/*
 * Open the directory `name` below `at`. Returns a descriptor (O_PATH) or -errno. -ENOTDIR: not a directory, or a link;
 * -EMLINK: a link of an untrusted owner.
 */
int wmk_path_enter(int at, const char *name, unsigned how);
/*
 * Open `path` relative to the directory `at`, and close `at`. The last component must not be a link. Returns as
 * wmk_path_enter().
 */
int wmk_path_walk(int at, const char *path, unsigned how);
/*
 * Open the directory `path` for reading. The directory must not be a link; directories before it in the path may be
 * links. Returns a descriptor, or an error as wmk_path_enter() does.
 */
int wmk_path_open(const char *path);

#endif
