/* SPDX-License-Identifier: MIT */
/* app_reconcile.h - an application brought in line with sessions. */
#ifndef WMK_SESSION_APP_RECONCILE_H
#define WMK_SESSION_APP_RECONCILE_H

#include "session/apps/app.h"

/* Bring the application in line with one session. The connection may be closed by it. */
void wmk_reconcile_app(struct app *app, struct wmk_session *session);
/* The events that are fresh, with all sessions. */
void wmk_reconcile_fresh_events(struct app *app);

#endif
