/* SPDX-License-Identifier: MIT */
/* name_check.h - check the names of sessions and channels. */
#ifndef WMK_SESSION_NAME_CHECK_H
#define WMK_SESSION_NAME_CHECK_H

#include "session/model/session_model.h"
/* Check a name; `what` ("session", "channel") is for the message. 0 or -EINVAL. */
int wmk_name_check(const char *what, const char *name);

#endif
