/* SPDX-License-Identifier: MIT */
/* directory_removal.h - remove directories with traces. Errors are -errno with a cause chain. Any thread. */
#ifndef WMK_STORE_DIRECTORY_REMOVAL_H
#define WMK_STORE_DIRECTORY_REMOVAL_H

/*
 * Remove all files below a directory. The metadata of a trace is removed first, so that no reader takes the remaining
 * files for a trace.
 */
int wmk_directory_empty(int dir);
/* Remove a directory with all files below it. Symbolic links are not followed. */
int wmk_directory_remove(int parent, const char *name);

#endif
