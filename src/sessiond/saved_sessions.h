/* SPDX-License-Identifier: MIT */
/*
 * saved_sessions.h - load and start the sessions of `waymark save --auto` when the daemon starts.
 *
 * To load sessions, the daemon connects to itself as a client (libwaymark-ctl). Saved sessions are therefore checked
 * and created in the same way as the sessions of a user. The daemon must already handle requests when it loads the
 * saved sessions. Applications are notified after the saved sessions were loaded, so the sessions record from the first
 * event of each application.
 */
#ifndef WMK_SESSIOND_SAVED_SESSIONS_H
#define WMK_SESSIOND_SAVED_SESSIONS_H

/*
 * Load each file in the directory `path` (wire/sessions_dir.h) into the daemon that uses `rundir`, sorted by name. If a
 * session with the same name exists, it is kept. `say` receives a message for each session, and for each file that
 * cannot be loaded. If one file cannot be loaded, the other files are still loaded. It is no error if the directory
 * does not exist.
 */
void wmk_saved_sessions_load(const char *path, const char *rundir, void (*say)(void *data, const char *words),
			     void *data);

#endif
