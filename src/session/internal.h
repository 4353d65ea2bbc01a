/* SPDX-License-Identifier: MIT */
/*
 * internal.h - private to src/session: what a wmk_apps is made of.
 *
 *     wmk_apps ── listening socket, epoll, timer of silent connections
 *        ├── app ...      one connection; outlives it until the pidfd says that the process is dead
 *        │     └── events[number] ──► class
 *        ├── class ...    one distinct (provider, name, fields); belongs to one channel at most, where it has an id
 *        └── record ...   what is known of each application that was ever admitted or refused (accounting)
 */
#ifndef WMK_SESSION_INTERNAL_H
#define WMK_SESSION_INTERNAL_H

#include "session/apps.h"

#define CHANNELS_MAX 32u
#define RECORDS_MAX 4096u
#define CLASS_BUCKETS 4096u          /* power of two */
#define PER_PID_MAX 8u               /* connections of one process */
#define NUMBER_MAX (1u << 20)        /* event numbers of one application, gone ones included ... */
#define NUMBER_GAP 4096u             /* ... of which it may leave out so many at a time */
#define NO_CHANNEL UINT32_MAX

struct class {
	struct class *next;              /* in its bucket */
	uint64_t hash;
	struct wmk_event_class *event;
	char *full;                      /* provider:name */
	uint32_t channel;                /* index, or NO_CHANNEL */
	uint32_t id;
	bool declared;                   /* it has its id */
	bool own;                        /* the tracer's own */
};

struct pattern {
	char *text;
	uint64_t matched;
};

struct channel {
	struct wmk_apps_channel given;   /* patterns in it are the copies below */
	struct pattern *patterns;
	unsigned n_patterns, n_includes;
	uint32_t next_id;
	bool on;
};

struct record {
	struct wmk_app_info info;
	char name[WMK_WIRE_NAME_MAX + 1];
	char why[256];
};

struct app;

/* What epoll reports: a listening socket, a timer, an application's socket or its pidfd. */
struct source {
	enum { SOURCE_LISTEN, SOURCE_TIMER, SOURCE_SOCKET, SOURCE_PIDFD } kind;
	struct app *app;
};

enum app_state { APP_SILENT /* no HELLO yet */, APP_ADMITTED, APP_CLOSED };

struct app_event {
	struct class *class;             /* NULL: no such event */
	bool enabled;
	bool counted;                    /* in the record: enabled once */
};

struct app {
	struct app *next;
	struct wmk_apps *apps;
	struct source socket_source, pidfd_source;
	enum app_state state;
	int socket, pidfd;               /* -1: closed */
	pid_t pid;
	uid_t uid;
	uint32_t slot, generation;       /* 0: none */
	uint64_t image;                  /* what it said in HELLO */
	struct wmk_in in;
	struct wmk_out out;
	bool writing;                    /* epoll watches for room to send */
	bool dead;                       /* pid is, or cannot be watched */
	uint64_t deadline;               /* APP_SILENT: say HELLO by then (ms, CLOCK_MONOTONIC) */
	struct app_event *events;
	uint32_t n_events, cap_events, live_events;
	size_t bytes;                    /* of descriptions that came */
	uint32_t channels_sent;          /* bit mask */
	uint32_t sync_asked, sync_answered;
	struct record *record;           /* NULL before HELLO, and past RECORDS_MAX */
};

struct slot {
	uint32_t generation;
	bool used;
};

struct wmk_apps {
	struct wmk_apps_options options; /* defaults filled in */
	char clock[32];
	char *rundir;
	int rundir_fd;
	bool made_rundir, bound;
	int epoll, listener, timer, spare;
	struct source listen_source, timer_source;
	struct channel channels[CHANNELS_MAX];
	unsigned n_channels;
	struct app *app;                 /* list */
	unsigned n_apps;
	struct slot *slots;
	struct class *classes[CLASS_BUCKETS];
	struct record **records;
	unsigned n_records;
	struct wmk_apps_stats stats;
	uint32_t sync;
};

/* ── classes.c ── */
/* The class that is the same as *event, which it takes over or frees. NULL without memory. */
struct class *wmk_class_intern(struct wmk_apps *apps, struct wmk_event_class *event);
/* Give it an id and have it declared, if that is not done. 0, or what the callback says. */
int wmk_class_declare(struct wmk_apps *apps, struct class *class);
void wmk_classes_free(struct wmk_apps *apps);
int wmk_channels_copy(struct wmk_apps *apps, const struct wmk_apps_options *options);
void wmk_channels_free(struct wmk_apps *apps);

/* ── app.c ── */
/* Deal with what the socket has, and send what is queued. The application may be closed afterwards, never freed. */
void wmk_app_readable(struct app *app);
/* All that the socket still holds, after the death of the process. */
void wmk_app_drain(struct app *app);
void wmk_app_flush(struct app *app);
/* Enable or disable one event, if its channel's switch and the event's state differ. */
void wmk_app_event_update(struct app *app, uint32_t number);
/*
 * Close the connection because of an error (negative errno, words in the thread's chain); 0: it was closed by the
 * application.
 */
void wmk_app_close(struct app *app, int err);
/* Say why in words, then close. */
void wmk_app_refuse(struct app *app, uint32_t request, int err, const char *words);
void wmk_app_notify(struct app *app);

/* ── apps.c ── */
int wmk_apps_watch(struct wmk_apps *apps, int fd, struct source *source, bool add, bool writing);
/* Another program runs in this process now (exec): of those that ran there before, nobody stands in a claim any more. */
void wmk_apps_replaced(struct wmk_apps *apps, const struct app *by);
int wmk_apps_slot_take(struct wmk_apps *apps, uint32_t *slot, uint32_t *generation);

#endif
