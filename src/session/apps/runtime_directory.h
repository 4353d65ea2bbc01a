/* SPDX-License-Identifier: MIT */
/* runtime_directory.h - the directory with the sockets of a daemon or of `waymark record`. */
#ifndef WMK_SESSION_RUNTIME_DIRECTORY_H
#define WMK_SESSION_RUNTIME_DIRECTORY_H

#include <stdbool.h>

/*
 * Open the runtime directory, or create it with mode 0700 (*created). The directory must belong to the effective user
 * of this process. If `shared` is set, other users may have read access but no write access; otherwise they may have no
 * access. A process with write access to the directory could replace the sockets. Returns the descriptor, or -errno
 * with a cause chain.
 */
int wmk_runtime_directory_open(const char *path, bool shared, bool *created);

#endif
