/* SPDX-License-Identifier: MIT */
/* app_barrier.h - barriers over applications. */
#ifndef WMK_SESSION_APP_BARRIER_H
#define WMK_SESSION_APP_BARRIER_H

#include "session/apps/app.h"

/* Call after each iteration of a shard's event loop: completes barriers that all applications have answered. */
void wmk_barriers_check(struct wmk_shard *shard);
/* Report the shard's part of all barriers, because the shard closes. */
void wmk_barriers_abandon(struct wmk_shard *shard);

/* Send SYNC with this number, after the messages that answer a registration. */
int wmk_app_ask(struct app *app, uint32_t number);
/* True if the application has answered SYNC `number`, or if SYNC `number` was not sent to the application. */
bool wmk_app_answers(const struct app *app, uint32_t number);

#endif
