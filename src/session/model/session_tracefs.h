/* SPDX-License-Identifier: MIT */
/* session_tracefs.h - tracefs, opened once it is needed. */
#ifndef WMK_SESSION_SESSION_TRACEFS_H
#define WMK_SESSION_SESSION_TRACEFS_H

#include "session/model/session_model.h"

/* Opened once it is needed; who cannot tries again next time. *tracefs stays the tracing's. */
int wmk_kernel_tracefs(struct wmk_tracing *tracing, struct wmk_tracefs **tracefs);

#endif
