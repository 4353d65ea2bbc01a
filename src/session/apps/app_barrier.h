/* SPDX-License-Identifier: MIT */
/* app_barrier.h - rounds of commands over applications. */
#ifndef WMK_SESSION_APP_BARRIER_H
#define WMK_SESSION_APP_BARRIER_H

#include "session/apps/app.h"

/* After each turn: rounds that all applications have answered end. */
void wmk_barriers_check(struct wmk_shard *apps);
void wmk_barriers_abandon(struct wmk_shard *apps);

/* SYNC with this number: sent behind what registration brings; answered, or not asked. */
int wmk_app_ask(struct app *app, uint32_t number);
bool wmk_app_answers(const struct app *app, uint32_t number);

#endif
