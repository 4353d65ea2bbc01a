/* SPDX-License-Identifier: MIT */
/* kernel_restore.h - kernel channels of an earlier daemon. */
#ifndef WMK_SESSION_KERNEL_RESTORE_H
#define WMK_SESSION_KERNEL_RESTORE_H

#include "kernel/event/catalog.h"
#include "session/model/session_model.h"

/*
 * As an earlier daemon left it: it records on. The rings are in no list yet. Then, when the ids of all events are back:
 * what it records is consumed.
 */
int wmk_kernel_restore(struct rings *rings);
void wmk_session_kernel_restored(struct wmk_session *session);
/* Instances of this daemon's that no session has are removed. Sessions are restored by now. */
void wmk_kernel_sweep(struct wmk_tracing *tracing);

#endif
