/* SPDX-License-Identifier: MIT */
/* session_tracefs.h - tracefs for all sessions, opened when first needed. */
#ifndef WMK_SESSION_SESSION_TRACEFS_H
#define WMK_SESSION_SESSION_TRACEFS_H

#include "session/model/session_model.h"

/*
 * Return tracefs; the function opens tracefs if needed. After an error, the next call tries again. The wmk_tracing owns
 * *tracefs.
 */
int wmk_kernel_tracefs(struct wmk_tracing *tracing, struct wmk_tracefs **tracefs);

#endif
