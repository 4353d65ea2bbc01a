/* SPDX-License-Identifier: MIT */
/*
 * world.h - sessions, shards and applications as in a daemon, for tests: threaded shards, a trace output that records
 * its requests, and fake applications. Those are processes that carry out commands of the test, and keep in shared
 * memory what they have received.
 *
 *     test ──bid──► process 0 ──forks──► process 1, 2, ...        (a control socket each; forked before threads exist)
 *      │                                     │ app.sock
 *      └─ wmk_tracing ── shards (threads) ◄──┘ assigned by pid, by a thread that accepts
 *
 * Channels are identified by their field limit, on which nothing else depends: 16 + key.
 */
#ifndef WMK_SESSION_T_WORLD_H
#define WMK_SESSION_T_WORLD_H

#include <pthread.h>
#include <stdatomic.h>

#include "session/apps/shard.h"

#define WORLD_KEYS 64u
#define WORLD_EVENTS 12u
#define WORLD_ALL ((1u << WORLD_EVENTS) - 1)
#define WORLD_PROCS 24u
#define WORLD_CHANNELS 64u
#define WORLD_SHARDS 3u
#define WORLD_NO_ID UINT32_MAX

/* Events of applications, by number. 8 and 9 differ only in their level; 10 has the name of 0 and other fields. */
struct world_event {
	const char *provider, *name;
	uint8_t level;
	uint8_t n_fields;
};
extern const struct world_event world_events[WORLD_EVENTS];

/* ── applications ────────────────────────────────────────────────────────────────────────────────────── */

struct proc_channel {
	bool live;
	uint32_t key, flags, n_contexts;
	uint64_t inode;                  /* of the rings */
	uint32_t ids[WORLD_EVENTS];      /* WORLD_NO_ID: not enabled */
};

/* Behaviour of an application that does not answer SYNC. */
enum proc_mute {
	PROC_ANSWERS,
	PROC_SLEEPS,     /* waits for a message */
	PROC_WORKS,      /* runs without pause */
};

/* Shared memory: written by the application, read by the test after its answer. */
struct proc {
	pid_t pid;
	char rundir[64];
	char self[512], other[80];       /* path of the program, and of its copy */
	uint64_t image;                  /* for HELLO; set by the test */
	_Atomic int mute;                /* enum proc_mute; set by the test */
	_Atomic bool unmoved;            /* does not carry out MOVE; set by the test */
	uint32_t welcomes, refused, gone, statedumps, moves;
	_Atomic uint32_t syncs;
	uint32_t bad;                    /* number of wrong messages received */
	struct proc_channel channels[WORLD_CHANNELS];
};

enum proc_verb {
	PROC_SPAWN,      /* n: fork another one as its child */
	PROC_CONNECT,    /* n: events, as bits; done when they are enabled, or the application is rejected */
	PROC_EVENTS,     /* n: more events */
	PROC_GONE,       /* n: event */
	PROC_CLOSE,
	PROC_EXEC,       /* n: 0 the program, 1 its copy; the connection is closed */
	PROC_USER,       /* n: change to that user */
	PROC_QUIT,
};

/* Call first in main(): runs an application if the process was started as one, else starts process 0. */
void procs_begin(int argc, char **argv);
void procs_end(void);
struct proc *proc_at(unsigned i);
/* Send a command; returns the answer, 0 for success. Waits at most 10 s. */
int proc_bid(unsigned i, enum proc_verb verb, uint32_t n);
/* Fork a child of `by`, connected, with these events. */
struct proc *proc_start(unsigned by, unsigned i, uint32_t events);
/* Kill it and wait for its end. */
void proc_kill(unsigned i);
/* Teardown: kill the processes that a test left behind. */
int procs_kill(void **state);
/* Return its live channel of that key with the most contexts; NULL: none. Fails if two have the same number. */
const struct proc_channel *proc_channel(unsigned i, uint32_t key);
/* Events enabled in that channel, as bits. */
uint32_t proc_enabled(unsigned i, uint32_t key);

/* ── trace output ────────────────────────────────────────────────────────────────────────────────────── */

struct world_trace {
	struct world_trace *next;
	struct world *world;
	char session[64], sub[200];
	uint8_t uuid[16];
	bool restored, closed;
	_Atomic size_t metadata_len;
};

struct world_rings {
	struct world_rings *next;
	struct world *world;
	struct world_trace *trace;
	uint64_t id, inode;
	char channel[64];
	int set_fd;                      /* descriptor of the trace output */
	bool restored, stopped, closed;
	unsigned flushed, cleared, pokes;
};

struct world {
	struct wmk_tracing_options options;
	struct wmk_clocks clocks;
	struct wmk_tracing *tracing;
	char rundir[64];
	unsigned n_shards;
	struct wmk_shard *shards[WORLD_SHARDS];   /* NULL: closed */
	pthread_t threads[WORLD_SHARDS], acceptor;
	int listener, stop[2];
	pthread_mutex_t lock;            /* protects the members below */
	pthread_cond_t changed;
	struct world_trace *traces;
	struct world_rings *rings;
	_Atomic unsigned traces_open, rings_open, ids_given, ended, apps_gone;
	_Atomic int refuse;              /* returned when rings are opened */
	char uncounted[16];              /* counting rings of this channel fails with: */
	int uncounted_err;
	unsigned counted;                /* number of counting requests */
	bool silent;                     /* writing, stopping and clearing time out */
	unsigned asked, waited;          /* number of these requests, and of those with `wait` */
	bool disk_hangs;                 /* writing and counting block ... */
	_Atomic unsigned at_disk;        /* ... and this many threads are blocked */
};

/* Fill the options, which the test may then change. */
void world_prepare(struct world *w);
void world_open(struct world *w, unsigned n_shards);
/* Destroy the sessions that are left; fails unless everything that was opened is closed. */
void world_close(struct world *w);
/* Block writing, counting and closing, or unblock them. */
void world_disk(struct world *w, bool hangs);
/* End the thread of a shard and close the shard; its applications lose their connections. */
void world_shard_close(struct world *w, unsigned i);
/* Wait, for at most 10 s, until the counter has this value. */
void world_wait(struct world *w, const _Atomic unsigned *counter, unsigned value);
/* The latest rings of this session, channel and part of `sub`; NULL: none. */
struct world_rings *world_rings(struct world *w, const char *session, const char *channel, const char *sub);

/* ── commands ────────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_session *world_session(struct world *w, const char *name);
/* Add a channel with one rule, or none for NULL. Domain and buffers are set in *options before. */
struct wmk_ctl_channel world_channel_options(const char *name, uint32_t key);
struct wmk_session_channel *world_channel(struct wmk_session *session, const struct wmk_ctl_channel *options,
					  const char *pattern);
/* Add a channel with the options of world_channel_options(). */
struct wmk_session_channel *world_add(struct wmk_session *session, const char *name, uint32_t key, const char *pattern);
#define world_locked(session, what) do { \
		assert_int_equal(wmk_session_lock(session), 0); \
		what; \
		wmk_session_unlock(session); \
	} while (0)
/* Fail unless the thread's chain of causes contains `part`. */
void world_words(const char *part);
/* Update all applications; fails unless all have answered. */
void world_update(struct world *w, struct wmk_session *session);
void world_start(struct world *w, struct wmk_session *session);
void world_stop(struct world *w, struct wmk_session *session);
/* Destroy a session in the order that tracing.h requires; releases the caller's reference, too. */
void world_destroy(struct world *w, struct wmk_session *session);

#endif
