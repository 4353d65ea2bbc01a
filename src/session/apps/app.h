/* SPDX-License-Identifier: MIT */
/* app.h - a shard and its applications. */
#ifndef WMK_SESSION_APP_H
#define WMK_SESSION_APP_H

#include "session/apps/shard.h"
#include "session/model/session_model.h"

#define CHANNELS_MAX 64u             /* channels per connection; libwaymark accepts as many */
#define RECORDS_MAX 4096u
#define PER_PID_MAX 8u               /* connections per process */
#define NUMBER_MAX (1u << 20)        /* event numbers per application, including unregistered ones */
#define NUMBER_GAP 4096u             /* largest gap between consecutive event numbers */
struct app_record {
	struct wmk_app_info info;
	char name[WMK_WIRE_NAME_MAX + 1];
	char why[256];
};

/*
 * A source of epoll events: a listening socket, a timer, jobs of other threads, or the socket or the pidfd of an
 * application.
 */
struct shard_source {
	enum { SOURCE_LISTEN, SOURCE_TIMER, SOURCE_JOBS, SOURCE_SOCKET, SOURCE_PIDFD } kind;
	struct app *app;
};

enum app_state { APP_SILENT /* no HELLO yet */, APP_ADMITTED, APP_CLOSED };

struct app_event {
	struct class *class;             /* NULL: no event with this number */
	bool counted;                    /* counted in the record: enabled at least once */
	bool refused;                    /* registered, but cannot be traced */
};

/* A ring set that the session daemon sends to the application. */
struct app_channel {
	struct rings *rings;             /* a reference; NULL: the channel number is free */
	uint64_t *enabled;               /* bits, by event number */
	/* hashes of the filters that were sent, 0: no filter; by event number, n_filters of them */
	uint64_t *filters;
	uint32_t n_words, n_filters;
	uint32_t statedump_round;
	bool sent;
	uint8_t flags;                   /* last value sent: WMK_CHANNEL_PRIVATE */
	/* the application has just reattached the rings, and may still record there */
	bool returned;
};

struct app {
	struct app *next, *next_of_bucket;   /* app_registry.c */
	struct wmk_shard *shard;
	struct shard_source socket_source, pidfd_source;
	enum app_state state;
	int socket, pidfd;               /* -1: closed */
	char name[WMK_WIRE_NAME_MAX + 1];   /* from HELLO, non-printable bytes replaced */
	pid_t pid;
	uid_t uid;
	gid_t gid;
	uint32_t slot, generation;       /* 0: none */
	uint64_t image;                  /* from HELLO */
	pid_t forked_by;                 /* from HELLO; 0: the application is in another PID namespace */
	uint64_t start_time;             /* wmk_app_start_time() */
	bool start_time_read;
	char *exe;
	/* serials of channels that do not track this application (tracker.c); NULL: none yet */
	uint64_t *untracked;
	struct wmk_in in;
	struct wmk_out out;
	size_t kept;                     /* bytes charged to its user by app_accept.c */
	bool writing;                    /* epoll waits for room to send */
	bool dead;                       /* the process has ended, or cannot be watched */
	struct wmk_accept *acceptor;           /* that accepted the connection; NULL: none */
	bool complete;                   /* has sent EVENTS_END */
	bool sync_pending;                   /* send a SYNC once the registration is complete */
	uint64_t deadline;               /* APP_SILENT: end of the wait for HELLO (ms, CLOCK_MONOTONIC) */
	struct app_event *events;
	uint32_t n_events, cap_events, live_events;
	uint32_t *fresh, n_fresh, cap_fresh;   /* event numbers registered since the latest EVENTS_END */
	size_t bytes;                    /* of received event descriptions */
	struct app_channel *channels;
	uint32_t n_channels;
	uint32_t sync_first, sync_sent, sync_answered;   /* first: the oldest unanswered SYNC; 0: none */
	int64_t sync_sent_at;                /* when sync_first was sent (ms) */
	/* has missed a whole deadline, and has given no answer in time since that deadline */
	bool missed;
	/* the barrier in which the application was found stopped or idle (app_barrier.c) */
	uint32_t held_barrier;
	/* start of idleness (ms; 0: the application runs); idle_turns has the number of time slices at that time */
	int64_t idle_since;
	uint64_t idle_turns;
	bool sent;                       /* a message was queued since the latest SYNC */
	struct app_record *record;           /* NULL before HELLO, and past RECORDS_MAX */
};

/* The part of a barrier in one shard (app_barrier.c). */
struct barrier_part {
	struct barrier_part *next;        /* of the same shard */
	struct barrier *update;
	uint32_t number;                 /* of the SYNC */
};

static inline struct app_key wmk_app_key(const struct app *app)
{
	return (struct app_key){ .uid = app->uid, .pid = app->pid, .name = app->name };
}
#define WMK_PID_BUCKETS 1024u
struct wmk_shard {
	struct wmk_shard_options options; /* defaults filled in */
	struct wmk_tracing *tracing;
	char *rundir;
	int rundir_fd;
	bool made_rundir, bound;
	int epoll, listener, timer, wake;
	struct wmk_accept *acceptor, *own_acceptor;    /* NULL: the shard does not accept */
	unsigned index;                  /* number of this shard in `acceptor` */
	/* the shard accepts no connections until this time (ms, CLOCK_MONOTONIC); 0: the shard accepts */
	uint64_t shut_until;
	struct shard_source listen_source, timer_source, jobs_source;
	struct cds_wfcq_head jobs_head;
	struct cds_wfcq_tail jobs_tail;
	bool stop, timer_armed;
	struct app *app;                 /* list */
	struct app *by_pid[WMK_PID_BUCKETS];
	unsigned n_apps;
	/* an application is closed, is dead, or has passed its slot to another application: sweep after this turn */
	bool some_left;
	struct app_record **records;
	unsigned n_records;
	struct wmk_shard_stats stats;
	uint32_t sync;
	struct barrier_part *updates;
};

#endif
