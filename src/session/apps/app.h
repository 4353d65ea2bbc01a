/* SPDX-License-Identifier: MIT */
/* app.h - a shard and its applications. */
#ifndef WMK_SESSION_APP_H
#define WMK_SESSION_APP_H

#include "session/apps/shard.h"
#include "session/model/session_model.h"

#define CHANNELS_MAX 64u             /* on one connection, which the application allows */
#define RECORDS_MAX 4096u
#define PER_PID_MAX 8u               /* connections of one process */
#define NUMBER_MAX (1u << 20)        /* event numbers of one application, gone ones included ... */
#define NUMBER_GAP 4096u             /* ... of which it may leave out so many at a time */
struct app_record {
	struct wmk_app_info info;
	char name[WMK_WIRE_NAME_MAX + 1];
	char why[256];
};

/* What epoll reports: a listening socket, a timer, jobs from other threads, an application's socket or its pidfd. */
struct shard_source {
	enum { SOURCE_LISTEN, SOURCE_TIMER, SOURCE_JOBS, SOURCE_SOCKET, SOURCE_PIDFD } kind;
	struct app *app;
};

enum app_state { APP_SILENT /* no HELLO yet */, APP_ADMITTED, APP_CLOSED };

struct app_event {
	struct class *class;             /* NULL: no such event */
	bool counted;                    /* in the record: enabled once */
	bool refused;                    /* it came, and cannot be traced */
};

/* Rings that the application knows. */
struct app_channel {
	struct rings *rings;             /* counted; NULL: the number is free */
	uint64_t *enabled;               /* bits, by event number */
	/* the hashes of filters that it was sent, 0: none; by event number, n_filters of them */
	uint64_t *filters;
	uint32_t n_words, n_filters;
	uint32_t statedump_round;
	bool sent;
	uint8_t flags;                   /* that it was sent: WMK_CHANNEL_PRIVATE */
	bool returned;                   /* the program has just handed the rings back: it may record into them still */
};

struct app {
	struct app *next, *next_of_bucket;   /* app_registry.c */
	struct wmk_shard *apps;
	struct shard_source socket_source, pidfd_source;
	enum app_state state;
	int socket, pidfd;               /* -1: closed */
	char name[WMK_WIRE_NAME_MAX + 1];   /* from HELLO, non-printable bytes replaced */
	pid_t pid;
	uid_t uid;
	gid_t gid;
	uint32_t slot, generation;       /* 0: none */
	uint64_t image;                  /* what it said in HELLO */
	pid_t forked_by;                 /* likewise; 0: its number there is another than here */
	uint64_t start_time;             /* wmk_app_start_time() */
	bool start_time_read;
	char *exe;
	uint64_t *strangers;             /* serials of channels that do not track it (tracker.c); NULL: not read yet */
	struct wmk_in in;
	struct wmk_out out;
	size_t kept;                     /* bytes kept for it, as app_accept.c counts them */
	bool writing;                    /* epoll watches for room to send */
	bool dead;                       /* pid is, or cannot be watched */
	struct wmk_accept *gate;           /* by which it came; NULL: by none */
	bool complete;                   /* has said EVENTS_END */
	bool ask_then;                   /* was to be asked before that */
	uint64_t deadline;               /* APP_SILENT: say HELLO by then (ms, CLOCK_MONOTONIC) */
	struct app_event *events;
	uint32_t n_events, cap_events, live_events;
	uint32_t *fresh, n_fresh, cap_fresh;   /* numbers that came since the latest EVENTS_END */
	size_t bytes;                    /* of descriptions that came */
	struct app_channel *channels;
	uint32_t n_channels;
	uint32_t sync_first, sync_asked, sync_answered;   /* first: that is not answered; 0: all are */
	int64_t asked_at;                /* when sync_first was (ms) */
	bool missed;                     /* has not answered for a whole deadline, nor since in time */
	/* the round in which it is stopped, or what it is asked does not wake it (app_barrier.c) */
	uint32_t held_in;
	int64_t idle_since;               /* it rests since then (ms; 0: it runs), having run so often */
	uint64_t idle_turns;
	bool sent;                       /* something was queued since the latest SYNC */
	struct app_record *record;           /* NULL before HELLO, and past RECORDS_MAX */
};

/* One round of a command over the applications of a shard (app_barrier.c). */
struct barrier_part {
	struct barrier_part *next;        /* in its shard */
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
	struct wmk_accept *gate, *own_accept;    /* NULL: it does not accept */
	unsigned shard;                  /* its number there */
	/* nothing to accept with: not before that (ms, CLOCK_MONOTONIC); 0: it listens */
	uint64_t shut_until;
	struct shard_source listen_source, timer_source, jobs_source;
	struct cds_wfcq_head jobs_head;
	struct cds_wfcq_tail jobs_tail;
	bool stop, timer_armed;
	struct app *app;                 /* list */
	struct app *by_pid[WMK_PID_BUCKETS];
	unsigned n_apps;
	/* closed or dead, or given their place to others: to be swept after this turn */
	bool some_left;
	struct app_record **records;
	unsigned n_records;
	struct wmk_shard_stats stats;
	uint32_t sync;
	struct barrier_part *updates;
};

#endif
