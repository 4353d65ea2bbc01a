/* SPDX-License-Identifier: MIT */
/*
 * trace_metadata.h - metadata of a trace that is not written yet. All functions: the trace's thread.
 */
#ifndef WMK_CONSUMER_TRACE_METADATA_H
#define WMK_CONSUMER_TRACE_METADATA_H

#include "consumer/work.h"

/* Append the metadata of `work`. The server replies to the request when the metadata is written. */
void wmk_server_metadata_add(struct wmk_server_work *work);
/* Write all queued metadata. 0, -EAGAIN (a part is missing) or -errno. Used as wmk_consumer_options.ready. */
int wmk_server_metadata_write(void *trace);
/* When the trace is removed, reply -ECANCELED to requests with metadata that is not written. */
void wmk_server_metadata_cancel(struct wmk_server_trace *trace);

#endif
