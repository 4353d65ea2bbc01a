/* SPDX-License-Identifier: MIT */
/*
 * consumer_link_request.h - private to the files of the link to waymark-consumerd:
 *
 *     consumer_link.c            public functions
 *     consumer_link_request.c    the queue of requests: encode, send, wait for the answer
 *     consumer_link_start.c      connect to a running consumer, start one
 *     consumer_link_thread.c     link thread: receives answers, restarts the consumer after a crash
 *     consumer_link_metadata.c   metadata, in parts that stay queued until they are written
 *     consumer_link_replay.c     traces and rings that the consumer holds, to be sent to the next one
 *
 * `lock` protects all members of struct wmk_consumer_link, except the members that only the link thread uses.
 */
#ifndef WMK_SESSIOND_CONSUMER_LINK_REQUEST_H
#define WMK_SESSIOND_CONSUMER_LINK_REQUEST_H

#include <pthread.h>
#include <stdbool.h>

#include "sessiond/consumer_link.h"
#include "wire/wire.h"

/* A ring set that the consumer daemon holds. */
struct wmk_replay_rings {
	struct wmk_replay_rings *next;
	struct wmk_consumerd_rings is;
	struct wmk_arena arena;
	int fd;
};

struct wmk_replay_trace {
	struct wmk_replay_trace *next;
	struct wmk_consumerd_trace is;
	struct wmk_arena arena;
	struct wmk_replay_rings *rings;
	int budget;                      /* descriptor of its budget page; -1: none */
	unsigned clearing;               /* unanswered CLEAR requests */
	bool made;                       /* a consumer has opened it */
	bool complete;                   /* the length of the metadata file is known: created here, or replaced */
	uint64_t metadata_len;           /* length of the metadata file when everything sent is written */
	char failed[200];                /* why the current consumer cannot resume it; "": it can */
};

struct wmk_link_held {
	struct wmk_consumerd_list_item is;
	int fd;
};

struct wmk_link_request {
	struct wmk_link_request *next;
	uint32_t number;
	uint16_t type;
	uint64_t trace, rings;
	uint8_t *body;
	size_t len;
	int fd;                          /* sent with it; -1: none */
	bool sent;
	bool again;                      /* replay: the request gives a new consumer what the earlier one had */
	/* the request created the entry that it adds; if the request fails, the entry is removed */
	bool inserted;
	bool abandoned;                  /* no thread waits for the answer */
	uint64_t answers;                /* value of link->answers when the request was abandoned */
	bool more;                       /* METADATA: a part of a replacement, but not the last part */
	uint64_t chunk;                  /* METADATA: the chunk of the text */
	bool replaces;                   /* METADATA: a part of a replacement */
	/* The answer. */
	bool done;
	int err;
	char words[512];
	uint8_t *reply;
	size_t reply_len;
	/* LIST */
	struct wmk_link_held *held;
	size_t n_held;
	struct wmk_arena arena;
	pthread_cond_t answered;
};

enum wmk_link_state { WMK_LINK_DOWN, WMK_LINK_UP, WMK_LINK_ENDED };

struct wmk_consumer_link {
	pthread_mutex_t lock;
	pthread_cond_t changed;          /* state */
	char *rundir, *program;
	struct wmk_consumer_link_options options;
	enum wmk_link_state state;
	bool closing, shut;              /* shut: the consumer has accepted SHUTDOWN */
	int end_err;
	char end_words[300];
	int wake;                        /* an eventfd */
	pthread_t thread;
	pid_t pid;                       /* of the consumer; 0: none */
	struct wmk_replay_trace *traces;
	struct wmk_link_request *requests, **requests_end;       /* unanswered, oldest first */
	uint32_t numbers;
	uint64_t answers;                /* number of answers received */
	unsigned again;                  /* unanswered requests of the replay */
	char again_words[300];           /* text of the first error among the replay requests */
	int sock;
	struct wmk_out out;
	/* Used by the link thread only: */
	struct wmk_consumerd_in in;
	int pidfd;
	pid_t child;                     /* started by us and not reaped yet; 0: none */
};

/* ── consumer_link_request.c; all under lock ─────────────────────────────────────────────────────────── */

/*
 * Queues a request; if `first` is true, the request is queued before all other requests. The body is copied. NULL with
 * a cause chain.
 */
struct wmk_link_request *wmk_link_query(struct wmk_consumer_link *link, uint16_t type, const struct wmk_object *is,
				      const void *object, int fd, bool first);
/*
 * Sends the greeting that a consumer daemon expects on a new connection. Takes the lock. 0 or -errno with a cause
 * chain.
 */
int wmk_link_greet(struct wmk_consumer_link *link);
/* Sends all queued requests that have not been sent. */
void wmk_link_pump(struct wmk_consumer_link *link);
/* Sends as many bytes as the socket accepts; the link thread sends the remaining bytes. */
void wmk_link_submit(struct wmk_consumer_link *link);
/* -ECONNABORTED, with the reason in the cause chain. */
int wmk_link_ended(const struct wmk_consumer_link *link);
/*
 * Waits for the answer, and releases the lock while waiting. If request->done is set on return, the caller owns the
 * request. If request->done is not set on return, the link has ended, or the request was abandoned. The function that
 * processes the answer frees an abandoned request.
 */
int wmk_link_wait(struct wmk_consumer_link *link, struct wmk_link_request *request, const struct timespec *end);
/*
 * Removes an answered request from the list. If a thread waits for the answer, the function wakes this thread, and the
 * thread frees the request. If no thread waits for the answer, the function frees the request.
 */
void wmk_link_answered(struct wmk_consumer_link *link, struct wmk_link_request *request);
void wmk_link_request_free(struct wmk_link_request *request);
void wmk_link_drop_held(struct wmk_link_request *request);

/* ── consumer_link_replay.c; all under lock ──────────────────────────────────────────────────────────── */

struct wmk_replay_trace *wmk_replay_find(struct wmk_consumer_link *link, uint64_t trace);
/* 1: added; 0: the number exists; -errno with a cause chain. `fd` is duplicated; -1: none. */
int wmk_replay_trace_add(struct wmk_consumer_link *link, const struct wmk_consumerd_trace *is, int fd);
int wmk_replay_rings_add(struct wmk_consumer_link *link, const struct wmk_consumerd_rings *is, int fd);
int wmk_replay_rotate(struct wmk_consumer_link *link, const struct wmk_consumerd_rotation *is);
void wmk_replay_remove(struct wmk_consumer_link *link, uint64_t trace, uint64_t rings);
/* Updates the stored traces and rings after an answer. */
void wmk_replay_answered(struct wmk_consumer_link *link, const struct wmk_link_request *request);
/*
 * Queues requests that add all stored traces and rings to a new consumer daemon. The requests that add traces and rings
 * are queued before all other requests. 0 or -errno.
 */
int wmk_replay_send(struct wmk_consumer_link *link);
/*
 * Sends heartbeats to the rings while no consumer daemon runs. Without heartbeats, writers that wait for free space
 * would stop waiting.
 */
void wmk_replay_heartbeat(struct wmk_consumer_link *link);

/* ── consumer_link_start.c; used by the link thread ──────────────────────────────────────────────────── */

/*
 * Connects to a running consumer. Returns the pid of the consumer daemon, and sets link->sock and link->pidfd; or
 * returns -errno with a cause chain.
 */
pid_t wmk_link_connect(struct wmk_consumer_link *link);
/*
 * Starts a consumer. Returns the pid of the consumer daemon, also in link->child, and sets link->sock and link->pidfd;
 * or returns -errno.
 */
pid_t wmk_link_start(struct wmk_consumer_link *link);

/* ── consumer_link_thread.c ──────────────────────────────────────────────────────────────────────────── */

void *wmk_link_run(void *link);
/* Wakes the link thread. */
void wmk_link_wake(struct wmk_consumer_link *link);

#endif
