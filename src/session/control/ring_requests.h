/* SPDX-License-Identifier: MIT */
/* ring_requests.h - requests to the consumer about rings. */
#ifndef WMK_SESSION_RING_REQUESTS_H
#define WMK_SESSION_RING_REQUESTS_H

#include "session/model/session_model.h"

/*
 * Write, count and close all rings of the session, or those of processes that ended, and their traces. Locked; the lock
 * is released meanwhile, as in wmk_session_flush().
 */
int wmk_rings_close(struct wmk_session *session, bool ended_only);
/*
 * Query the counts from the consumer. While another thread makes requests, the latest counts stay. Locked; the lock is
 * released meanwhile.
 */
void wmk_session_count(struct wmk_session *session);
/*
 * The latest counts of open rings, plus the final counts of closed ones. While the session records, the counts include
 * the records that are in the rings now.
 */
void wmk_channel_counts(const struct wmk_session_channel *channel, struct wmk_counts *sum);
/* The final counts of closed rings, without the counts of rings that are closing now. */
struct wmk_counts wmk_channel_past(const struct wmk_session_channel *channel);

/*
 * Begin and end requests: one thread at a time. Locked. Between them, rings and traces are added at the heads of their
 * lists, and none is removed.
 */
void wmk_ring_requests_begin(struct wmk_session *session);
void wmk_ring_requests_end(struct wmk_session *session);
/* Save what the next daemon needs and cannot query from the consumer. Locked. */
void wmk_ring_requests_counted(struct wmk_session *session);
/* Call between begin and end. Calls `what` for each trace of a process that has ended. Locked again on return. */
int wmk_ring_requests_left(struct wmk_session *session, int (*what)(void *data, const struct wmk_trace_info *info));

#endif
