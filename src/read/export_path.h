/* SPDX-License-Identifier: MIT */
/*
 * export_path.h - where exported traces go below the directory of the export. Internal to src/read.
 */
#ifndef WMK_READ_EXPORT_PATH_H
#define WMK_READ_EXPORT_PATH_H

#include <stdbool.h>

/*
 * Is one of the paths the other, or a directory on the way to it? Readers do not look for traces below a trace.
 */
bool wmk_read_paths_meet(const char *a, const char *b);
/*
 * `below`, the path of the trace that is read, with components that lead nowhere else, as `is_free(data, path)` allows
 * it; otherwise one component with the next number. To be freed; NULL: no memory.
 */
char *wmk_read_export_path(const char *below, bool (*is_free)(const void *data, const char *path), const void *data,
			   unsigned *number);

#endif
