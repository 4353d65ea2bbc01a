/* SPDX-License-Identifier: MIT */
/*
 * trace_rotation.h - rotations of a trace, in its thread (see trace_rotation.c).
 */
#ifndef WMK_CONSUMER_TRACE_ROTATION_H
#define WMK_CONSUMER_TRACE_ROTATION_H

#include "consumer/server_state.h"

/*
 * Called when the trace was opened: prepare to continue the rotation of an earlier consumer daemon when the request
 * ROTATE arrives.
 */
void wmk_server_rotation_restore(struct wmk_server_trace *trace);
/* Carry out ROTATE. The server replies to the request when the next chunk is open. */
void wmk_server_rotation_add(struct wmk_server_work *work);
/* The before_pass of struct wmk_consumer_options. */
int wmk_server_rotation_continue(void *trace);
/* Called at the end of the trace: reply to all ROTATE requests. */
void wmk_server_rotation_cancel(struct wmk_server_trace *trace);

#endif
