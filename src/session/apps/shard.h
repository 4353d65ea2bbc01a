/* SPDX-License-Identifier: MIT */
/*
 * shard.h - a shard of applications: admits them, receives their events, and reconciles them with the sessions of a
 * wmk_tracing.
 *
 *     application ──HELLO, EVENT──►┌──────────┐   sessions, ids, metadata   ┌─────────────┐
 *                 ◄─CHANNEL,ENABLE─┤ wmk_shard ├────────────────────────────►│ wmk_tracing │
 *                                  └──────────┘                             └─────────────┘
 *
 * `waymark record` has one shard with its own socket. The session daemon has several shards, each with a thread. All
 * shards of the session daemon accept from one socket. A shard passes on connections of processes that belong to
 * another shard (app_accept.h). The pidfd of a process signals its end; the shard then frees the process's claims in
 * all rings. No function of a shard blocks on an application, and no application can harm another application. For each
 * application, the daemon limits the messages that the application sends, the memory that is kept for the application,
 * and the data that the application leaves unread.
 *
 * One thread uses a wmk_shard, except for wmk_shard_take(), wmk_shard_listen() and wmk_shard_stop(). Callbacks run in
 * the thread that uses the wmk_shard, from within wmk_shard_run_once() and the commands. Errors are -errno with a cause
 * chain (base/error.h).
 */
#ifndef WMK_SESSION_SHARD_H
#define WMK_SESSION_SHARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "session/apps/app_accept.h"
#include "session/tracing.h"
#include "wire/wire.h"

struct wmk_shard;

/*
 * Information about an application. The strings are valid until wmk_shard_close(), or, without `keep`, until the
 * callback returns.
 */
struct wmk_app_info {
	pid_t pid;                          /* from SO_PEERCRED, in the PID namespace of this process */
	uid_t uid;
	const char *name;                   /* from HELLO, non-printable bytes replaced */
	uint32_t events;                    /* events registered so far */
	uint32_t enabled;                   /* number of these events that were enabled in a channel at least once */
	bool connected;                     /* its socket is open */
	bool alive; /* the pidfd has not fired; false after a refusal, and for the earlier program after exec */
	/* reason of a refusal, a disconnection or an error report of the application: a positive errno; 0: none */
	int error;
	const char *why;                    /* its text; NULL: none */
	bool complained;                    /* the application reported the error itself, and stays connected */
};

struct wmk_shard_options {
	size_t size;                        /* sizeof(struct wmk_shard_options) */
	struct wmk_tracing *tracing;        /* borrowed; must outlive the wmk_shard */
	/*
	 * Listen on <rundir>/app.sock. The directory is created with mode 0700 if absent, and refused if another user
	 * owns or may access the directory. NULL: connections are passed in.
	 */
	const char *rundir;
	bool keep;                          /* keep information about the first 4096 applications: wmk_shard_get() */
	/* applications keep recording when this daemon ends, and register with the next one */
	bool persist;
	/* Limits; 0: the default in parentheses. */
	unsigned max_apps;                  /* applications of this shard, connected or alive (16384) */
	unsigned max_events;                /* of one application (65536) */
	size_t max_bytes; /* of event classes that one application registers in its life (64 MiB) */
	size_t max_queue;                   /* bytes queued for one application (8 MiB) */
	/*
	 * bytes kept for all connections of one user, except root and the daemon's user; amounts below 64 KiB per
	 * connection are not counted (256 MiB)
	 */
	uint64_t max_kept;
	unsigned hello_ms;                  /* a connection is closed if it sends no HELLO within this time (5000 ms) */
	/*
	 * Optional. Called when an application was admitted, refused or dropped, closed its socket, or ended. For
	 * applications that are not kept, only pid, uid, connected and alive are set.
	 */
	void (*on_app)(void *data, const struct wmk_app_info *info);
	void *data;
};

/* Replaces the socket of a process that has ended; -EADDRINUSE if a process listens on the socket. */
int wmk_shard_open(const struct wmk_shard_options *options, struct wmk_shard **shard);
/* Closes connections and removes the socket (the directory only if wmk_shard_open() created it). */
void wmk_shard_close(struct wmk_shard *shard);
/* Return an epoll descriptor, which is readable when wmk_shard_run_once() has pending events. Owned by `shard`. */
int wmk_shard_fd(const struct wmk_shard *shard);
/*
 * Process pending events, waiting at most `timeout_ms` (0: no wait, -1: no limit). Returns the number of processed
 * events, or -errno; -ESHUTDOWN after wmk_shard_stop().
 */
int wmk_shard_run_once(struct wmk_shard *shard, int timeout_ms);
/*
 * From now on, accept connections of `acceptor`, with the shard number `shard`, until wmk_shard_close(). `acceptor`
 * must outlive the shard. Any thread. -errno with a cause chain.
 */
int wmk_shard_listen(struct wmk_shard *shard, struct wmk_accept *acceptor, unsigned index);
/* Take over an accepted connection, even on an error. Any thread. -ENOMEM: the connection was closed. */
int wmk_shard_take(struct wmk_shard *shard, const struct wmk_app_conn *conn);
/* Make wmk_shard_run_once() return -ESHUTDOWN. Any thread. */
void wmk_shard_stop(struct wmk_shard *shard);

/* Reconcile all applications with the session. Queues messages, never waits. (Other threads: wmk_tracing_update().) */
void wmk_shard_update(struct wmk_shard *shard, struct wmk_session *session);
/*
 * Send SYNC to every connected application, and run the loop until all applications have answered or `timeout_ms` has
 * passed. Returns the number of applications that have not answered (wmk_shard_unanswered() lists these applications),
 * or -errno.
 */
int wmk_shard_sync(struct wmk_shard *shard, int timeout_ms);
/* Get the i-th application that has not answered the latest SYNC; false past the end. */
bool wmk_shard_unanswered(const struct wmk_shard *shard, unsigned i, struct wmk_app_info *info);

/* ── accounting ──────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_shard_stats {
	uint64_t apps_seen;                 /* admitted */
	uint64_t apps_connected, apps_alive;
	uint64_t apps_refused;              /* other version, other clock, or a limit */
	uint64_t turned_away;               /* of these, closed without a message: no descriptor was free */
	uint64_t apps_dropped;              /* violated the protocol or a limit */
	uint64_t apps_dead;                 /* process ended, or runs another program (exec) */
	uint64_t claims_freed;
	/* Counts of the whole wmk_tracing, without the tracer's own events: */
	uint64_t events_seen; /* distinct provider:name with distinct fields */
	uint64_t classes_enabled;           /* ids assigned in all rings */
};
void wmk_shard_stats(const struct wmk_shard *shard, struct wmk_shard_stats *stats);
/* Get the i-th kept application, in order of arrival; false past the end. */
bool wmk_shard_get(const struct wmk_shard *shard, unsigned i, struct wmk_app_info *info);

/* Add the shard's listening socket to epoll, for new connections. */
int wmk_shard_watch_accept(struct wmk_shard *shard);

#endif
