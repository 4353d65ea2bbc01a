/* SPDX-License-Identifier: MIT */
/*
 * server_state.h - the state of the server: its connection, the traces and their rings.
 *
 *     server.c            loop of the server's thread, the connection
 *     ├── clock_steps.c   steps of real time
 *     ├── handshake.c     connections that have not sent HELLO yet
 *     ├── requests.c      requests of the session daemon; answers to those that are done
 *     │   ├── list_reply.c    the answer to LIST
 *     │   ├── output_work.c   requests about outputs of which no trace is open
 *     │   └── trace_work.c    work items of a request, in the thread of its trace
 *     │       ├── traces.c        traces and rings: create, find, free
 *     │       │   ├── outputs.c       outputs of the traces
 *     │       │   │   └── senders.c       senders to relays
 *     │       │   └── trace_metadata.c    metadata that is not written yet
 *     │       └── work.c      results of work items
 *     ├── server_rundir.c     lock and socket in the runtime directory
 *     └── connection.c    messages to the session daemon
 *
 * The server's thread owns all lists, and all members that have no comment about another owner.
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
#define WMK_SERVER_RINGS_MAX 16384u      /* ring sets in a trace */
#define WMK_SERVER_WORK_MAX 65536u       /* work items that are not answered yet */
#define WMK_SERVER_QUEUE_MAX (64u << 20) /* queued bytes at which the connection is closed */

struct wmk_server_output;
struct wmk_server_output_work;
struct wmk_server_sender;
struct wmk_server_work;

/* The rings of a set. The list of the trace and the work items hold references to a struct wmk_server_rings. */
struct wmk_server_rings {
	struct wmk_server_rings *next;
	unsigned refs;
	unsigned adding;                 /* number of work items that add these rings */
	bool removing;                   /* being removed: requests no longer find these rings */
	struct wmk_consumerd_rings is;   /* in `arena` */
	struct wmk_arena arena;
	int fd;                          /* received descriptor of the ring set or tracefs instance */
	/* Only the trace's thread uses the following members. */
	struct waymark_ring_set *set;    /* NULL: not open, or a kernel channel */
	struct wmk_kreader *kernel;      /* NULL: not open, or a ring set */
	struct wmk_kernel_copy *copy;    /* NULL: no copy of a kernel channel */
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
	/* Only the trace's thread uses the following members. */
	struct wmk_output_trace *out;    /* owned by the consumer; NULL: not open */
	int err;                         /* error of the last attempt to open the trace */
	struct wmk_server_work *metadata, **metadata_end; /* METADATA that is not written yet */
	/* ROTATE requests that wait until the chunk `closed` is closed and the chunk `chunk` is open */
	struct wmk_server_work *rotations, **rotations_end;
	bool rotating;                   /* the rotation has begun, in this consumer daemon or an earlier one */
	uint64_t chunk;
	char closed[256];
	bool gated;                      /* packets wait until the metadata has been replaced */
};

struct wmk_consumer_server {
	struct wmk_consumer_server_options options;
	char socket_path[108];
	int lock, listening, wake;       /* wake: an eventfd */
	int clock_steps;                 /* clock_steps.h; negative: steps are not observed */
	struct wmk_server_trace *traces;
	unsigned n_traces, n_work;
	struct wmk_server_output *outputs;
	struct wmk_server_output_work *output_work;      /* requests in progress */
	struct wmk_server_sender *senders;               /* senders.h */
	struct wmk_server_handshake handshakes[WMK_SERVER_HANDSHAKES_MAX];       /* oldest first */
	unsigned n_handshakes;
	int connection;
	bool has_greeted;                /* `connection` has sent its first message */
	_Atomic pid_t daemon;            /* pid of the latest session daemon */
	uint64_t connections;            /* number of connections so far; identifies the current one */
	struct wmk_out out;
	struct wmk_consumerd_in in;
	/* The part of the reply to LIST that is not sent yet. The descriptors are duplicates. */
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
	/* `lock_done` protects the lists of finished work items, oldest first. */
	pthread_mutex_t lock_done;
	struct wmk_server_work *done, **done_end;
	struct wmk_server_output_work *output_work_done;
	int stop;                        /* atomic: shut down, as by SHUTDOWN */
};

#endif
