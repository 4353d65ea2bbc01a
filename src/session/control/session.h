/* SPDX-License-Identifier: MIT */
/* session.h - create, start, stop and destroy a session. */
#ifndef WMK_SESSION_SESSION_H
#define WMK_SESSION_SESSION_H

#include "session/model/session_model.h"

/* Create a session with two references; no table has the session yet. wmk_session_unmake() drops both references. */
int wmk_session_make(struct wmk_tracing *tracing, const struct wmk_session_options *options,
		     struct wmk_session **session);
void wmk_session_unmake(struct wmk_session *session);
/* Set whether the session records. Locked. */
void wmk_session_activate(struct wmk_session *session, bool on);

#endif
