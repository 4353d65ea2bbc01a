/* SPDX-License-Identifier: MIT */
/* ring_layout.h - stream classes and names of rings. */
#ifndef WMK_SESSION_RING_LAYOUT_H
#define WMK_SESSION_RING_LAYOUT_H

#include "session/model/session_model.h"

void wmk_rings_name(const struct wmk_session_channel *channel, uint32_t stream_id, char name[WMK_RINGS_NAME]);
int wmk_rings_text(const struct rings *rings, struct wmk_ctf_text_buffer *text);
/* True if the rings have the channel's current layout, so that newly enabled events are recorded into these rings. */
bool wmk_rings_current(const struct rings *rings);
/*
 * Return a stream class for new rings. No rings of the channel in this trace have or had the returned stream class.
 */
uint32_t wmk_rings_stream_new(const struct wmk_session_channel *channel, const struct trace *trace);
/*
 * Prepare for new contexts: later rings of the channel get stream classes that no earlier rings have. 0, or -ENOBUFS:
 * the new rings exceed the quota.
 */
int wmk_rings_new_layout(struct wmk_session_channel *channel);

#endif
