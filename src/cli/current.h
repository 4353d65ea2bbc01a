/* SPDX-License-Identifier: MIT */
/*
 * current.h - store the user's current session and the trace that was recorded last.
 *
 * The session is one line in ~/.waymark/session, and the trace is one line in ~/.waymark/trace. If $WAYMARK_HOME is
 * set, it is used instead of the home directory ~. The directory belongs to the user and has the mode 0700; its files
 * have the mode 0600. A file is replaced atomically, so a reader gets either the old line or the new line. Symbolic
 * links are not followed. One thread.
 *
 * `waymark view` prints the session or the trace, depending on which was used last. The file names show which of the
 * two was used last: when the current session is used again, `trace` is renamed to `trace-before`.
 *
 *     record, destroy                               ──► trace            view uses the trace
 *     create, load, set-session, start, stop, clear ──► trace-before     view uses the current session
 */
#ifndef WMK_CLI_CURRENT_H
#define WMK_CLI_CURRENT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Return the home directory, an absolute path: $WAYMARK_HOME, else $HOME, else the home directory in the user database.
 * -ENOENT, -ENAMETOOLONG with a cause chain.
 */
int wmk_current_home(char *buf, size_t size);
/* -ENOENT: no current session. Other errors mean that the file cannot be read or is not trusted. With a cause chain. */
int wmk_current_get(char *name, size_t size);
/* This function does not check that the session exists, because a command that uses the name queries the daemon. */
int wmk_current_set(const char *name);
/*
 * Remove the current session if its name is `name` (NULL: any name). The function also succeeds if there is no current
 * session.
 */
int wmk_current_forget(const char *name);
/*
 * Record that the session `name` (NULL: any session) was used. If `name` is the current session, `waymark view` then
 * prints the session instead of the latest trace.
 */
void wmk_current_meant(const char *name);

/*
 * Store `path` as the latest trace; the path may contain any bytes. Ignores errors, and ignores a path that does not
 * exist.
 */
void wmk_recorded_set(const char *path);
/*
 * Return the absolute path of the latest trace. *since: the trace is newer than the last use of the current session.
 * -ENOENT: no trace is known. Other errors mean that the file cannot be read, or does not contain a path. With a cause
 * chain.
 */
int wmk_recorded_get(char *path, size_t size, bool *since);

#endif
