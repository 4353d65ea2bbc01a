/* SPDX-License-Identifier: MIT */
/* app_end.h - the end of an application. */
#ifndef WMK_SESSION_APP_END_H
#define WMK_SESSION_APP_END_H

#include "session/apps/app.h"

/* Called after the process of the application has ended. */
void wmk_app_died(struct app *app);
/* Called when another program runs in the process (exec): free the ring claims of the earlier program. */
void wmk_shard_replaced(struct wmk_shard *shard, const struct app *by);

#endif
