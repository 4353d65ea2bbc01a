/* SPDX-License-Identifier: MIT */
/*
 * path.h - the way to a trace, a component at a time. Internal to src/store.
 *
 * What we make is never reached through a link. Directories that lead to a trace and were there may be links, as a home
 * directory often is one; but only root's, or those of the user with whose rights files are made: whoever owns another
 * directory on the way could lead us anywhere by one. Links are resolved here, component by component as well, so that
 * this holds for those that links lead to.
 */
#ifndef WMK_STORE_PATH_H
#define WMK_STORE_PATH_H

/* Directories that are missing are made; those on the way may be links. */
#define WMK_PATH_MAKE 1u
#define WMK_PATH_FOLLOW 2u

/* The root or the working directory, where the path begins: a descriptor, or -errno. */
int wmk_path_start(const char *path);
/*
 * The directory `name` beneath `at`. A descriptor (O_PATH), or -errno; -ENOTDIR: also where it is a link, -EMLINK: a
 * link that is not followed.
 */
int wmk_path_enter(int at, const char *name, unsigned how);
/* Walk `path` from `at` (consumed); the last component is never a link. As wmk_path_enter(). */
int wmk_path_walk(int at, const char *path, unsigned how);
/* The directory `path`, to be listed; it is no link, those on the way may be. A descriptor, or as wmk_path_enter(). */
int wmk_path_open(const char *path);

#endif
