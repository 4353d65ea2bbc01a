/* SPDX-License-Identifier: MIT */
/*
 * saved_sessions.h - load and start the sessions of `waymark save --auto` when the daemon starts.
 *
 * The daemon sends requests to itself as a client (libwaymark-ctl). So the daemon checks and creates these sessions
 * like
 * the sessions of a user. The daemon must already answer commands. Applications are notified afterwards, so the
 * sessions record from the first event of each application.
 */
#ifndef WMK_SESSIOND_SAVED_SESSIONS_H
#define WMK_SESSIOND_SAVED_SESSIONS_H

/*
 * Load each file of the directory `path` (wire/sessions_dir.h) into the daemon of `rundir`, in the order of names. A
 * session that exists already is kept. `say` receives a message for each session, and for each file that cannot be
 * loaded; the other files are still loaded. A missing directory is no error.
 */
void wmk_saved_sessions_load(const char *path, const char *rundir, void (*say)(void *data, const char *words),
			     void *data);

#endif
