/* SPDX-License-Identifier: MIT */
/*
 * clients.h - serve clients: one thread handles all connections, a few workers perform the requests.
 *
 *     client ◄──ctl.sock──► client thread ──one request of a client at a time──► queue ──► worker: command()
 *                                 ▲                                                              │
 *                                 └───────────────────────── reply ◄─────────────────────────────┘
 *
 * Requests of one client run in order; requests of different clients run concurrently. A free worker takes a request of
 * the user that has the fewest running requests, so slow commands of one user do not delay other users. The memory for
 * each client is limited to one incomplete frame and one unread reply. If a client violates the protocol, the daemon
 * sends an error and disconnects the client.
 */
#ifndef WMK_SESSIOND_CLIENTS_H
#define WMK_SESSIOND_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sessiond/peer.h"
#include "wire/wire.h"

struct wmk_clients;

struct wmk_clients_ops {
	/*
	 * Handle a request, and append one frame with the reply to `out`. If no frame is appended, the connection is
	 * closed. Runs in a worker thread, and runs concurrently for different clients. `body` has frame->length bytes
	 * and is valid until the function returns.
	 */
	void (*command)(void *data, const struct wmk_peer *peer, const struct wmk_frame *frame, const void *body,
			struct wmk_out *out);
	/* Optional. Called at the start and at the end of each worker thread. */
	void (*thread_begin)(void *data);
	void (*thread_end)(void *data);
	void *data;
};

struct wmk_clients_options {
	size_t size;                     /* sizeof(struct wmk_clients_options) */
	int listener;                    /* non-blocking; borrowed */
	uid_t daemon;                    /* user of the daemon: see peer.h */
	/* Limits; 0: the default in parentheses. */
	unsigned max_clients;            /* (256), of users other than root and `daemon` */
	unsigned max_of_uid;             /* (32) */
	/*
	 * time limit for the first request of a client of users other than root and `daemon`; then the daemon closes
	 * the connection (5000 ms)
	 */
	unsigned silent_ms;
	unsigned workers;                /* (4); a daemon of root has one more, for root alone */
	/* running requests of one user (all workers; in a daemon of root all but one) */
	unsigned max_at_work;
	struct wmk_clients_ops ops;
};

int wmk_clients_open(const struct wmk_clients_options *options, struct wmk_clients **clients);
/*
 * The function stops reading requests, waits for running requests, and sends as much of the replies as the sockets
 * accept without blocking.
 */
void wmk_clients_close(struct wmk_clients *clients);

/* ── workers.c ───────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_client;
struct wmk_workers;

/* One request of a client, from entering the queue until its reply is sent. */
struct wmk_job {
	struct wmk_job *next;
	struct wmk_client *client;
	uid_t uid;
	struct wmk_frame frame;
	const void *body;
};

struct wmk_workers_ops {
	void (*work)(void *data, struct wmk_job *job);
	void (*thread_begin)(void *data);        /* may be NULL */
	void (*thread_end)(void *data);
	void *data;
};

/*
 * At most `max_at_work` requests of one user run at the same time. If `for_root` is true, one of the `n` workers serves
 * only root.
 */
int wmk_workers_open(unsigned n, unsigned max_at_work, bool for_root, const struct wmk_workers_ops *ops,
		     struct wmk_workers **workers);
/* The function waits for running jobs, and discards queued jobs. */
void wmk_workers_close(struct wmk_workers *workers);
/*
 * Queue a job. After this call, the caller must not access `job` until wmk_workers_done() returns it; the caller still
 * owns `job`.
 */
void wmk_workers_give(struct wmk_workers *workers, struct wmk_job *job);
/* Return an eventfd that is readable when jobs are done. */
int wmk_workers_fd(const struct wmk_workers *workers);
/* Return the list of jobs that were completed since the last call; NULL if there are none. */
struct wmk_job *wmk_workers_done(struct wmk_workers *workers);

#endif
