/* SPDX-License-Identifier: MIT */
/* app_conn.h - the connection of one application. */
#ifndef WMK_SESSION_APP_CONN_H
#define WMK_SESSION_APP_CONN_H

#include "session/apps/app.h"

/* Deal with what the socket has, and send what is queued. The application may be closed afterwards, never freed. */
void wmk_app_readable(struct app *app);
/* All that the socket still holds, after the death of the process. */
void wmk_app_drain(struct app *app);
void wmk_app_flush(struct app *app);
/*
 * Close the connection because of an error (negative errno, words in the thread's chain); 0: it was closed by the
 * application.
 */
void wmk_app_close(struct app *app, int err);
/* Say why in words, then close. */
void wmk_app_refuse(struct app *app, uint32_t request, int err, const char *words);
void wmk_app_notify(struct app *app);
void wmk_app_free(struct app *app);

#endif
