/* SPDX-License-Identifier: MIT */
/*
 * path.h - paths that other processes open too, which have another current directory.
 */
#ifndef WMK_CLI_PATH_H
#define WMK_CLI_PATH_H

#include <stddef.h>

/* `path`, below the current directory if it is relative. -ENAMETOOLONG, ... with a cause chain. */
int wmk_cli_absolute_path(const char *path, char *buf, size_t size);

#endif
