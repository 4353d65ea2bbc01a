/* SPDX-License-Identifier: MIT */
/*
 * export_path.h - choose directories for exported traces below the output directory. Internal to src/read.
 */
#ifndef WMK_READ_EXPORT_PATH_H
#define WMK_READ_EXPORT_PATH_H

#include <stdbool.h>

/*
 * Return whether the paths are equal, or one path is an ancestor of the other path. Readers do not search for further
 * traces inside the directory of a trace.
 */
bool wmk_read_paths_meet(const char *a, const char *b);
/*
 * Choose the path of the exported trace: the path `below` of the input trace, with replacements for the components '.'
 * and '..'. If `is_free(data, path)` rejects this path, the result is the path with '_' instead of '/', followed by the
 * next number. The caller frees the result; NULL: memory is short.
 */
char *wmk_read_export_path(const char *below, bool (*is_free)(const void *data, const char *path), const void *data,
			   unsigned *number);

#endif
