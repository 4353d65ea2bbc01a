/* SPDX-License-Identifier: MIT */
/* ring_requests.h - requests about rings to the consumer. */
#ifndef WMK_SESSION_RING_REQUESTS_H
#define WMK_SESSION_RING_REQUESTS_H

#include "session/model/session_model.h"

/*
 * All of the session's rings, or those of processes that ended, are written out, counted and closed at the outlet, and
 * their traces. Locked, and given up meanwhile, as with wmk_session_flush().
 */
int wmk_rings_close(struct wmk_session *session, bool ended_only);
/*
 * Query the counts from the consumer. While another thread writes, the latest counts stay. Locked, and unlocked
 * meanwhile.
 */
void wmk_session_count(struct wmk_session *session);
/* Of its rings that are open, as counted last, and of those that were. */
void wmk_channel_counts(const struct wmk_session_channel *channel, struct wmk_counts *sum);
struct wmk_counts wmk_channel_past(const struct wmk_session_channel *channel); /* without those that end just now */

#endif
