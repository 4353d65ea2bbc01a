/* SPDX-License-Identifier: MIT */
/* tracker.h - select the applications of a session. */
#ifndef WMK_SESSION_TRACKER_H
#define WMK_SESSION_TRACKER_H

#include "session/apps/app.h"

/*
 * True if the process is in the domain of the channel. The function stores descendants that a domain with `follow`
 * includes.
 */
bool wmk_domain_has(struct wmk_session_channel *channel, struct app *app);
/* True if the session's user and allow-lists select the application. */
bool wmk_session_tracks(const struct wmk_session *session, const struct app *app);
/*
 * Return a number that distinguishes the process from other processes with the same pid. Since Linux 6.9, the number is
 * the inode of the pidfd, which is unique until the next boot. On older kernels, the number is the start time of the
 * process. 0: hidden.
 */
uint64_t wmk_app_birth(struct app *app);
/* Read these values once from the kernel: the start time of the process (0: hidden), and the path of its executable. */
uint64_t wmk_app_start_time(struct app *app);
/* "": hidden, or the process has ended. */
const char *wmk_app_exe(struct app *app);
#endif
