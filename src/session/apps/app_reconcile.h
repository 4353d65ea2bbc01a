/* SPDX-License-Identifier: MIT */
/* app_reconcile.h - reconcile applications with sessions. */
#ifndef WMK_SESSION_APP_RECONCILE_H
#define WMK_SESSION_APP_RECONCILE_H

#include "session/apps/app.h"

/* Reconcile the application with one session. May close the connection. */
void wmk_reconcile_app(struct app *app, struct wmk_session *session);
/* Reconcile the newly registered events with all sessions. */
void wmk_reconcile_fresh_events(struct app *app);

#endif
