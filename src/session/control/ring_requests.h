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
 * Query the counts from the consumer. If another thread makes requests for the session, the function keeps the counts
 * of the latest query. Locked; the lock is released meanwhile.
 */
void wmk_session_count(struct wmk_session *session);
/*
 * The latest counts of open rings, plus the final counts of closed ones. While the session records, the counts include
 * the records that are in the rings now.
 */
void wmk_channel_counts(const struct wmk_session_channel *channel, struct wmk_counts *sum);
/* The final counts of closed rings. Rings that are being closed are not included. */
struct wmk_counts wmk_channel_past(const struct wmk_session_channel *channel);

/*
 * Begin and end a series of requests about the rings of a session. wmk_ring_requests_begin() waits while another thread
 * is between begin and end. Locked. Between begin and end, other threads add rings and traces only at the heads of the
 * session's lists, and remove none.
 */
void wmk_ring_requests_begin(struct wmk_session *session);
void wmk_ring_requests_end(struct wmk_session *session);
/* Save what the next daemon needs and cannot query from the consumer. Locked. */
void wmk_ring_requests_counted(struct wmk_session *session);
/* Call between begin and end. Calls `what` for each trace of a process that has ended. Locked again on return. */
int wmk_ring_requests_left(struct wmk_session *session, int (*what)(void *data, const struct wmk_trace_info *info));

#endif
