/* SPDX-License-Identifier: MIT */
/*
 * sessions_dir.h - the directory of the saved sessions that a session daemon loads and starts at its start.
 *
 *     $WAYMARK_SESSIONS, else /etc/waymark/sessions (root's daemon), else ~/.config/waymark/sessions
 */
#ifndef WMK_WIRE_SESSIONS_DIR_H
#define WMK_WIRE_SESSIONS_DIR_H

#include <stddef.h>
#include <sys/types.h>

/* `daemon` is the user that runs the session daemon. -ENOENT: the user's home directory is unknown; -ENAMETOOLONG. */
int wmk_sessions_dir(uid_t daemon, char *path, size_t size);

#endif
