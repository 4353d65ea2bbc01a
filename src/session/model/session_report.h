/* SPDX-License-Identifier: MIT */
/* session_report.h - the first error of a session. */
#ifndef WMK_SESSION_SESSION_REPORT_H
#define WMK_SESSION_SESSION_REPORT_H

#include "session/model/session_model.h"

/* Keep the error and its chain, after `what` (or NULL), unless the session has an error already. Locked. */
void wmk_session_report(struct wmk_session *session, int err, const char *what);

#endif
