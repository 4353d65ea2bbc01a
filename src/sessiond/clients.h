/* SPDX-License-Identifier: MIT */
/*
 * clients.h - who gives commands: one thread talks with all clients, a few workers do what they ask for.
 *
 *     client ◄──ctl.sock──► thread of the clients ──one request of a client at a time──► queue ──► worker: command()
 *                                 ▲                                                                      │
 *                                 └───────────────────────── reply ◄─────────────────────────────────────┘
 *
 * Requests of one client are dealt with in order, those of different clients side by side; a worker that is free takes
 * the request of the user for whom the fewest are at work, so that one user's slow commands hold up no other's. What a
 * client may have us keep is bounded: one frame that is not whole yet, one reply that it has not read. Whoever breaks
 * the protocol is told so and loses the connection.
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
	 * Answer a request: append one frame to `out` (nothing: the connection is closed). Any worker's thread; several
	 * at a time, for different clients. `body` is as long as frame->length, and stays until it returns.
	 */
	void (*command)(void *data, const struct wmk_peer *peer, const struct wmk_frame *frame, const void *body,
			struct wmk_out *out);
	/* Optional: around the life of each worker. */
	void (*thread_begin)(void *data);
	void (*thread_end)(void *data);
	void *data;
};

struct wmk_clients_options {
	size_t size;                     /* sizeof(struct wmk_clients_options) */
	int listener;                    /* non-blocking; stays the caller's */
	uid_t daemon;                    /* whose daemon it is: see peer.h */
	/* Limits; 0: the default in parentheses. */
	unsigned max_clients;            /* (256), of users that are neither root nor `daemon` */
	unsigned max_of_uid;             /* (32) */
	unsigned silent_ms;              /* one of those that has made no request by then is closed (5000) */
	unsigned workers;                /* (4); in root's daemon one more, for root alone */
	/* requests of one user that are at work at a time (all workers, in root's daemon all but one) */
	unsigned max_at_work;
	struct wmk_clients_ops ops;
};

int wmk_clients_open(const struct wmk_clients_options *options, struct wmk_clients **clients);
/* No request is taken any more; waits for those at work and sends their replies as far as the sockets take them. */
void wmk_clients_close(struct wmk_clients *clients);

/* ── workers.c ───────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_client;
struct wmk_workers;

/* One request of a client, from being queued to being answered. */
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

/* One user has `max_at_work` requests at work at most; `for_root`: one of the `n` is for root alone. */
int wmk_workers_open(unsigned n, unsigned max_at_work, bool for_root, const struct wmk_workers_ops *ops,
		     struct wmk_workers **workers);
/* Ends when those at work have ended; jobs that still wait are dropped. */
void wmk_workers_close(struct wmk_workers *workers);
/* `job` stays the caller's memory, untouched until it comes back from wmk_workers_done(). */
void wmk_workers_give(struct wmk_workers *workers, struct wmk_job *job);
/* An eventfd: readable when jobs have been done. */
int wmk_workers_fd(const struct wmk_workers *workers);
/* All that have been done since the last call, a list; NULL: none. */
struct wmk_job *wmk_workers_done(struct wmk_workers *workers);

#endif
