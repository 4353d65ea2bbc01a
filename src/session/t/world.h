/* SPDX-License-Identifier: MIT */
/*
 * world.h - sessions, shards and programs as a daemon has them, for tests: shards with threads of their own, an outlet
 * that notes what it is told, and fake applications that are processes, do what they are bid, and keep in shared memory
 * what they were told.
 *
 *     test ──bid──► process 0 ──forks──► process 1, 2, ...        (a control socket each; forked before there are threads)
 *      │                                     │ app.sock
 *      └─ wmk_tracing ── shards (threads) ◄──┘ handed over by a thread that accepts: by pid
 *
 * Channels are told apart by their field limit, on which nothing else depends: 16 + key.
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

/*
 * What programs may have, by their number. 8 and 9 differ in their level alone, 10 has the name of 0 and other fields.
 */
struct world_event {
	const char *provider, *name;
	uint8_t level;
	uint8_t n_fields;
};
extern const struct world_event world_events[WORLD_EVENTS];

/* ── programs ────────────────────────────────────────────────────────────────────────────────────────── */

struct proc_channel {
	bool live;
	uint32_t key, flags, n_contexts;
	uint64_t inode;                  /* of the rings */
	uint32_t ids[WORLD_EVENTS];      /* WORLD_NO_ID: not enabled */
};

/* How it does not answer SYNC. */
enum proc_mute {
	PROC_ANSWERS,
	PROC_SLEEPS,     /* until something comes */
	PROC_WORKS,      /* without a rest */
};

/* Shared: written by the program, read by the test when it has answered. */
struct proc {
	pid_t pid;
	char rundir[64];
	char self[512], other[80];       /* the program, and the same under another name */
	uint64_t image;                  /* of HELLO; the test's */
	_Atomic int mute;                /* enum proc_mute; the test's */
	_Atomic bool unmoved;            /* does not carry out MOVE; the test's */
	uint32_t welcomes, refused, gone, statedumps, moves;
	_Atomic uint32_t syncs;
	uint32_t bad;                    /* what it was told that cannot be */
	struct proc_channel channels[WORLD_CHANNELS];
};

enum proc_verb {
	PROC_SPAWN,      /* n: another one, as its child */
	PROC_CONNECT,    /* n: events, as bits; ends when they are enabled, or it was refused */
	PROC_EVENTS,     /* n: more of them */
	PROC_GONE,       /* n: event */
	PROC_CLOSE,
	PROC_EXEC,       /* n: 0 the program, 1 under its other name; what was connected is closed */
	PROC_USER,       /* n: it becomes that user's; its id must be free to go */
	PROC_QUIT,
};

/* First in main(): runs the life of a program if that is what it was started for, else begins process 0. */
void procs_begin(int argc, char **argv);
void procs_end(void);
struct proc *proc_at(unsigned i);
/* What it answers: 0 it did; waits 10 s at most. */
int proc_bid(unsigned i, enum proc_verb verb, uint32_t n);
/* A child of `by`, connected, with these events. */
struct proc *proc_start(unsigned by, unsigned i, uint32_t events);
/* Killed, and gone. */
void proc_kill(unsigned i);
/* Those that a test left behind: its teardown. */
int procs_kill(void **state);
/* Its live channel of that key, of those the one with most contexts; NULL: none. Fails when two have as many. */
const struct proc_channel *proc_channel(unsigned i, uint32_t key);
/* Events enabled there, as bits. */
uint32_t proc_enabled(unsigned i, uint32_t key);

/* ── where records would go ──────────────────────────────────────────────────────────────────────────── */

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
	int set_fd;                      /* the outlet's own */
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
	pthread_mutex_t lock;            /* of changes to what follows */
	pthread_cond_t changed;
	struct world_trace *traces;
	struct world_rings *rings;
	_Atomic unsigned traces_open, rings_open, ids_given, ended, apps_gone;
	_Atomic int refuse;              /* what opening of rings answers */
	char uncounted[16];              /* rings of that channel are not counted: */
	int uncounted_err;
	unsigned counted;                /* how often anybody asked */
	bool silent;                     /* nothing is written, stopped or cleared in time */
	unsigned asked, waited;          /* how often that was asked for meanwhile, and waited for */
	bool disk_hangs;                 /* what writes or counts waits ... */
	_Atomic unsigned at_disk;        /* ... and so many do */
};

/* Fills the options, which the test may change. */
void world_prepare(struct world *w);
void world_open(struct world *w, unsigned n_shards);
/* All sessions were destroyed or end now; everything that was opened is closed, or the test fails. */
void world_close(struct world *w);
/* Whoever writes, counts or closes waits from now on, or no more. */
void world_disk(struct world *w, bool hangs);
/* Its thread ends, and it is closed; its applications lose their connections. */
void world_shard_close(struct world *w, unsigned i);
/* Waits until the counter has this value, 10 s at most. */
void world_wait(struct world *w, const _Atomic unsigned *counter, unsigned value);
/* The latest of this session, channel and part of sub; NULL: none. */
struct world_rings *world_rings(struct world *w, const char *session, const char *channel, const char *sub);

/* ── commands ────────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_session *world_session(struct world *w, const char *name);
/* One rule, or none for NULL; any domain, buffers: change *options (from world_channel_options()) before. */
struct wmk_ctl_channel world_channel_options(const char *name, uint32_t key);
struct wmk_session_channel *world_channel(struct wmk_session *session, const struct wmk_ctl_channel *options,
					  const char *pattern);
/* With the options that world_channel_options() gives. */
struct wmk_session_channel *world_add(struct wmk_session *session, const char *name, uint32_t key, const char *pattern);
#define world_locked(session, what) do { \
		assert_int_equal(wmk_session_lock(session), 0); \
		what; \
		wmk_session_unlock(session); \
	} while (0)
/* The thread's causes say this, or the test fails. */
void world_words(const char *part);
/* All programs have answered, or the test fails. */
void world_update(struct world *w, struct wmk_session *session);
void world_start(struct world *w, struct wmk_session *session);
void world_stop(struct world *w, struct wmk_session *session);
/* As tracing.h says, in order; the caller's reference too. */
void world_destroy(struct world *w, struct wmk_session *session);

#endif
