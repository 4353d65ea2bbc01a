/* SPDX-License-Identifier: MIT */
/*
 * trace_rotation.h - rotations of a trace, in its thread (see trace_rotation.c).
 */
#ifndef WMK_CONSUMER_TRACE_ROTATION_H
#define WMK_CONSUMER_TRACE_ROTATION_H

#include "consumer/server_state.h"

/* The trace was opened: continue the rotation of an earlier consumer daemon, once ROTATE arrives. */
void wmk_server_rotation_restore(struct wmk_server_trace *trace);
/* Carry out ROTATE. It is answered when the next chunk is open. */
void wmk_server_rotation_add(struct wmk_server_work *work);
/* For struct wmk_consumer_options, before_pass. */
int wmk_server_rotation_continue(void *trace);
/* The trace ends: answer all. */
void wmk_server_rotation_cancel(struct wmk_server_trace *trace);

#endif
