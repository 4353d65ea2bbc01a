/* SPDX-License-Identifier: MIT */
/*
 * path.h - make paths absolute for other processes, which have another working directory.
 */
#ifndef WMK_CLI_PATH_H
#define WMK_CLI_PATH_H

#include <stddef.h>

/* Convert `path` to an absolute path, relative to the working directory. -ENAMETOOLONG, ... with a cause chain. */
int wmk_cli_absolute_path(const char *path, char *buf, size_t size);
/* Remove a directory with its content, without crossing into other file systems. -1 with errno. */
int wmk_cli_remove_tree(const char *path);

#endif
