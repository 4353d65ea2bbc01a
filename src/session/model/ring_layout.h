/* SPDX-License-Identifier: MIT */
/* ring_layout.h - stream classes and names of rings. */
#ifndef WMK_SESSION_RING_LAYOUT_H
#define WMK_SESSION_RING_LAYOUT_H

#include "session/model/session_model.h"

void wmk_rings_name(const struct wmk_session_channel *channel, uint32_t stream_id, char name[WMK_RINGS_NAME]);
int wmk_rings_text(const struct rings *rings, struct wmk_ctf_text_buffer *text);
/* Their records have the channel's layout of today: what begins to be recorded goes into these. */
bool wmk_rings_current(const struct rings *rings);
/* The class for rings that are to be made: none that the channel has, or had, in this trace. */
uint32_t wmk_rings_stream_new(const struct wmk_session_channel *channel, const struct trace *trace);
/*
 * Contexts are about to be added: the channel's later rings get stream classes that none of the earlier has. 0;
 * -ENOBUFS: no room for them.
 */
int wmk_rings_new_layout(struct wmk_session_channel *channel);

#endif
