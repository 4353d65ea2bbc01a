/* SPDX-License-Identifier: MIT */
/* name_check.h - names of sessions and channels. */
#ifndef WMK_SESSION_NAME_CHECK_H
#define WMK_SESSION_NAME_CHECK_H

#include "session/model/session_model.h"

int wmk_name_check(const char *what, const char *name);

#endif
