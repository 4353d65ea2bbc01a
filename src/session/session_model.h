/* SPDX-License-Identifier: MIT */
/*
 * session_model.h - private to src/session: what tracing.h and shard.h are made of.
 *
 *     wmk_tracing ── sessions (by name) ── channels, traces ── rings ◄────── counted ───────┐
 *        ├── classes: one for each distinct (provider, name, fields, level)                 │
 *        └── shards: wmk_shard ── listening socket (or none), epoll, jobs from other threads │
 *               ├── app ...      one connection; outlives it until the pidfd says that the process is dead
 *               │     ├── events[number] ──► class
 *               │     └── channels[] ── which events are enabled ───────────────────────────┘
 *               └── record ...   what is known of each application that was ever admitted or refused (accounting)
 */
#ifndef WMK_SESSION_SESSION_MODEL_H
#define WMK_SESSION_SESSION_MODEL_H

#include <pthread.h>
#include <stdatomic.h>
#include <urcu/urcu-memb.h>
#include <urcu/rculfhash.h>
#include <urcu/wfcqueue.h>

#include "base/container.h"
#include "ctf/writer.h"
#include "filter/filter.h"
#include "session/apps/shard.h"
#include "session/model/class_table.h"
#include "session/model/process_set.h"
#include "session/tracing.h"

/* The thread sanitizer does not see what liburcu's queues and tables order: their adding, and their finding. */
#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define WMK_TSAN_ACQUIRE(address) __tsan_acquire(address)
#define WMK_TSAN_RELEASE(address) __tsan_release(address)
#else
#define WMK_TSAN_ACQUIRE(address) ((void)(address))
#define WMK_TSAN_RELEASE(address) ((void)(address))
#endif

#define WMK_SESSION_CHANNELS 32u     /* of a session at most, besides the tracer's own */
#define CHANNELS_MAX 64u             /* on one connection, which the application allows */
#define RECORDS_MAX 4096u
#define PER_PID_MAX 8u               /* connections of one process */
#define NUMBER_MAX (1u << 20)        /* event numbers of one application, gone ones included ... */
#define NUMBER_GAP 4096u             /* ... of which it may leave out so many at a time */
#define NO_ID UINT32_MAX
#define WMK_GENERATION_MAX 0x1fffffffu

struct app;
struct wmk_kernel_rings;
struct wmk_tracefs;

/* ── rings (rings.c) ─────────────────────────────────────────────────────────────────────────────────── */

struct trace {
	struct trace *next;
	struct wmk_session *session;
	uid_t uid;                       /* whose programs record */
	pid_t pid;                       /* of rings that belong to one process; else 0 */
	uint64_t start_time;             /* of that process */
	bool ended;                      /* it is dead */
	bool kernel;                     /* of kernel channels */
	bool restored;                   /* its process may never come again: who looks asks whether it lives */
	uint8_t uuid[16];
	char sub[192];
	void *outlet;                    /* NULL: an earlier daemon's, and nothing of it has been needed yet */
	uint64_t declared;               /* channels whose stream class is in the metadata, by index */
};

/*
 * Stream classes in a trace: a channel's index; a channel that gets rings beside those that nobody has handed back yet, or that was given
 * contexts after it had recorded, has them in class index + 64, and so on. Streams are called after the channel, and after the second and
 * later rings: app_0, app~2_0.
 */
#define WMK_CHANNEL_STREAMS 64u
#define WMK_RINGS_NAME (WMK_CTL_NAME_MAX + 16)

/* A channel's rings for one owner. Counted: the session holds one, and each application that has them. */
struct rings {
	atomic_uint refs;
	struct rings *next;              /* of the session */
	struct wmk_session *session;     /* counted */
	struct trace *trace;             /* dead after wmk_session_finish(); for those under the session's lock */
	struct wmk_session_channel *channel;
	struct waymark_ring_set *set;    /* NULL: an earlier daemon's, which a program has to hand back (reattach.c), or the kernel's: */
	struct wmk_kernel_rings *kernel; /* kernel_rings.c */
	void (*kernel_free)(struct rings *rings);   /* set with `kernel` */
	void *outlet;
	uint64_t id, bytes;              /* bytes: counted for the owner (quota.c), as long as they are mapped here */
	uint32_t stream_id;              /* of the stream class */
	uint64_t inode;                  /* of the set's memory: what a program cannot choose */
	uint8_t uuid[16];                /* of the set */
	/* As in the channel when they were made: of its contexts, which only grow, the first so many. */
	uint32_t field_limit, n_contexts;
	uint8_t contexts[WMK_WIRE_CONTEXTS_MAX];
	bool private;                    /* of one process */
	bool restored;                   /* programs of an earlier daemon may stand in its claims */
	bool spent;                      /* recovered before, or gone: its file is not there any more */
	/* Under the session's lock: ids by the classes' kin, NO_ID if it has none. */
	uint32_t *ids, n_ids, next_id;
	bool closed;                     /* at the outlet, or about to be */
	struct wmk_counts counts;    /* as they were asked for last */
};

/* An application, as far as its rings and reports of it need. */
struct app_key {
	uid_t uid;
	pid_t pid;
	uint64_t start_time;             /* of rings for each process only; else 0 */
	const char *name;
};

/*
 * The channel's rings for this application, made if they do not exist; a reference is the session's. Locked. NULL with
 * a cause chain, reported once.
 */
struct rings *wmk_rings_for(struct wmk_session_channel *channel, const struct app_key *app);
struct rings *wmk_rings_of_user(struct wmk_session_channel *channel, uid_t uid);
/* Of kernel channels, whatever programs record: made if need be. Locked. NULL with a cause chain. */
struct trace *wmk_trace_of_kernel(struct wmk_session *session);
void wmk_rings_user(const struct rings *rings, const struct app_key *app);  /* it can write there; locked */
/* Pieces of making rings: the set's uuid; the stream class in the metadata. */
int wmk_rings_uuid(struct rings *rings);
int wmk_rings_declare_stream(const struct rings *rings);
/* The class's id in these rings, declared if need be. NO_ID: it cannot be. Locked. */
uint32_t wmk_rings_id(struct rings *rings, struct class *class);
static inline bool wmk_rings_has_id(const struct rings *rings, const struct class *class)
{
	return class->kin < rings->n_ids && rings->ids[class->kin] != NO_ID;
}
/* Ids for all of these that have none, in one piece of metadata: all of them or none, and -errno with a cause chain. */
int wmk_rings_declare(struct rings *rings, struct class *const *classes, uint32_t n);
/* As an earlier daemon gave it. */
int wmk_rings_id_restore(struct rings *rings, const struct class *class, uint32_t id);
/* Pieces of making them, for those that are there already. */
int wmk_trace_open_here(struct wmk_session *session, struct trace *trace, bool restored);
int wmk_rings_open_here(struct rings *rings, bool restored);
struct rings *wmk_rings_alloc(struct wmk_session_channel *channel, struct trace *trace, uint32_t stream_id);
void wmk_rings_link(struct rings **list, struct rings *rings);
void wmk_rings_name(const struct wmk_session_channel *channel, uint32_t stream_id, char name[WMK_RINGS_NAME]);
/* What a set of these rings has; n_cpus 0, no uuid. */
void wmk_rings_geometry(const struct rings *rings, struct waymark_ring_options *options);
void wmk_rings_get(struct rings *rings);
void wmk_rings_put(struct rings *rings);
/* Does somebody hold rings in it that nobody has handed back yet? Locked. */
bool wmk_trace_awaited(const struct trace *trace);
/* Append what the metadata says of a trace, and of the streams of rings. */
struct wmk_ctf_text_buffer;
int wmk_trace_text(const struct trace *trace, const struct wmk_session *session, struct wmk_ctf_text_buffer *text);
int wmk_rings_text(const struct rings *rings, struct wmk_ctf_text_buffer *text);
/* Their records have the channel's layout of today: what begins to be recorded goes into these. */
bool wmk_rings_current(const struct rings *rings);
/* The class for rings that are to be made: none that the channel has, or had, in this trace. */
uint32_t wmk_rings_stream_new(const struct wmk_session_channel *channel, const struct trace *trace);
/* Contexts are about to be added: the channel's later rings get stream classes that none of the earlier has. 0; -ENOBUFS: no room for them. */
int wmk_rings_new_layout(struct wmk_session_channel *channel);
/* regenerate.c: one trace's metadata, written anew. `wait`: until it is written. */
int wmk_trace_regenerate(struct trace *trace, bool wait);

/* ── what the consumer is asked (ring_requests.c) ──────────────────────────────────────────────────────────── */

/*
 * All of the session's rings, or those of processes that ended, are written out, counted and closed at the outlet, and their traces. Locked,
 * and given up meanwhile, as with wmk_session_flush().
 */
int wmk_rings_close(struct wmk_session *session, bool ended_only);
/* Ask how many records there are by now; while somebody writes, what was told last will do. Locked, and given up meanwhile. */
void wmk_session_count(struct wmk_session *session);
/* Of its rings that are open, as counted last, and of those that were. */
void wmk_channel_counts(const struct wmk_session_channel *channel, struct wmk_counts *sum);
struct wmk_counts wmk_channel_past(const struct wmk_session_channel *channel); /* without those that end just now */

/* ── rings of an earlier daemon (reattach.c) ─────────────────────────────────────────────────────────── */

/* Open the trace at the outlet if it is not: one of an earlier daemon. Locked. */
int wmk_trace_ensure_open(struct trace *trace);
/* Of rings in a file, when they are over: its name goes. */
void wmk_rings_file_remove(const struct rings *rings);
/* They are in a file that is there: regained from it. -ENOENT: not in a file. Locked. */
int wmk_rings_reattach_file(struct rings *rings);
/* Of a set that somebody holds: no longer awaited, or still so with the set in our hands. Locked. */
int wmk_rings_reattach(struct rings *rings, int fd);
/* ── sessions (session.c, channel.c, describe.c) ─────────────────────────────────────────────────────── */

/* What a program is sent (class_filter.c). */
struct class_filter {
	uint64_t hash;                   /* not 0 */
	uint32_t len;
	uint8_t bytes[];                 /* wmk_filter_encode() */
};

struct wmk_session_channel {
	struct wmk_session *session;
	struct wmk_arena arena;          /* of `is` */
	uint64_t rule_bytes;             /* of its rules, as they were counted */
	struct wmk_ctl_channel is;
	uint32_t index;                  /* stream class id of its first layout */
	uint32_t first_stream;           /* of today's: index, or that many times WMK_CHANNEL_STREAMS more */
	uint8_t contexts[WMK_WIRE_CONTEXTS_MAX];
	uint32_t n_contexts;
	bool own;                        /* the tracer's own events, and nothing else */
	bool syscalls_unreported;        /* report once why its system calls are not by BPF (kernel_syscalls.h) */
	bool syscalls_late;              /* report once that BPF does not record yet (kernel_syscalls.h) */
	bool laid_out;                   /* has rings, or had: more contexts are another layout */
	uint32_t spent_stream;           /* stream classes past WMK_CHANNEL_STREAMS up to this may be declared without having rings */
	struct wmk_counts past;      /* of rings that are closed */
	uint8_t *verdicts;               /* by the classes' serial: enum verdict; forgotten when rules change */
	struct class_filter **filters;   /* likewise; NULL: every record is wanted */
	uint32_t n_verdicts, n_filters;
	struct wmk_filter_expr **exprs;  /* as the rules; NULL: it has no filter */
	uint32_t n_exprs;
	int filter_err;                  /* why a class's filters could not be made into one, since it was set to 0 */
	struct process_set members;
	uint64_t serial;                 /* no other channel of this wmk_tracing ever has it, but for 0 */
};

struct wmk_session {
	atomic_uint refs;
	struct cds_lfht_node node;
	struct rcu_head rcu;
	struct wmk_tracing *tracing;
	char *name, *path, *trace_name;
	/* As they are in force: the clock, the limit, the directory with its rings (shm_path.h). */
	struct wmk_ctl_settings settings;
	struct wmk_arena arena;          /* of the settings */
	int shm;                         /* that directory; -1: there is none, or it cannot be had */
	bool recovered;                  /* files that somebody still has are not touched */
	uid_t uid;
	gid_t gid;
	bool all_users;
	uint64_t created;
	enum wmk_clock_kind clock;       /* of the settings */
	atomic_bool counted;             /* among its owner's (quota.c) */
	uint64_t rule_bytes;             /* likewise; of all its channels */
	uint64_t trace_bytes;            /* likewise; what it may write of what its owner may */
	pthread_mutex_t lock;            /* what follows */
	bool writing, uncounted;         /* a thread waits for the consumer (ring_requests.c), unlocked; restored only */
	pthread_cond_t written;          /* nobody does any more */
	struct rings *ending;            /* in no list, and not all written yet (ring_requests.c) */
	bool gone, active, started;
	bool stopping;                   /* not active any more, and what it had is not all written yet */
	bool full;                       /* its traces have max_size */
	struct wmk_session_channel **channels;
	unsigned n_channels;
	struct trace *traces;
	struct rings *rings;
	struct rings *awaited;           /* an earlier daemon's: nobody has handed their sets back yet */
	struct wmk_ctl_trackers trackers;   /* lists of its own, not an arena's: they grow and shrink for ever */
	uint32_t statedump_round;
	uint32_t kernel_dumps, kernel_dumped;    /* state dumps of the kernel's that were wanted; that the consumer was told of */
	struct unrecorded *unrecorded; int trouble;
	char trouble_words[408];
};

enum verdict { VERDICT_UNKNOWN, VERDICT_OUT, VERDICT_IN };

bool wmk_channel_selects(struct wmk_session_channel *channel, const struct class *class);
/* Of a class that it wants: which records. NULL: all. Lives until the channel's rules change. */
const struct class_filter *wmk_channel_filter(const struct wmk_session_channel *channel, const struct class *class);

/* class_filter.c: one program for the filters of `n` rules; *filter is malloc'd. -E2BIG: over a program's limit. */
int wmk_filter_of_rules(const struct class *class, const struct wmk_filter_expr *const *exprs, unsigned n, struct class_filter **filter);
/* Of a channel of applications: can the filters of each known class that these rules match be made into one? -E2BIG */
int wmk_channel_filters_check(struct wmk_session_channel *channel, const struct wmk_list *rules);
/* Is it an expression? */
int wmk_filter_text_check(const char *text);
/* Under the read lock of the table. */
void wmk_tracing_each_class(struct wmk_tracing *tracing, void (*one)(void *data, const struct class *class), void *data);
/* Pattern, exclusions, level; enabled or not. */
bool wmk_rule_fits(const struct wmk_ctl_rule *rule, const struct wmk_event_class *event);
void wmk_channel_free(struct wmk_session_channel *channel);
/* Of its metadata: enum wmk_ctf_version. */
static inline uint32_t wmk_session_version(const struct wmk_session *session)
{
	return session->settings.trace_format == WMK_TRACE_CTF_2 ? WMK_CTF_2 : WMK_CTF_1_8;
}
/* Whose buffers are: those of a channel for one process end with it, like those that each process is to have for itself. */
uint32_t wmk_channel_buffers(const struct wmk_ctl_channel *is);
/* Checks options, fills in defaults, rounds sizes up. -EINVAL with the option's name. */
int wmk_channel_options_check(struct wmk_ctl_channel *is);
/* Same domain: an event belongs to one channel of it. */
bool wmk_domain_same(const struct wmk_ctl_domain *a, const struct wmk_ctl_domain *b);
/* Is the application's process of the channel's domain? Remembers who follows. */
bool wmk_domain_has(struct wmk_session_channel *channel, struct app *app);
/*
 * False: it has ended for sure, all its threads have. True when it cannot be known: hidden, or in a pid namespace where we see nobody.
 * birth: wmk_app_birth(), or the time when it started; 0: unknown, any process with that number will do.
 */
bool wmk_process_lives(pid_t pid, uint64_t birth);
/* By user and trackers. */
bool wmk_session_tracks(const struct wmk_session *session, const struct app *app);
/* Parent and time of start (clock ticks since boot), as /proc tells. False: it is gone, or hidden. */
bool wmk_process_stat(pid_t pid, pid_t *parent, uint64_t *start_time, char *state);
/*
 * Is no thread of it running, about to, or kept by a device? *turns: how often they ran so far, to see whether one did between two such questions. At most
 * *budget threads are looked at, which it is less afterwards. False also when it cannot be known.
 */
bool wmk_process_is_idle(pid_t pid, unsigned *budget, uint64_t *turns);
int wmk_name_check(const char *what, const char *name);
void wmk_session_report(struct wmk_session *session, int err, const char *what);
int wmk_session_add_own_channel(struct wmk_session *session);
struct wmk_session_channel *wmk_session_channel_by_index(const struct wmk_session *session, uint32_t index);
/* Two references, and in no table yet; gives both back. */
int wmk_session_make(struct wmk_tracing *tracing, const struct wmk_session_options *options, struct wmk_session **session);
void wmk_session_unmake(struct wmk_session *session);
/* It records from now on, or no longer. Locked. */
void wmk_session_activate(struct wmk_session *session, bool on);
/* tracing.c: the table of names. */
int wmk_session_enter(struct wmk_tracing *tracing, struct wmk_session *session);
void wmk_session_leave(struct wmk_session *session);

/* stale_claims.c: what an earlier daemon's programs that have ended left in restored rings goes; ends of traces are told by on_ended. Locked. */
void wmk_session_free_stale_claims(struct wmk_session *session);

/* ── tracing.c ───────────────────────────────────────────────────────────────────────────────────────── */

/* Identities for claim rings. A generation is never used twice with its slot. */
struct app_slot {
	uint32_t generation; bool used;
	pid_t pid; uid_t uid; char name[16];  /* of the latest application (unrecorded.h) */
};

/* What applications and control need of recovery/reattach.c: wmk_reattach_init(). */
struct wmk_reattach_ops {
	/*
	 * An application holds this set of rings. 0 also if no session needs it; -errno: the set is not what the
	 * application claims, or cannot be mapped.
	 */
	int (*app_rings)(struct app *app, const uint8_t uuid[16], int fd);
	/* Sets that were handed back while they could not be drained: tried again. Locked. */
	void (*again)(struct wmk_session *session);
	/* The session ends: it waits for sets no longer. The first error of what could be written. Locked. */
	int (*abandon)(struct wmk_session *session);
};

struct wmk_tracing {
	struct wmk_tracing_options options;
	const struct wmk_reattach_ops *reattach;   /* NULL: no session has rings of an earlier daemon */
	struct wmk_clocks clocks;
	pthread_mutex_t lock;            /* of all below but the tables */
	struct cds_lfht *sessions, *classes, *encodings;
	struct class_quota *class_quotas;  /* under `lock`: what each user's programs have brought */
	atomic_uint_fast64_t encoding_bytes;     /* relaxed: a count */
	uint64_t encoding_secret[3];
	uint32_t n_classes;              /* also read without the lock: relaxed */
	atomic_uint_fast64_t events_seen, classes_enabled;
	atomic_uint_fast64_t rings_made, channels_made;
	struct app_slot *slots;
	unsigned slots_used, slot_next;
	struct wmk_identity *before;     /* of earlier daemons; constant once a session is restored */
	unsigned n_before;
	struct quota *owners;
	uint64_t users_ring_bytes;       /* of all of them but root */
	unsigned n_sessions;
	struct wmk_shard **shards;
	bool closing;                    /* one thread is left */
	bool leaving;                    /* the next daemon is to find all of it */
	char kernel_owner[64];           /* of instances of tracefs; "": the kernel is not traced */
	struct wmk_tracefs *tracefs;     /* NULL: not needed yet */
	pthread_mutex_t calls_lock;      /* who tries whether BPF records system calls (kernel_syscalls.h); never with `lock`, which registering programs need */
	bool kernel_calls;               /* under calls_lock: it has */
	bool restoring;                  /* one thread is there yet: what was allowed once is, whatever the limits are by now */
	atomic_bool deferred;            /* call_rcu() was used */
	unsigned n_shards;
};

int wmk_slot_claim(struct wmk_tracing *tracing, uint32_t *slot, uint32_t *generation);
void wmk_slot_release(struct wmk_tracing *tracing, uint32_t slot);
int wmk_tracing_shard_add(struct wmk_tracing *tracing, struct wmk_shard *apps);
void wmk_tracing_shard_remove(struct wmk_tracing *tracing, struct wmk_shard *apps);

/* ── a shard ─────────────────────────────────────────────────────────────────────────────────────────── */

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

/* Rings that the application was told of. */
struct app_channel {
	struct rings *rings;             /* counted; NULL: the number is free */
	uint64_t *enabled;               /* bits, by event number */
	uint64_t *filters;               /* the hash of what it was told, 0: of none; by event number, n_filters of them */
	uint32_t n_words, n_filters;
	uint32_t statedump_round;
	bool sent;
	uint8_t flags;                   /* that it was told: WMK_CHANNEL_PRIVATE */
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
	size_t kept;                     /* what it has us keep, as the gate was told */
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
	uint32_t held_in;                /* the round in which it is stopped, or what it is asked does not wake it (app_barrier.c) */
	int64_t idle_since;               /* it rests since then (ms; 0: it runs), having run so often */
	uint64_t idle_turns;
	bool told;                       /* something was queued since the latest SYNC */
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
	struct wmk_accept *gate, *own_accept;    /* NULL: it accepts nobody */
	unsigned shard;                  /* its number there */
	uint64_t shut_until;             /* nothing to accept with: not before that (ms, CLOCK_MONOTONIC); 0: it listens */
	struct shard_source listen_source, timer_source, jobs_source;
	struct cds_wfcq_head jobs_head;
	struct cds_wfcq_tail jobs_tail;
	bool stop, timer_armed;
	struct app *app;                 /* list */
	struct app *by_pid[WMK_PID_BUCKETS];
	unsigned n_apps;
	bool some_left;                  /* closed or dead, or given their place to others: to be swept after this turn */
	struct app_record **records;
	unsigned n_records;
	struct wmk_shard_stats stats;
	uint32_t sync;
	struct barrier_part *updates;
};

/* ── app_registry.c ── */
void wmk_registry_enter(struct wmk_shard *apps, struct app *app);
/* Free those that are closed and whose process is dead, or that were never admitted (or all). Between turns only: epoll may name them. */
void wmk_registry_sweep(struct wmk_shard *apps, bool all);
/*
 * The next of this process behind `after`, or the first. NULL: there is none, or the process is in a PID namespace where we see nobody (0),
 * as any number of others may be.
 */
struct app *wmk_registry_process(struct wmk_shard *apps, pid_t pid, const struct app *after);

/* ── app_conn.c ── */
/* Deal with what the socket has, and send what is queued. The application may be closed afterwards, never freed. */
void wmk_app_readable(struct app *app);
/* All that the socket still holds, after the death of the process. */
void wmk_app_drain(struct app *app);
void wmk_app_flush(struct app *app);
/*
 * Close the connection because of an error (negative errno, words in the thread's chain); 0: it was closed by the
 * application.
 */
void wmk_app_close(struct app *app, int err);
/* Say why in words, then close. */
void wmk_app_refuse(struct app *app, uint32_t request, int err, const char *words);
void wmk_app_notify(struct app *app);
/* How programs are described: `known` NULL, without their events; else those that `what` asks for, with what `whose` sessions have enabled. */
struct wmk_describing {
	struct wmk_arena *arena;
	const struct wmk_ctl_list_apps *what;
	uid_t whose;
	struct wmk_described *known;
};
/* A class as it was described last, in the same arena; WMK_DESCRIBED of them, all zeros at first. */
#define WMK_DESCRIBED 256u
struct wmk_described {
	const struct class *class;
	struct wmk_ctl_event is;
};
/* In words. */
int wmk_app_describe(struct app *app, const struct wmk_describing *how, struct wmk_ctl_app *is);
/* Those of the class, with types in words, behind the fields that are there. */
int wmk_fields_describe(const struct wmk_event_class *event, struct wmk_ctl_event *is, struct wmk_arena *arena);
/*
 * Which process it is of all that ever have its number: since Linux 6.9 the kernel numbers pidfds, so that no two processes have the same until
 * the next boot; before that, when it began. 0: hidden.
 */
uint64_t wmk_app_birth(struct app *app);
uint64_t wmk_pidfd_birth(int pidfd);     /* 0: they have no numbers */
/* Ask the kernel, once: when it began (0: hidden), and what it executes. */
uint64_t wmk_app_start_time(struct app *app);
/* "": hidden, or gone. */
const char *wmk_app_exe(struct app *app);
void wmk_app_free(struct app *app);

/* ── app_reconcile.c ── */
/* app_end.c */
void wmk_app_died(struct app *app);
/* Bring the application in line with one session. The connection may be closed by it. */
void wmk_reconcile_app(struct app *app, struct wmk_session *session);
/* The events that are fresh, with all sessions. */
void wmk_reconcile_fresh_events(struct app *app);
/* Event `number` is not there any more. */
void wmk_app_event_gone(struct app *app, uint32_t number);
/* The application has these rings from before: what it is told of their channel, it is told of these. */
int wmk_app_adopt_rings(struct app *app, struct rings *rings);
/* In a session of this user; (uid_t)-1: of anybody. */
bool wmk_app_event_is_enabled(const struct app *app, uint32_t number, uid_t whose);
/* Frees the claims that the dead process stood in; returns how many. */
unsigned wmk_app_free_claims(struct app *app);
/* The same process registers again: its claims in these rings are this application's to free. */
void wmk_app_inherit_claims(struct app *app, struct app *old);
void wmk_app_channels_free(struct app *app);

/* ── app_barrier.c ── */
/* After each turn: who has answered? */
void wmk_barriers_check(struct wmk_shard *apps);
void wmk_barriers_abandon(struct wmk_shard *apps);

/* ── shard.c ── */
int wmk_shard_watch(struct wmk_shard *apps, int fd, struct shard_source *source, bool add, bool writing);
/* Closes what is watched. close() alone leaves it in epoll as long as a child has it that has not begun its program yet (posix_spawn()). */
void wmk_shard_unwatch(struct wmk_shard *apps, int fd);
/* The same of a connection (deferred_close.h). */
void wmk_shard_unwatch_socket(struct wmk_shard *apps, int fd, uid_t uid);
/* It begins to hear the gate. */
int wmk_shard_watch_accept(struct wmk_shard *apps);
/* Another program runs in this process now (exec): of those that ran there before, nobody stands in a claim any more. */
void wmk_shard_replaced(struct wmk_shard *apps, const struct app *by);
int wmk_app_ask(struct app *app, uint32_t number);
bool wmk_app_answers(const struct app *app, uint32_t number);

/* Run in the shard's thread, in order; `job` is the caller's until then. Any thread. */
struct wmk_shard_job {
	struct cds_wfcq_node node;
	void (*run)(struct wmk_shard *apps, struct wmk_shard_job *job);
};
void wmk_shard_post(struct wmk_shard *apps, struct wmk_shard_job *job);
void wmk_shard_jobs_run(struct wmk_shard *apps);

#endif
