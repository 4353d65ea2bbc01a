/* SPDX-License-Identifier: MIT */
/* app_conn.h - the connection of one application. */
#ifndef WMK_SESSION_APP_CONN_H
#define WMK_SESSION_APP_CONN_H

#include "session/apps/app.h"

/*
 * Process received messages, and send queued messages. The function may close the application, but never frees the
 * application.
 */
void wmk_app_readable(struct app *app);
/* After the process has ended, process all data that the socket still holds; then close the socket. */
void wmk_app_drain(struct app *app);
void wmk_app_flush(struct app *app);
/*
 * Close the connection because of an error (negative errno, with its text in the thread's cause chain); 0: the
 * application closed the connection.
 */
void wmk_app_close(struct app *app, int err);
/* Send REFUSED with this reason, then close. */
void wmk_app_refuse(struct app *app, uint32_t request, int err, const char *words);
void wmk_app_notify(struct app *app);
void wmk_app_free(struct app *app);

#endif
