/* SPDX-License-Identifier: MIT */
/* regenerate.h - write the metadata of a trace again. */
#ifndef WMK_SESSION_REGENERATE_H
#define WMK_SESSION_REGENERATE_H

#include "session/model/session_model.h"

/* Replace the metadata of one trace. `wait`: return when it is written. 0 or -errno. Locked. */
int wmk_trace_regenerate(struct trace *trace, bool wait);

#endif
