/* SPDX-License-Identifier: MIT */
/*
 * trace_metadata.h - metadata of a trace that is not written yet. The trace's thread.
 */
#ifndef WMK_CONSUMER_TRACE_METADATA_H
#define WMK_CONSUMER_TRACE_METADATA_H

#include "consumer/work.h"

/* Append the part that `work` has; it is finished when it is written. */
void wmk_server_metadata_add(struct wmk_server_work *work);
/* Write what is there: 0, -EAGAIN (a part is missing) or -errno. A `ready` of the consumer (consumer.h). */
int wmk_server_metadata_write(void *trace);
/* The trace ends: what is not written is answered with -ECANCELED. */
void wmk_server_metadata_cancel(struct wmk_server_trace *trace);

#endif
