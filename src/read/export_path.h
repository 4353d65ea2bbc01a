/* SPDX-License-Identifier: MIT */
/*
 * export_path.h - choose directories for exported traces below the output directory. Internal to src/read.
 */
#ifndef WMK_READ_EXPORT_PATH_H
#define WMK_READ_EXPORT_PATH_H

#include <stdbool.h>

/*
 * Whether the paths are equal, or one is an ancestor of the other. Readers do not search for traces below a trace.
 */
bool wmk_read_paths_meet(const char *a, const char *b);
/*
 * Choose a path for the exported trace: `below`, the path of the trace that is read, with '.' and '..' replaced. If
 * `is_free(data, path)` rejects the path, the result has one component: the path with '_' for '/', and the next number.
 * The caller frees the result; NULL: no memory.
 */
char *wmk_read_export_path(const char *below, bool (*is_free)(const void *data, const char *path), const void *data,
			   unsigned *number);

#endif
