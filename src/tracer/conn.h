/* SPDX-License-Identifier: MIT */
/*
 * conn.h - connection to one session daemon: a socket of the helper thread, and the state of the protocol (wire.h).
 * Only helper_thread.c and endpoint.c call these functions.
 *
 * The caller of wmk_conn_input() holds the lock, because messages of the session daemon change chains of recorders. The
 * caller patches the sites after wmk_conn_input(), once for all messages.
 */
#ifndef WMK_TRACER_CONN_H
#define WMK_TRACER_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/unrecorded.h"
#include "wire/wire.h"

struct wmk_conn {
	int sock;                      /* -1: not connected */
	uint8_t endpoint;              /* < WMK_ENDPOINTS */
	bool welcomed;
	bool persist;                  /* its channels outlive the connection */
	bool unresponsive;             /* the session daemon cannot answer now: constructors do not wait for it ... */
	bool was_skipped;              /* ... and a constructor did not wait for this reason */
	pid_t peer;                    /* process of the session daemon; 0: the daemon is in another PID namespace */
	/* ms: time of the connection; time of the next check whether the session daemon can answer */
	int64_t opened, check_peer_at;
	/* rings could not be mapped, and this was reported: later messages for these rings are no errors */
	bool unmapped;
	/* answer `sync` when removed recorders are out of use, within a time limit */
	bool sync_wanted;
	uint32_t sync;
	int64_t sync_at;               /* ms: when the wait began; 0: not set yet */
	uint32_t slot, generation;
	uint32_t sent_batch, done_batch;
	bool sent_any, done_any;
	int refused;                   /* errno of REFUSED; 0: not refused */
	uint32_t untraceable_reported; /* serial number of the last reported event that cannot be traced */
	uint32_t late_ms;              /* to report: a constructor stopped waiting for the answer after this time, ms */
	uint32_t *announced;           /* for each event number: the announced `life` of the event + 1, or 0 */
	uint32_t n_announced;
	/* bytes in `out` after the last announcement; 0: all bytes have been sent since */
	size_t announced_bytes;
	struct wmk_out out;
	struct wmk_in in;
};

/* Connect and queue HELLO. Returns 0 or -errno; -ECONNREFUSED and -ENOENT mean that no session daemon is running. */
int wmk_conn_open(struct wmk_conn *conn, const char *path, unsigned endpoint);
/*
 * Close the connection. With `keep`, the channels of the connection stay active, as orphans that a later connection may
 * adopt. Lock held.
 */
void wmk_conn_close(struct wmk_conn *conn, bool keep);
/*
 * Announce events that were added or removed since the last announcement. After the first announcement, the function
 * does nothing while `out` has queued data. Returns 0 or -errno. Lock held.
 */
int wmk_conn_announce(struct wmk_conn *conn);
/*
 * Report events that cannot be traced, and constructors that stopped waiting for a session daemon. Returns 0 or -errno.
 * Lock held.
 */
int wmk_conn_report_problems(struct wmk_conn *conn);
/* Receive and handle messages. Returns 0, or -errno if the caller must close the connection. Lock held. */
int wmk_conn_input(struct wmk_conn *conn);
/*
 * True if the helper thread may read from the connection. The result is false while the session daemon has too many
 * unread answers.
 */
bool wmk_conn_may_read(const struct wmk_conn *conn);
/*
 * Send the queued data, then send the announcement that the queued data has delayed. Returns 1 if all data was sent, 0
 * if data is left, or -errno. Lock held.
 */
int wmk_conn_flush(struct wmk_conn *conn);
/*
 * Queue the message UNRECORDED, which reports why records are missing. `channel`: UINT32_MAX for all. Returns 0 or
 * -errno.
 */
int wmk_conn_unrecorded(struct wmk_conn *conn, enum wmk_unrecorded reason, int err, uint32_t channel);
/* Before the connection is closed, report that the process changes its user. Lock held. */
void wmk_conn_report_user_change(struct wmk_conn *conn);
/* Connect to the session daemon at `path`, report why the application has no helper thread, and disconnect. */
void wmk_conn_report_once(const char *path, enum wmk_unrecorded reason, int err);
/* Answer the message SYNC after all changes have taken effect. */
int wmk_conn_synced(struct wmk_conn *conn);

#endif
