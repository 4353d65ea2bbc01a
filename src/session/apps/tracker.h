/* SPDX-License-Identifier: MIT */
/* tracker.h - which applications a session tracks. */
#ifndef WMK_SESSION_TRACKER_H
#define WMK_SESSION_TRACKER_H

#include "session/apps/app.h"

/* Is the application's process of the channel's domain? Remembers who follows. */
bool wmk_domain_has(struct wmk_session_channel *channel, struct app *app);
/* By user and trackers. */
bool wmk_session_tracks(const struct wmk_session *session, const struct app *app);
/*
 * Which process it is of all that ever have its number: since Linux 6.9 the kernel numbers pidfds, so that no two
 * processes have the same until the next boot; before that, when it began. 0: hidden.
 */
uint64_t wmk_app_birth(struct app *app);
/* Ask the kernel, once: when it began (0: hidden), and what it executes. */
uint64_t wmk_app_start_time(struct app *app);
/* "": hidden, or gone. */
const char *wmk_app_exe(struct app *app);

#endif
