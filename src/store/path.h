/* SPDX-License-Identifier: MIT */
/*
 * path.h - opens the directories of a path one by one. Internal to src/store.
 *
 * A directory that Waymark creates is never a symbolic link. An existing directory in the path of a trace may be a
 * symbolic link, because home directories often are links. A symbolic link in the path must belong to root, or to the
 * user that will own the new files. Any other owner of the link could redirect the path. The targets of links are also
 * resolved component by component, so the rule for owners also applies to links in the targets.
 */
#ifndef WMK_STORE_PATH_H
#define WMK_STORE_PATH_H

/* MAKE: create missing directories. FOLLOW: all directories before the last component may be symbolic links. */
#define WMK_PATH_MAKE 1u
#define WMK_PATH_FOLLOW 2u

/*
 * Open the directory where the path begins: the root directory or the working directory. Returns a descriptor or
 * -errno.
 */
int wmk_path_start(const char *path);
/*
 * Open the directory `name` in the directory `at`. Returns a descriptor (O_PATH) or -errno. -ENOTDIR: not a directory,
 * or a link; -EMLINK: a link of an untrusted owner.
 */
int wmk_path_enter(int at, const char *name, unsigned how);
/*
 * Open `path` relative to the directory `at`, and close `at`. The last component of the path must not be a symbolic
 * link. Returns as wmk_path_enter().
 */
int wmk_path_walk(int at, const char *path, unsigned how);
/*
 * Open the directory `path` for reading. The directory itself must not be a symbolic link, but directories before it in
 * the path may be links. Returns a descriptor, or the same errors as wmk_path_enter().
 */
int wmk_path_open(const char *path);

#endif
