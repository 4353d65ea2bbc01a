/* SPDX-License-Identifier: MIT */
/* app_end.h - the end of an application. */
#ifndef WMK_SESSION_APP_END_H
#define WMK_SESSION_APP_END_H

#include "session/apps/app.h"

/* The process of the application has died. */
void wmk_app_died(struct app *app);
/* Another program runs in the process (exec): free the claims of the earlier one. */
void wmk_shard_replaced(struct wmk_shard *shard, const struct app *by);

#endif
