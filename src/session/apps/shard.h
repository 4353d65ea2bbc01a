/* SPDX-License-Identifier: MIT */
/*
 * shard.h - a shard of applications: admits them, hears their events, tells them what the sessions of a wmk_tracing
 * want of them.
 *
 *     application ──HELLO, EVENT──►┌──────────┐   sessions, ids, metadata   ┌─────────────┐
 *                 ◄─CHANNEL,ENABLE─┤ wmk_shard ├────────────────────────────►│ wmk_tracing │
 *                                  └──────────┘                             └─────────────┘
 *
 * One shard with a socket of its own is all that `waymark record` needs; the session daemon has several, each with a
 * thread, which accept from one socket and hand each other what is not theirs (app_accept.h; all of one pid are in the
 * same shard). Death is what the pidfd says: then the claims of the application are freed in all rings that it had.
 * Nothing here blocks on an application, and none can harm another: what each may send, keep and leave unread is
 * bounded.
 *
 * One thread uses a wmk_shard, for all calls but wmk_shard_take() and wmk_shard_stop(); callbacks run in it, from
 * within wmk_shard_run_once() and the commands. Errors are -errno with a cause chain (base/error.h).
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
 * What is known of an application. Strings are valid until wmk_shard_close(), or, without `keep`, until the callback
 * returns.
 */
struct wmk_app_info {
	pid_t pid;                          /* the kernel's word (SO_PEERCRED), as this process sees it */
	uid_t uid;
	const char *name;                   /* from HELLO, non-printable bytes replaced */
	uint32_t events;                    /* registered now or ever */
	uint32_t enabled;                   /* of these, enabled in some channel now or ever */
	bool connected;                     /* its socket is open */
	bool alive; /* the pidfd has not fired; false too for the refused, and after exec for the program before */
	int error; /* 0, or why it was refused or dropped, or what it complained of: a positive errno ... */
	const char *why;                    /* ... in words, else NULL */
	bool complained;                    /* the error is what the application said itself; it goes on */
};

struct wmk_shard_options {
	size_t size;                        /* sizeof(struct wmk_shard_options) */
	struct wmk_tracing *tracing;        /* borrowed; must outlive the wmk_shard */
	/*
	 * Listen on <rundir>/app.sock: made 0700 if absent; refused if another's or open to others. NULL: connections
	 * are handed over.
	 */
	const char *rundir;
	bool keep;                          /* what is known of the first 4096 applications, for wmk_shard_get() */
	/* applications record on when this end is gone, and register with the next */
	bool persist;
	/* Limits; 0: the default in parentheses. */
	unsigned max_apps;                  /* connected or alive at a time, of this shard (16384) */
	unsigned max_events;                /* of one application (65536) */
	size_t max_bytes; /* of event classes that one application may register in its life (64 MiB) */
	size_t max_queue;                   /* bytes queued for one application (8 MiB) */
	/*
	 * bytes kept for all of one user's at the gate, ours and root's excepted, but for a piece that each has (256
	 * MiB)
	 */
	uint64_t max_kept;
	unsigned hello_ms;                  /* a connection that has not said HELLO by then is closed (5000) */
	/*
	 * Optional. An application was admitted, refused, dropped, closed its socket, or died: look at info. Of those
	 * that are not kept it tells pid, uid, connected and alive.
	 */
	void (*on_app)(void *data, const struct wmk_app_info *info);
	void *data;
};

/* A socket left by a process that is gone is replaced; -EADDRINUSE when somebody answers there. */
int wmk_shard_open(const struct wmk_shard_options *options, struct wmk_shard **apps);
/* Closes connections, removes the socket (not the directory, unless wmk_shard_open() made it). */
void wmk_shard_close(struct wmk_shard *apps);
/* An epoll descriptor: readable when wmk_shard_run_once() has something to do. Owned by `apps`. */
int wmk_shard_fd(const struct wmk_shard *apps);
/*
 * Deal with what is there, waiting `timeout_ms` at most (0: not at all, -1: for ever). Number of events dealt with,
 * or -errno; -ESHUTDOWN after wmk_shard_stop().
 */
int wmk_shard_run_once(struct wmk_shard *apps, int timeout_ms);
/*
 * From now on it accepts at this gate, as the shard of this number, until wmk_shard_close(); the gate must outlive it.
 * Any thread. -errno with a cause chain.
 */
int wmk_shard_listen(struct wmk_shard *apps, struct wmk_accept *gate, unsigned shard);
/* An accepted connection: the shard's now, in any case. Any thread. -ENOMEM: it is closed. */
int wmk_shard_take(struct wmk_shard *apps, const struct wmk_app_conn *guest);
/* Its thread is to end. Any thread. */
void wmk_shard_stop(struct wmk_shard *apps);

/* Bring all applications in line with the session. Queued, never waits. (From other threads: wmk_tracing_update().) */
void wmk_shard_update(struct wmk_shard *apps, struct wmk_session *session);
/*
 * Ask every connected application to confirm that the commands so far are in force, and run the loop until all did or
 * `timeout_ms` is over. Returns how many have not answered (info of these: wmk_shard_unanswered()), or -errno.
 */
int wmk_shard_sync(struct wmk_shard *apps, int timeout_ms);
/* The i-th application that has not answered the latest SYNC; false past the end. */
bool wmk_shard_unanswered(const struct wmk_shard *apps, unsigned i, struct wmk_app_info *info);

/* ── accounting ──────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_shard_stats {
	uint64_t apps_seen;                 /* said a HELLO that was accepted */
	uint64_t apps_connected, apps_alive;
	uint64_t apps_refused;              /* other version, other clock, too many */
	uint64_t turned_away;               /* of these, without a word: there was no descriptor to hear them with */
	uint64_t apps_dropped;              /* broke the protocol or a limit */
	uint64_t apps_dead;                 /* the pidfd says so, or another program runs in the process (exec) */
	uint64_t claims_freed;
	/* Of the whole wmk_tracing: */
	uint64_t events_seen; /* distinct provider:name with distinct fields, the tracer's own not counted */
	uint64_t classes_enabled;           /* ids given, in all rings, the tracer's own not counted */
};
void wmk_shard_stats(const struct wmk_shard *apps, struct wmk_shard_stats *stats);
/* The i-th application seen (of those that are kept), in the order of arrival; false past the end. */
bool wmk_shard_get(const struct wmk_shard *apps, unsigned i, struct wmk_app_info *info);

/* It begins to hear the gate. */
int wmk_shard_watch_accept(struct wmk_shard *apps);

#endif
