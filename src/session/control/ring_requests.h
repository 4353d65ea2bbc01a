/* SPDX-License-Identifier: MIT */
/* ring_requests.h - requests to the consumer about rings. */
#ifndef WMK_SESSION_RING_REQUESTS_H
#define WMK_SESSION_RING_REQUESTS_H

#include "session/model/session_model.h"

/*
 * Write, count and close all rings and traces of the session, or only the rings and traces of processes that have
 * ended. The session's lock is held on entry and on return, and released while the function waits, as in
 * wmk_session_flush().
 */
int wmk_rings_close(struct wmk_session *session, bool ended_only);
/*
 * Query the counts from the consumer daemon. If another thread makes requests for the session, the function keeps the
 * counts of the latest query. The session's lock is held on entry and on return, and released while the function waits.
 */
void wmk_session_count(struct wmk_session *session);
/*
 * Compute the latest counts of open rings, plus the final counts of closed rings. While the session records, the counts
 * include the records that are in the rings now.
 */
void wmk_channel_counts(const struct wmk_session_channel *channel, struct wmk_counts *sum);
/* Return the final counts of closed rings. Rings that are being closed are not included. */
struct wmk_counts wmk_channel_past(const struct wmk_session_channel *channel);

/*
 * Begin and end a series of requests about the rings of a session. wmk_ring_requests_begin() waits while another thread
 * is between begin and end. Locked. Between begin and end, other threads add rings and traces only at the heads of the
 * session's lists, and remove no rings and traces.
 */
void wmk_ring_requests_begin(struct wmk_session *session);
void wmk_ring_requests_end(struct wmk_session *session);
/* Save the values that the next session daemon needs and cannot query from the consumer daemon. Locked. */
void wmk_ring_requests_counted(struct wmk_session *session);
/* Call between begin and end. Calls `what` for each trace of a process that has ended. Locked again on return. */
int wmk_ring_requests_left(struct wmk_session *session, int (*what)(void *data, const struct wmk_trace_info *info));

#endif
