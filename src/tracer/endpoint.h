/* SPDX-License-Identifier: MIT */
/*
 * endpoint.h - one possible location of a session daemon: its runtime directory, notify FIFO and connection. Used by
 * helper_thread.c only.
 *
 *     no session daemon ──► FIFO, opened before connect(): poll() for POLLHUP, also while another endpoint is connected
 *                           without FIFO: try again after 10, 20, 40, 60, 60 ... s
 *     connection ends ──► if a session daemon has started since the connection: try at once; else as above
 *     refused before WELCOME ──► as when a connection ends, and also after 10, 20, 40, 60, 60 ... s
 */
#ifndef WMK_TRACER_ENDPOINT_H
#define WMK_TRACER_ENDPOINT_H

#include "tracer/conn.h"
#include "tracer/tracer.h"

struct wmk_endpoint {
	unsigned index;
	char dir[WMK_ENDPOINT_PATH_MAX];        /* path of the runtime directory; "": not possible */
	bool is_fresh;                          /* dir was just determined, and not used yet */
	uid_t owner;                            /* owner of its files; root may also own files */
	/* ms: time of the next attempt; INT64_MAX: when the FIFO reports a session daemon */
	int64_t retry_at;
	int32_t backoff;                        /* ms: delay after a full backlog of the session daemon */
	/* ms: delay before the latest attempt without FIFO, or after a refusal; 0: none yet */
	int32_t retry_ms;
	int notify;             /* the FIFO; -1: not open */
	bool daemon_started;    /* a session daemon has started since the connection was made, or just before */
	struct wmk_conn conn;
};

/*
 * Find the possible endpoint with the index `index`; returns false after the last endpoint. With WAYMARK_RUNDIR, only
 * one endpoint is possible. For a set-user-ID program, only root's endpoint is possible.
 */
bool wmk_endpoint_find(unsigned index, struct wmk_endpoint *endpoint);
/* True if the socket of a session daemon exists at the endpoint. The socket may exist without a listening process. */
bool wmk_endpoint_has_socket(const struct wmk_endpoint *endpoint);
/* True if the next connection attempt is due. */
bool wmk_endpoint_is_due(const struct wmk_endpoint *endpoint, int64_t now);
/* Open the FIFO and connect. Returns whether it is connected. Lock held. */
bool wmk_endpoint_connect(struct wmk_endpoint *endpoint, int64_t now);
/* Close a connection that has failed, and schedule the next attempt. Lock held. */
void wmk_endpoint_lost(struct wmk_endpoint *endpoint, int64_t now);
/* Called when the FIFO reports that a session daemon has started. Lock held. */
void wmk_endpoint_notified(struct wmk_endpoint *endpoint);
/*
 * Check whether a session daemon that has not answered yet is able to answer. Sets conn.unresponsive. The function
 * checks the session daemon every 100 ms, until `until_ms` after the connection was made.
 */
void wmk_endpoint_check_peer(struct wmk_endpoint *endpoint, int64_t now, int64_t until_ms);
/*
 * True if the session daemon records the state dump of applications that start. The function reads the hint of the
 * session daemon in the runtime directory, and returns true without a hint.
 */
bool wmk_endpoint_wants_dump(const struct wmk_endpoint *endpoint);
/* Report to all possible endpoints why the application has no helper thread. */
void wmk_endpoints_report(enum wmk_unrecorded reason, int err);
/* Close the FIFO. */
void wmk_endpoint_close(struct wmk_endpoint *endpoint);

#endif
