/* SPDX-License-Identifier: MIT */
/*
 * server_state.h - the state of the server: its connection, the traces and their rings.
 *
 *     server.c            loop of the server's thread, the connection
 *     ├── handshake.c     connections that have not sent HELLO yet
 *     ├── requests.c      requests of the session daemon; answers to those that are done
 *     │   ├── list_reply.c    the answer to LIST
 *     │   ├── output_work.c   requests about outputs of which no trace is open
 *     │   └── trace_work.c    work items of a request, in the thread of its trace
 *     │       ├── traces.c        traces and rings: made, found, freed
 *     │       │   ├── outputs.c       outputs of the traces
 *     │       │   └── trace_metadata.c    metadata that is not written yet
 *     │       └── work.c      results of work items
 *     ├── server_rundir.c     lock and socket in the runtime directory
 *     └── connection.c    messages to the session daemon
 *
 * All lists, and all that is not marked otherwise, belong to the server's thread.
 */
#ifndef WMK_CONSUMER_SERVER_STATE_H
#define WMK_CONSUMER_SERVER_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "consumer/consumer.h"
#include "consumer/handshake.h"
#include "consumer/server.h"
#include "wire/consumerd.h"

#define WMK_SERVER_TRACES_MAX 16384u
#define WMK_SERVER_RINGS_MAX 16384u      /* in a trace */
#define WMK_SERVER_WORK_MAX 65536u       /* work items that are not answered yet */
#define WMK_SERVER_QUEUE_MAX (64u << 20) /* bytes that a session daemon leaves unread */

struct wmk_server_output;
struct wmk_server_output_work;
struct wmk_server_work;

/* The rings of a set. References: the list's and those of work items. */
struct wmk_server_rings {
	struct wmk_server_rings *next;
	unsigned refs;
	unsigned adding;                 /* work items among these that add it */
	bool removing;                   /* no request finds it any more */
	struct wmk_consumerd_rings is;   /* in `arena` */
	struct wmk_arena arena;
	int fd;                          /* of the set or the instance, as it came */
	/* Of the trace's thread. */
	struct waymark_ring_set *set;    /* NULL: not there (yet), or a kernel channel */
	struct wmk_kreader *kernel;      /* likewise */
};

struct wmk_server_trace {
	struct wmk_server_trace *next;
	struct wmk_consumer_server *server;
	bool removing;
	unsigned n_work;                 /* work items that are not done yet */
	struct wmk_consumerd_trace is;   /* in `arena`; `gone` grows */
	struct wmk_arena arena;
	struct wmk_server_rings *rings;
	unsigned n_rings;
	struct wmk_consumer *consumer;
	struct wmk_server_output *output;
	/* Of the trace's thread. */
	struct wmk_output_trace *out;    /* the consumer's; NULL: not opened yet */
	int err;                         /* why it could not be opened */
	struct wmk_server_work *metadata, **metadata_end; /* METADATA that is not written yet */
	bool gated;                      /* until the metadata has been replaced */
};

struct wmk_consumer_server {
	struct wmk_consumer_server_options options;
	char socket_path[108];
	int lock, listening, wake;       /* wake: an eventfd */
	struct wmk_server_trace *traces;
	unsigned n_traces, n_work;
	struct wmk_server_output *outputs;
	struct wmk_server_output_work *output_work;      /* in progress */
	struct wmk_server_handshake handshakes[WMK_SERVER_HANDSHAKES_MAX];       /* in the order in which they came */
	unsigned n_handshakes;
	int connection;
	bool has_greeted;                /* `connection` has sent its first message */
	_Atomic pid_t daemon;            /* the session daemon that was connected last */
	uint64_t connections;            /* so far; the number of the present one */
	struct wmk_out out;
	struct wmk_consumerd_in in;
	/* LIST: what remains to be sent. The descriptors are duplicates. */
	struct {
		struct wmk_consumerd_list_item *items;
		int *fds;
		size_t n, sent;
		uint32_t request;
		bool active;
		struct wmk_arena arena;
	} list;
	bool ending, was_connected;
	uint32_t shutdown_request;       /* 0: none */
	uint64_t shutdown_connection;
	/* Under `lock_done`: work items that are done, in order. */
	pthread_mutex_t lock_done;
	struct wmk_server_work *done, **done_end;
	struct wmk_server_output_work *output_work_done;
	int stop;                        /* atomic: end, as by SHUTDOWN */
};

#endif
