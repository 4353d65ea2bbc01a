/* SPDX-License-Identifier: MIT */
/* regenerate.h - the metadata of a trace, written again. */
#ifndef WMK_SESSION_REGENERATE_H
#define WMK_SESSION_REGENERATE_H

#include "session/model/session_model.h"

/* regenerate.c: one trace's metadata, written anew. `wait`: until it is written. */
int wmk_trace_regenerate(struct trace *trace, bool wait);

#endif
