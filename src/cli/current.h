/* SPDX-License-Identifier: MIT */
/*
 * current.h - which session is the user's current one: a line in ~/.waymark/session ($WAYMARK_HOME in place of ~).
 *
 * The directory is the user's own and 0700, the file 0600; it is replaced as a whole, so that a reader finds the old name or the new
 * one. No link is followed. One thread.
 */
#ifndef WMK_CLI_CURRENT_H
#define WMK_CLI_CURRENT_H

#include <stddef.h>

/* $WAYMARK_HOME, else $HOME, else what the system's list of users says: absolute. -ENOENT, -ENAMETOOLONG with a cause chain. */
int wmk_current_home(char *buf, size_t size);
/* -ENOENT: none; others: cannot be read, or is not to be trusted; with a cause chain. */
int wmk_current_get(char *name, size_t size);
/* The name is not checked: who reads it asks the daemon for it. */
int wmk_current_set(const char *name);
/* Forget it, if it is this one (NULL: whichever). Nothing to forget is no error. */
int wmk_current_forget(const char *name);

#endif
