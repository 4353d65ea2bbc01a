/* SPDX-License-Identifier: MIT */
/*
 * current.h - store the user's current session and the trace that was recorded last.
 *
 * The session is one line in ~/.waymark/session, the trace is one line in ~/.waymark/trace; $WAYMARK_HOME replaces ~.
 * The directory belongs to the user and has the mode 0700, the files 0600. A file is replaced atomically, so a reader
 * finds the old or the new line. Symbolic links are not followed. One thread.
 *
 * `waymark view` prints the session or the trace, depending on which was used last. File names hold this order, not
 * timestamps: when the current session is used again, `trace` is renamed to `trace-before`.
 *
 *     record, destroy                               ──► trace            view uses the trace
 *     create, load, set-session, start, stop, clear ──► trace-before     view uses the current session
 */
#ifndef WMK_CLI_CURRENT_H
#define WMK_CLI_CURRENT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The home directory, an absolute path: $WAYMARK_HOME, else $HOME, else that of the user database. -ENOENT,
 * -ENAMETOOLONG with a cause chain.
 */
int wmk_current_home(char *buf, size_t size);
/* -ENOENT: no current session. Other errors: the file cannot be read or is not trusted. With a cause chain. */
int wmk_current_get(char *name, size_t size);
/* Does not check that the session exists: a command that uses the name queries the daemon. */
int wmk_current_set(const char *name);
/* Remove the current session if it is `name` (NULL: any). Succeeds if no session is current. */
int wmk_current_forget(const char *name);
/*
 * Note the use of session `name` (NULL: any). If `name` is the current session, the session becomes newer than the
 * latest trace.
 */
void wmk_current_meant(const char *name);

/* Note that a trace was recorded in `path`, which may hold any bytes. Ignores errors and a path that does not exist. */
void wmk_recorded_set(const char *path);
/*
 * The absolute path of the latest trace. *since: the trace is newer than the last use of the current session. -ENOENT:
 * no trace is known. Other errors: the file cannot be read, or does not hold a path. With a cause chain.
 */
int wmk_recorded_get(char *path, size_t size, bool *since);

#endif
