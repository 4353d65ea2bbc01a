/* SPDX-License-Identifier: MIT */
/* directory_removal.h - remove directories with traces. Errors are -errno with a cause chain. Any thread. */
#ifndef WMK_STORE_DIRECTORY_REMOVAL_H
#define WMK_STORE_DIRECTORY_REMOVAL_H

/*
 * Remove all files and directories within a directory. The metadata of a trace is removed first, so that no reader
 * reads the remaining files as a trace.
 */
int wmk_directory_empty(int dir);
/* Remove a directory and all files within it. Symbolic links are not followed. */
int wmk_directory_remove(int parent, const char *name);

#endif
