/* SPDX-License-Identifier: MIT */
/* app_registry.h - the applications of a shard. */
#ifndef WMK_SESSION_APP_REGISTRY_H
#define WMK_SESSION_APP_REGISTRY_H

#include "session/apps/app.h"

void wmk_registry_enter(struct wmk_shard *shard, struct app *app);
/*
 * Free all applications, or only closed applications that have ended or have no slot. Call only between two iterations
 * of the shard's event loop, because events of epoll may refer to the applications during an iteration.
 */
void wmk_registry_sweep(struct wmk_shard *shard, bool all);
/*
 * Return the next application of this process after `after`, or the first application. NULL: the process has no other
 * application, or `pid` is 0. The pid 0 represents every process of a foreign PID namespace.
 */
struct app *wmk_registry_process(struct wmk_shard *shard, pid_t pid, const struct app *after);

#endif
