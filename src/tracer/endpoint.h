/* SPDX-License-Identifier: MIT */
/*
 * endpoint.h - where a controller may be: a runtime directory with its notify FIFO, and the connection if there is one.
 * Used by helper_thread.c only.
 *
 *     nobody there ──► FIFO, opened before connect(): poll() for POLLHUP, whether another endpoint is connected or not
 *                      no FIFO: look again after 10, 20, 40, 60, 60 ... s
 *     connection ends ──► a daemon has started since it was made: try at once; else the same again
 *     turned away before it was welcome ──► likewise, and after 10, 20, 40, 60, 60 ... s
 */
#ifndef WMK_TRACER_ENDPOINT_H
#define WMK_TRACER_ENDPOINT_H

#include "tracer/conn.h"
#include "tracer/tracer.h"

struct wmk_endpoint {
	unsigned index;
	char dir[WMK_ENDPOINT_PATH_MAX];        /* of the runtime directory; "": cannot be */
	bool is_fresh;                          /* dir was worked out just now, and has not been tried yet */
	uid_t owner;                            /* of its files; root may own them, too */
	int64_t retry_at;                       /* when to look again; INT64_MAX: when the FIFO reports a daemon */
	uint32_t backoff;                       /* ms; its queue was full */
	/* until the latest look without a FIFO, or after it turned the program away; 0: none */
	int32_t retry_ms;
	int notify;             /* the FIFO; -1: not open */
	bool daemon_started;    /* a daemon has started since the connection was made, or just before */
	struct wmk_conn conn;
};

/* The index-th possible endpoint: false past the last. WAYMARK_RUNDIR leaves one; a set-id program has root's only. */
bool wmk_endpoint_find(unsigned index, struct wmk_endpoint *endpoint);
/* Does a controller's socket exist there? Says nothing of whether somebody listens. */
bool wmk_endpoint_has_socket(const struct wmk_endpoint *endpoint);
/* Is it time to look whether a controller is there? */
bool wmk_endpoint_is_due(const struct wmk_endpoint *endpoint, int64_t now);
/* Look: open the FIFO, connect. True: connected. Lock held. */
bool wmk_endpoint_connect(struct wmk_endpoint *endpoint, int64_t now);
/* Its connection is of no use any more: close it, and be ready for the next. Lock held. */
void wmk_endpoint_lost(struct wmk_endpoint *endpoint, int64_t now);
/* The FIFO has reported a daemon. Lock held. */
void wmk_endpoint_notified(struct wmk_endpoint *endpoint);
/*
 * The controller has not answered yet: can it? Sets conn.unresponsive; looks every 100 ms until `until_ms` after the
 * beginning.
 */
void wmk_endpoint_check_peer(struct wmk_endpoint *endpoint, int64_t now, int64_t until_ms);
/* Does the controller want to know what is loaded in an application that starts? A hint; true where it gives none. */
bool wmk_endpoint_wants_dump(const struct wmk_endpoint *endpoint);
/* No helper thread can connect to the possible endpoints: report that there. */
void wmk_endpoints_report(enum wmk_unrecorded reason, int err);
/* Close the FIFO. */
void wmk_endpoint_close(struct wmk_endpoint *endpoint);

#endif
