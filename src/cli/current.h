/* SPDX-License-Identifier: MIT */
/*
 * current.h - which session is the user's current one, and which trace was recorded last: a line in ~/.waymark/session,
 * and one in ~/.waymark/trace ($WAYMARK_HOME in place of ~).
 *
 * The directory is the user's own and 0700, the files 0600; they are replaced as a whole, so that a reader finds the
 * old name or the new one. No link is followed. One thread.
 *
 * Which of the two is the later one, no clock tells: what was `trace` is renamed to `trace-before` when the current
 * session is meant again.
 *
 *     record, destroy                               ──► trace            the trace is meant
 *     create, load, set-session, start, stop, clear ──► trace-before     the current session is
 */
#ifndef WMK_CLI_CURRENT_H
#define WMK_CLI_CURRENT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * $WAYMARK_HOME, else $HOME, else what the system's list of users says: absolute. -ENOENT, -ENAMETOOLONG with a cause
 * chain.
 */
int wmk_current_home(char *buf, size_t size);
/* -ENOENT: none; others: cannot be read, or is not to be trusted; with a cause chain. */
int wmk_current_get(char *name, size_t size);
/* The name is not checked: who reads it asks the daemon for it. */
int wmk_current_set(const char *name);
/* Forget it, if it is this one (NULL: whichever). Nothing to forget is no error. */
int wmk_current_forget(const char *name);
/*
 * Something was done with this session (NULL: whichever): if it is the current one, what was recorded before is not
 * what is meant now.
 */
void wmk_current_meant(const char *name);

/* A trace was recorded, if it is there. That it cannot be written down is nobody's error. A path may hold any bytes. */
void wmk_recorded_set(const char *path);
/*
 * The absolute path of the trace that was recorded last; `since`: since the current session was meant. -ENOENT: none is
 * known; others:
 * cannot be read, or is no path; with a cause chain.
 */
int wmk_recorded_get(char *path, size_t size, bool *since);

#endif
