/* SPDX-License-Identifier: MIT */
/* kernel_restore.h - kernel channels of an earlier daemon. */
#ifndef WMK_SESSION_KERNEL_RESTORE_H
#define WMK_SESSION_KERNEL_RESTORE_H

#include "kernel/event/catalog.h"
#include "session/model/session_model.h"

/*
 * Take over the instance of a kernel channel; the instance still records, and the rings are in no list yet.
 * wmk_session_kernel_restored() starts consuming, after the ids of all events are restored.
 */
int wmk_kernel_restore(struct rings *rings);
void wmk_session_kernel_restored(struct wmk_session *session);
/*
 * Remove instances and probes that belong to this daemon's owner and to no session. Called after sessions are restored.
 */
void wmk_kernel_sweep(struct wmk_tracing *tracing);

#endif
