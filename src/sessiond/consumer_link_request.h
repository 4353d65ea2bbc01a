/* SPDX-License-Identifier: MIT */
/*
 * consumer_link_request.h - shared by the files of the link to waymark-consumerd:
 *
 *     consumer_link.c          what callers use: a request is made, sent, waited for
 *     consumer_link_thread.c   the link's thread: hears answers, connects, starts a consumer, starts another
 *     consumer_link_metadata.c metadata, in parts that wait until they are written
 *     consumer_link_replay.c     what the consumer was given: given to the next one too
 *
 * All of struct wmk_consumer_link is under `lock`, but what is marked as the thread's.
 */
#ifndef WMK_SESSIOND_CONSUMER_LINK_REQUEST_H
#define WMK_SESSIOND_CONSUMER_LINK_REQUEST_H

#include <pthread.h>
#include <stdbool.h>

#include "sessiond/consumer_link.h"
#include "wire/wire.h"

/* Rings that the consumer was given. */
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
	int budget;                      /* the budget page that goes with it; -1: none */
	unsigned clearing;               /* CLEARs that are not answered yet */
	bool made;                       /* a consumer has opened it */
	bool complete;                   /* the file's length is known: it was made here, or replaced */
	uint64_t metadata_len;           /* of the file, when all that was sent is written */
	char failed[200];                /* why the consumer that is there now could not resume it; "": it could */
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
	int fd;                          /* goes with it; -1: none */
	bool sent;
	bool again;                      /* the link's own: the consumer is given what it had */
	bool inserted;                   /* what it adds was not there before: it goes if that fails */
	bool abandoned;                  /* nobody waits for it */
	uint64_t answers;                /* link->answers when it was abandoned */
	bool more;                       /* METADATA: a part of a replacement, and not its last */
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
	bool closing, shut;              /* shut: it was asked to end, and said yes */
	int end_err;
	char end_words[300];
	int wake;                        /* an eventfd */
	pthread_t thread;
	pid_t pid;                       /* of the consumer; 0: none */
	struct wmk_replay_trace *traces;
	struct wmk_link_request *requests, **requests_end;       /* unanswered, oldest first */
	uint32_t numbers;
	uint64_t answers;                /* how many answers came */
	unsigned again;                  /* requests with that flag that are unanswered */
	char again_words[300];           /* what the first of them that failed said */
	int sock;
	struct wmk_out out;
	/* The thread's. */
	struct wmk_consumerd_in in;
	int pidfd;
	pid_t child;                     /* started here and not waited for yet; 0: none */
};

/* ── consumer_link.c; all under lock ─────────────────────────────────────────────────────────────────────── */

/* A request, queued (first: before all others). The body is copied. NULL with a cause chain. */
struct wmk_link_request *wmk_link_query(struct wmk_consumer_link *link, uint16_t type, const struct wmk_object *is,
				      const void *object, int fd, bool first);
/* A consumer daemon serves no connection that does not greet. 0 or -errno with a cause chain. Takes the lock. */
int wmk_link_greet(struct wmk_consumer_link *link);
/* Send what has not been sent. */
void wmk_link_pump(struct wmk_consumer_link *link);
/* Send as much as the socket takes; the thread sends the rest. */
void wmk_link_submit(struct wmk_consumer_link *link);
/* -ECONNABORTED, with the reason. */
int wmk_link_ended(const struct wmk_consumer_link *link);
/*
 * Wait for the answer. 0: *request is the caller's; -errno: the request is not there any more, or left to itself. Takes
 * the lock.
 */
int wmk_link_wait(struct wmk_consumer_link *link, struct wmk_link_request *request, const struct timespec *end);
/* Out of the list; whoever waits is woken and frees it, else it is freed. */
void wmk_link_answered(struct wmk_consumer_link *link, struct wmk_link_request *request);
void wmk_link_request_free(struct wmk_link_request *request);
void wmk_link_drop_held(struct wmk_link_request *request);

/* ── consumer_link_replay.c; all under lock ────────────────────────────────────────────────────────────────── */

struct wmk_replay_trace *wmk_replay_find(struct wmk_consumer_link *link, uint64_t trace);
/* 1: kept; 0: there is one of that number; -errno with a cause chain. `fd` is duplicated; -1: none. */
int wmk_replay_trace_add(struct wmk_consumer_link *link, const struct wmk_consumerd_trace *is, int fd);
int wmk_replay_rings_add(struct wmk_consumer_link *link, const struct wmk_consumerd_rings *is, int fd);
void wmk_replay_remove(struct wmk_consumer_link *link, uint64_t trace, uint64_t rings);
/* What is kept follows the answer. */
void wmk_replay_answered(struct wmk_consumer_link *link, const struct wmk_link_request *request);
/* Requests that give everything to a consumer that has nothing, in front of all others. 0 or -errno. */
int wmk_replay_send(struct wmk_consumer_link *link);
/* There is no consumer at the moment: beat for it, or writers that wait for room give up. */
void wmk_replay_heartbeat(struct wmk_consumer_link *link);

/* ── consumer_link_thread.c ──────────────────────────────────────────────────────────────────────────────── */

void *wmk_link_run(void *link);
/* The thread looks at what has changed. */
void wmk_link_wake(struct wmk_consumer_link *link);

#endif
