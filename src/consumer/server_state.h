/* SPDX-License-Identifier: MIT */
/*
 * server_state.h - shared by the files of the server:
 *
 *     server.c     socket, connection, the loop
 *     handshake.c      connections that have not greeted yet
 *     requests.c   requests of the session daemon
 *     traces.c       traces and rings
 *     outputs.c    outputs of the traces
 *     trace_work.c       what a trace's thread does
 *
 * All lists, and all that is not marked otherwise, belong to the server's thread. A job holds what it works on: the
 * server's thread makes and frees it, the trace's thread carries it out, in the order in which jobs were made.
 */
#ifndef WMK_CONSUMER_SERVER_STATE_H
#define WMK_CONSUMER_SERVER_STATE_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "consumer/consumer.h"
#include "consumer/server.h"
#include "wire/consumerd.h"

#define WMK_SERVER_TRACES_MAX 16384u
#define WMK_SERVER_RINGS_MAX 16384u      /* in a trace */
#define WMK_SERVER_WORK_MAX 65536u       /* not yet answered */
#define WMK_SERVER_HANDSHAKES_MAX 8u
#define WMK_SERVER_QUEUE_MAX (64u << 20) /* bytes that a session daemon leaves unread */

struct wmk_server_trace;
struct wmk_server_output;

/* The rings of a set. Counted by the list and by jobs. */
struct wmk_server_rings {
	struct wmk_server_rings *next;
	unsigned refs;
	unsigned adding;                 /* jobs among these that are to bring it */
	bool removing;                   /* no request finds it any more */
	struct wmk_consumerd_rings is;   /* in `arena` */
	struct wmk_arena arena;
	int fd;                          /* of the set or the instance, as it came */
	/* The trace's thread's. */
	struct waymark_ring_set *set;    /* NULL: not there (yet), or a kernel channel */
	struct wmk_kreader *kernel;      /* likewise */
};

/* By what its streams are known to the trace's consumer; NULL: there are none. */
static inline const void *wmk_server_rings_from(const struct wmk_server_rings *rings)
{
	return rings->set ? (const void *)rings->set : rings->kernel;
}
/* Its streams are gone. */
void wmk_server_rings_close(struct wmk_server_rings *rings);

struct wmk_server_trace {
	struct wmk_server_trace *next;
	struct wmk_consumer_server *server;
	bool removing;
	unsigned n_work;                   /* under way */
	struct wmk_consumerd_trace is;   /* in `arena`; `gone` grows */
	struct wmk_arena arena;
	struct wmk_server_rings *rings;
	unsigned n_rings;
	struct wmk_consumer *consumer;
	struct wmk_server_output *output;
	/* The trace's thread's. */
	struct wmk_output_trace *out;    /* the consumer's; NULL: not opened yet */
	int err;                         /* why it could not be opened */
	struct wmk_server_work *metadata, **metadata_end; /* METADATA that is not written yet */
	bool gated;                      /* until the metadata has been replaced */
};

struct wmk_server_work {
	struct wmk_server_work *next;
	struct wmk_server_trace *trace;
	uint16_t type;                   /* enum wmk_consumerd_type */
	uint32_t request;
	uint64_t connection;             /* which asked; 0: nobody */
	uint64_t target;                 /* rings, 0: all of the trace */
	struct wmk_server_rings **rings; /* those that it is about */
	unsigned n_rings;
	struct wmk_list events;          /* of the kernel, to be added; in `arena` */
	struct wmk_list calls;           /* system calls by BPF (wire/consumerd.h); in `arena` */
	struct wmk_list syscall_pids;
	bool syscalls_narrowed;
	uint64_t syscall_ring_bytes;
	struct wmk_consumerd_metadata metadata;  /* METADATA; in `arena` */
	uint64_t statedump;              /* of a kernel channel: the number of one that is wanted; 0: none */
	struct wmk_arena arena;
	/* What came of it. */
	struct wmk_consumer_stats *stats;        /* of each of the rings, or NULL */
	int err;
	char words[512];
};

/* Connected, and not served: it has not greeted. */
struct wmk_server_handshake {
	int connection;
	int64_t until;                   /* ms */
	struct wmk_consumerd_in in;
};

struct wmk_consumer_server {
	struct wmk_consumer_server_options options;
	char socket_path[108];
	int lock, listening, wake;       /* wake: an eventfd */
	struct wmk_server_trace *traces;
	unsigned n_traces, n_work;
	struct wmk_server_output *outputs;
	struct wmk_server_handshake handshakes[WMK_SERVER_HANDSHAKES_MAX];     /* in the order in which they came */
	unsigned n_handshakes;
	int connection;
	bool has_greeted;                /* `connection` has sent its first message */
	_Atomic pid_t daemon;            /* the session daemon that was heard last */
	uint64_t connections;            /* so far; the number of the present one */
	struct wmk_out out;
	struct wmk_consumerd_in in;
	/* LIST: what remains to be sent. The descriptors are dups. */
	struct {
		struct wmk_consumerd_list_item *items;
		int *fds;
		size_t n, sent;
		uint32_t request;
		bool active;
		struct wmk_arena arena;
	} list;
	bool ending, was_connected;
	uint32_t shutdown_request;       /* 0: nobody asked */
	uint64_t shutdown_connection;
	/* Under `lock_done`: jobs that are done, in order. */
	pthread_mutex_t lock_done;
	struct wmk_server_work *done, **done_end;
	int stop;                        /* atomic: end, as by SHUTDOWN */
};

/* server.c */
void wmk_server_log(struct wmk_consumer_server *server, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Answers to who asked; nothing if that connection is gone. */
void wmk_server_reply(struct wmk_consumer_server *server, uint64_t connection, uint32_t request,
		      const struct wmk_object *is, const void *object);
void wmk_server_refuse(struct wmk_consumer_server *server, uint64_t connection, uint32_t request, int err,
		       const char *words);
void wmk_server_wake(struct wmk_consumer_server *server);
/* Unasked, to whoever is connected; false: nobody is. */
bool wmk_server_send(struct wmk_consumer_server *server, uint16_t type, const struct wmk_object *is,
		     const void *object);

/*
 * The tracer's processes: this one, the session daemon, the other consumer daemon. A wmk_kown_find
 * (kernel/proc/own_pids.h); any thread.
 */
unsigned wmk_server_own_pids(void *server, pid_t *pids);

/* handshake.c */
/* A new connection, of this user. If there are too many, the oldest one is closed. */
void wmk_server_handshake_add(struct wmk_consumer_server *server, int connection);
/* What to poll for: server->n_greeters elements. Returns how long at most, in ms; -1: without a limit. */
int wmk_server_handshakes_poll(const struct wmk_consumer_server *server, struct pollfd *fds);
/*
 * What has come from the first `n` of them. Returns true if one is a session daemon: *daemon is the caller's then, and
 * what it has sent behind its greeting is in daemon->in. *refused: how many were closed.
 */
bool wmk_server_handshakes_receive(struct wmk_consumer_server *server, const struct pollfd *fds, unsigned n,
			      struct wmk_server_handshake *daemon, unsigned *refused);
void wmk_server_handshakes_close(struct wmk_consumer_server *server);

/* requests.c */
void wmk_server_request(struct wmk_consumer_server *server, const struct wmk_frame *frame, const void *body, size_t len,
			int fd);
/* A job that is done: answer, forget. */
void wmk_server_work_done(struct wmk_server_work *work);
/* End everything: the last answer to it is that there are no traces any more. */
void wmk_server_end(struct wmk_consumer_server *server);

/* traces.c: NULL, or -errno with a cause chain, without memory. What is made is in its list. */
struct wmk_server_trace *wmk_server_trace_find(struct wmk_consumer_server *server, uint64_t number);
struct wmk_server_trace *wmk_server_trace_new(struct wmk_consumer_server *server, const struct wmk_consumerd_trace *is);
/* Closed, with all that it has; no job is under way. */
void wmk_server_trace_free(struct wmk_server_trace *trace);
struct wmk_server_rings *wmk_server_rings_find(struct wmk_server_trace *trace, uint64_t number);
int wmk_server_rings_new(struct wmk_server_trace *trace, const struct wmk_consumerd_rings *is, int fd,
			 struct wmk_server_rings **result);
/* Out of the list; jobs may still have them. */
void wmk_server_rings_unlink(struct wmk_server_trace *trace, struct wmk_server_rings *rings);
void wmk_server_rings_unref(struct wmk_server_rings *rings);
/* Begin to answer LIST; more of it, as much as there is room for in `out`; give it up. */
int wmk_server_list(struct wmk_consumer_server *server, uint32_t request);
void wmk_server_list_more(struct wmk_consumer_server *server);
void wmk_server_list_drop(struct wmk_consumer_server *server);

/* outputs.c */
/* The server's thread. 0 or -ENOMEM. */
int wmk_server_output_join(struct wmk_server_trace *trace);
/* The trace is closed. */
void wmk_server_output_leave(struct wmk_server_trace *trace);
/* The trace's thread: it belongs to the traces that joined it. */
struct wmk_output *wmk_server_output_of(const struct wmk_server_trace *trace);
/* The server's thread: there is room again. */
void wmk_server_output_cleared(struct wmk_server_trace *trace);
/*
 * Report outputs that are full and were not reported yet. To a session daemon that has just connected: all of them
 * again.
 */
void wmk_server_outputs_notify(struct wmk_consumer_server *server);
void wmk_server_outputs_notify_again(struct wmk_consumer_server *server);

/* trace_work.c */
/* In the trace's thread: all metadata that was received is written: 0. A `ready` of the consumer (consumer.h). */
int wmk_server_metadata_write(void *trace);
/* In the trace's thread: carry it out, then give it back to the server's thread. */
void wmk_server_work_run(void *work);

#endif
