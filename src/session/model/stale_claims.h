/* SPDX-License-Identifier: MIT */
/* stale_claims.h - claims of earlier applications in restored rings. */
#ifndef WMK_SESSION_STALE_CLAIMS_H
#define WMK_SESSION_STALE_CLAIMS_H

#include "session/model/session_model.h"

/*
 * stale_claims.c: what an earlier daemon's programs that have ended left in restored rings goes; ends of traces are
 * reported by on_ended. Locked.
 */
void wmk_session_free_stale_claims(struct wmk_session *session);

#endif
