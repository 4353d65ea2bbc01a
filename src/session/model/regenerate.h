/* SPDX-License-Identifier: MIT */
/* regenerate.h - write the metadata of a trace again. */
#ifndef WMK_SESSION_REGENERATE_H
#define WMK_SESSION_REGENERATE_H

#include "session/model/session_model.h"

/*
 * Replace the metadata of one trace. With `wait`, the function returns after the metadata was written. 0 or -errno.
 * Locked.
 */
int wmk_trace_regenerate(struct trace *trace, bool wait);
/*
 * Write the metadata after a restart, without waiting for the disk. If a chunk was being closed, its metadata is
 * written first.
 */
int wmk_trace_restore_metadata(struct trace *trace);
/*
 * Append stream classes and event classes of the trace, as far as they are known now. Sets bit N of *declared if the
 * text declares the first stream class of channel N. Locked.
 */
int wmk_trace_body_text(const struct trace *trace, struct wmk_ctf_text_buffer *text, uint64_t *declared);

#endif
