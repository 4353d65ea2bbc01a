/* SPDX-License-Identifier: MIT */
/* session.h - the life of a session. */
#ifndef WMK_SESSION_SESSION_H
#define WMK_SESSION_SESSION_H

#include "session/model/session_model.h"

/* Two references, and in no table yet; gives both back. */
int wmk_session_make(struct wmk_tracing *tracing, const struct wmk_session_options *options,
		     struct wmk_session **session);
void wmk_session_unmake(struct wmk_session *session);
/* It records from now on, or no longer. Locked. */
void wmk_session_activate(struct wmk_session *session, bool on);

#endif
