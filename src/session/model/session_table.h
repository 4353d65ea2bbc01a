/* SPDX-License-Identifier: MIT */
/* session_table.h - the table of sessions; references to them. */
#ifndef WMK_SESSION_SESSION_TABLE_H
#define WMK_SESSION_SESSION_TABLE_H

#include "session/model/session_model.h"

/* Add a session to the table of names, and remove a session from the table. */
int wmk_session_enter(struct wmk_tracing *tracing, struct wmk_session *session);
void wmk_session_leave(struct wmk_session *session);

#endif
