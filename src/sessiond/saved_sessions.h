/* SPDX-License-Identifier: MIT */
/*
 * saved_sessions.h - load and start the sessions of `waymark save --auto` when the daemon starts.
 *
 * The daemon is then its own client (libwaymark-ctl), so the sessions are checked and created like those of a user. It
 * must already answer commands; applications are notified afterwards, so the first record of each is in the sessions.
 */
#ifndef WMK_SESSIOND_SAVED_SESSIONS_H
#define WMK_SESSIOND_SAVED_SESSIONS_H

/*
 * Load each file of the directory `path` (wire/sessions_dir.h) into the daemon of `rundir`, in the order of names. A
 * session that exists already is kept. `say` gets a sentence for each session, and for each file that cannot be loaded;
 * the others are loaded all the same. A missing directory has no sessions.
 */
void wmk_saved_sessions_load(const char *path, const char *rundir, void (*say)(void *data, const char *words),
			     void *data);

#endif
