/* SPDX-License-Identifier: MIT */
/* stale_claims.h - claims of ended applications in restored rings. */
#ifndef WMK_SESSION_STALE_CLAIMS_H
#define WMK_SESSION_STALE_CLAIMS_H

#include "session/model/session_model.h"

/*
 * Free the claims that ended applications of an earlier daemon hold in restored rings, and end the traces of these
 * applications. If a trace ends, calls on_ended for the session. Locked.
 */
void wmk_session_free_stale_claims(struct wmk_session *session);

#endif
