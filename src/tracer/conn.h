/* SPDX-License-Identifier: MIT */
/*
 * conn.h - one controller: a socket of the helper thread's, and what is agreed over it (see wire.h). Used by
 * helper_thread.c only.
 *
 * Messages change chains under the tracer's lock; the caller patches the sites afterwards, once for all that came.
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
	bool unresponsive;             /* cannot answer as things are: nobody waits for it ... */
	bool was_skipped;              /* ... and somebody would have */
	pid_t peer;                    /* who listens there; 0: of another pid namespace */
	int64_t opened, check_peer_at; /* ms: when, and when to look next whether it can answer */
	/* rings could not be mapped, as was reported: later messages for them are no errors */
	bool unmapped;
	/* answer `sync` when what was removed is out of use, as far as can be waited for */
	bool sync_wanted;
	uint32_t sync;
	int64_t sync_at;               /* ms: since when; 0: not known yet */
	uint32_t slot, generation;
	uint32_t sent_batch, done_batch;
	bool sent_any, done_any;
	int refused;                   /* errno, as the controller says; 0: it has not */
	uint32_t untraceable_reported; /* of events that cannot be traced: up to which serial they have been named */
	uint32_t late_ms;              /* a constructor waited so long for its answer and went on: to be told */
	uint32_t *announced;           /* by event number: its `life` + 1 as told, or 0 */
	uint32_t n_announced;
	/* bytes of `out` when events had been told of last; 0: all has been sent since */
	size_t announced_bytes;
	struct wmk_out out;
	struct wmk_in in;
};

/* Connect and say hello. 0 or -errno; nobody there is -ECONNREFUSED or -ENOENT. */
int wmk_conn_open(struct wmk_conn *conn, const char *path, unsigned place);
/* `keep`: channels stay in force, as orphans that a later connection may take over. Lock held. */
void wmk_conn_close(struct wmk_conn *conn, bool keep);
/*
 * Tell what has come and gone since the last time, unless it has not taken what it was told before. 0 or -errno. Lock
 * held.
 */
int wmk_conn_announce(struct wmk_conn *conn);
/*
 * Name the events that turned out not to be traceable; tell that a constructor did not wait to the end. 0 or -errno.
 * Lock held.
 */
int wmk_conn_report_problems(struct wmk_conn *conn);
/* Deal with what has arrived. 0, or -errno: close it. Lock held. */
int wmk_conn_input(struct wmk_conn *conn);
/* Is it to be listened to? Not while answers pile up that it does not read. */
bool wmk_conn_may_read(const struct wmk_conn *conn);
/* Send what is queued, and tell what could not be told because of that. 1 all, 0 more to come, -errno. Lock held. */
int wmk_conn_flush(struct wmk_conn *conn);
/* Report why records are missing; `channel`: UINT32_MAX for all. 0 or -errno. */
int wmk_conn_unrecorded(struct wmk_conn *conn, enum wmk_unrecorded reason, int err, uint32_t channel);
/* The process is another user's from now on: report that, before the connection is closed. Lock held. */
void wmk_conn_report_user_change(struct wmk_conn *conn);
/* No helper thread speaks with the controller at `path`: connect, report that, and leave. */
void wmk_conn_report_once(const char *path, enum wmk_unrecorded reason, int err);
/* Answer a SYNC, now that everything is in force. */
int wmk_conn_synced(struct wmk_conn *conn);

#endif
