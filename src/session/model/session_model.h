/* SPDX-License-Identifier: MIT */
/*
 * session_model.h - structures of sessions, channels, traces and rings.
 *
 *     wmk_tracing ── sessions (by name) ── channels, traces ── rings ◄────── counted ───────┐
 *        ├── classes: one for each distinct (provider, name, fields, level)                 │
 *        └── shards: wmk_shard ── listening socket (or none), epoll, work items from other threads │
 *               ├── app ...      one connection; stays until the pidfd reports the end of the process
 *               │     ├── events[number] ──► class
 *               │     └── channels[] ── which events are enabled ───────────────────────────┘
 *               └── record ...   accounting of each application that was ever admitted or rejected
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
#include "session/model/class_table.h"
#include "session/model/process_set.h"
#include "session/tracing.h"

/*
 * The thread sanitizer does not detect the ordering of liburcu's queues and tables between adding and finding a node.
 */
#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define WMK_TSAN_ACQUIRE(address) __tsan_acquire(address)
#define WMK_TSAN_RELEASE(address) __tsan_release(address)
#else
#define WMK_TSAN_ACQUIRE(address) ((void)(address))
#define WMK_TSAN_RELEASE(address) ((void)(address))
#endif

#define WMK_SESSION_CHANNELS 32u     /* most channels of a session, besides the channel of the state dump */
#define NO_ID UINT32_MAX
#define WMK_GENERATION_MAX 0x1fffffffu
struct app;
struct wmk_kernel_rings;
struct wmk_tracefs;

struct trace {
	struct trace *next;
	struct wmk_session *session;
	uid_t uid;                       /* of the applications */
	pid_t pid;                       /* of the one process that owns the rings; else 0 */
	uint64_t start_time;             /* of that process */
	bool ended;                      /* that process has ended */
	bool kernel;                     /* the trace of kernel channels */
	/* restored: the process of the trace may have ended without registering again, so its end must be checked */
	bool restored;
	uint8_t uuid[16];
	char sub[192];
	void *output;                    /* NULL: restored and not opened yet */
	uint64_t declared;               /* bit per channel index: its first stream class is in the metadata */
};

/*
 * The first stream class of a channel has the index of the channel. A channel gets new rings with another stream class
 * (index + 64, + 128 and so on) in three cases: its rings of an earlier daemon are not reattached yet, a context was
 * added after the channel had got rings, or the clock has restarted. Streams have the name of the channel, with a
 * number for the second and later rings: app_0, app~2_0.
 */
#define WMK_CHANNEL_STREAMS 64u
#define WMK_RINGS_NAME (WMK_CTL_NAME_MAX + 16)

/*
 * The rings of a channel for one owner. The session holds one reference, and each application that uses the rings holds
 * one reference.
 */
struct rings {
	atomic_uint refs;
	struct rings *next;              /* in the session's list */
	struct wmk_session *session;     /* holds a reference */
	struct trace *trace;             /* under the session's lock; invalid after wmk_session_finish() */
	struct wmk_session_channel *channel;
	/* NULL: awaited rings, which an application must reattach (reattach.c), or rings of the kernel: */
	struct waymark_ring_set *set;
	struct wmk_kernel_rings *kernel; /* kernel_rings.c */
	void (*kernel_free)(struct rings *rings);   /* set with `kernel` */
	void *output;
	uint64_t id, bytes;              /* bytes: charged to the owner (quota.c) while they are mapped here */
	uint32_t stream_id;              /* of the stream class */
	uint64_t inode;                  /* of the set's memory; an application cannot choose it */
	uint8_t uuid[16];                /* of the set */
	/* Values that the channel had when the rings were created. Contexts of a channel are only appended. */
	uint32_t field_limit, n_contexts;
	uint8_t contexts[WMK_WIRE_CONTEXTS_MAX];
	bool private;                    /* of one process */
	bool restored;                   /* applications of an earlier daemon may hold claims */
	/* the file does not exist any more: the rings were recovered before, or have ended */
	bool spent;
	/* Under the session's lock. The index into `ids` is class->kin; NO_ID: the class has no id in these rings. */
	uint32_t *ids, n_ids, next_id;
	bool closed;                     /* at the trace output, or about to be */
	struct wmk_counts counts;        /* as last queried */
	struct wmk_counts earlier;       /* the part of `counts` that is in closed chunks */
};

/* The properties of an application that its rings and reports need. */
struct app_key {
	uid_t uid;
	pid_t pid;
	uint64_t start_time;             /* for per-process rings; else 0 */
	const char *name;
};

/* A buffer for text of the metadata. */
struct wmk_ctf_text_buffer;

/* A filter program as it is sent to applications (class_filter.c). */
struct class_filter {
	uint64_t hash;                   /* not 0 */
	uint32_t len;
	uint8_t bytes[];                 /* wmk_filter_encode() */
};

struct wmk_session_channel {
	struct wmk_session *session;
	struct wmk_arena arena;          /* of `is` */
	uint64_t rule_bytes;             /* of its rules, as charged to the quota */
	struct wmk_ctl_channel is;
	uint32_t index;                  /* stream class id of its first layout */
	uint32_t first_stream;           /* of the current layout: index plus a multiple of WMK_CHANNEL_STREAMS */
	uint8_t contexts[WMK_WIRE_CONTEXTS_MAX];
	uint32_t n_contexts;
	bool own;                        /* the channel of the state dump: only events of the tracer */
	bool syscalls_unreported;        /* report once why BPF does not record its system calls (kernel_syscalls.h) */
	bool syscalls_late;              /* report once that BPF does not record yet (kernel_syscalls.h) */
	bool laid_out;                   /* has or had rings: more contexts need another layout */
	/* stream classes from WMK_CHANNEL_STREAMS up to this may be declared without rings */
	uint32_t spent_stream;
	struct wmk_counts past;      /* of closed rings */
	uint8_t *verdicts;               /* by serial of the class: enum verdict; cleared when rules change */
	struct class_filter **filters;   /* likewise; NULL: every record is recorded */
	uint32_t n_verdicts, n_filters;
	struct wmk_filter_expr **exprs;  /* parallel to the rules; NULL: a rule without a filter */
	uint32_t n_exprs;
	int filter_err;                  /* first error of combining filters since this member was set to 0 */
	struct process_set members;
	uint64_t serial;                 /* unique among the channels of this wmk_tracing; never 0 */
};

struct wmk_session {
	atomic_uint refs;
	struct cds_lfht_node node;
	struct rcu_head rcu;
	struct wmk_tracing *tracing;
	char *name, *path, *trace_name;
	/* The settings in force: clock, size limit, directory of rings (shm_path.h) and others. */
	struct wmk_ctl_settings settings;
	struct wmk_arena arena;          /* of the settings */
	int shm;                         /* the directory of rings; -1: none, or it cannot be opened */
	bool recovered;                  /* files in use are not changed */
	uid_t uid;
	gid_t gid;
	bool all_users;
	uint64_t created;
	enum wmk_clock_kind clock;       /* of the settings */
	struct wmk_session_chunk chunk;  /* under the lock */
	/*
	 * under the lock, CLOCK_MONOTONIC in ns: begin of the interval of the schedule, 0: not known yet; time before
	 * which the schedule does not rotate again
	 */
	uint64_t interval_begin, next_rotation;
	atomic_bool counted;             /* the session is charged to its owner (quota.c) */
	uint64_t rule_bytes;             /* charged for the rules of all channels */
	uint64_t trace_bytes;            /* charged for its traces */
	pthread_mutex_t lock;            /* protects the members below */
	/*
	 * writing: a thread waits for the consumer daemon without the lock (ring_requests.c). uncounted: the session
	 * was restored, and its records are not counted yet.
	 */
	bool writing, uncounted;
	pthread_cond_t written;          /* `writing` is false again */
	struct rings *ending;            /* in no list, and not written completely (ring_requests.c) */
	bool gone, active, started;
	bool stopping;                   /* stopped, and its records are not all written yet */
	bool full;                       /* its traces have reached max_size */
	struct wmk_session_channel **channels;
	unsigned n_channels;
	struct trace *traces;
	struct rings *rings;
	struct rings *awaited;           /* of an earlier daemon, not reattached yet */
	struct wmk_ctl_trackers trackers;   /* malloc'd lists, not in an arena: they grow and shrink often */
	uint32_t statedump_round;
	/* state dumps of the kernel: number requested, number sent to the consumer daemon */
	uint32_t kernel_dumps, kernel_dumped;
	uint32_t n_snapshots;            /* number of snapshots so far, a part of their names */
	/*
	 * Requests for snapshots that came from applications (snapshot_request.c). request_last: id of the last request
	 * that was served; request_omitted: id of the last request that was omitted. snapshots_omitted: number of
	 * omitted requests. requested_ms: when the last request was served (ms; 0: never).
	 */
	uint64_t request_last, request_omitted, snapshots_omitted;
	int64_t requested_ms;
	int64_t restarted_ms;            /* when a restart of the clock was last handled (rotate.c); 0: never */
	struct unrecorded *unrecorded; int trouble;
	char trouble_words[408];
};

enum verdict { VERDICT_UNKNOWN, VERDICT_OUT, VERDICT_IN };

/* Version of the session's metadata: enum wmk_ctf_version. */
static inline uint32_t wmk_session_version(const struct wmk_session *session)
{
	return session->settings.trace_format == WMK_TRACE_CTF_2 ? WMK_CTF_2 : WMK_CTF_1_8;
}

/* Identities for claims of rings. A generation is never reused with the same slot. */
struct app_slot {
	uint32_t generation; bool used;
	pid_t pid; uid_t uid; char name[16];  /* of the latest application (unrecorded.h) */
};

/*
 * Functions of recovery/reattach.c that src/session/apps and src/session/control call; wmk_reattach_init() sets them.
 */
struct wmk_reattach_ops {
	/*
	 * Called when an application offers a ring set. Returns 0 even if no session needs the offered ring set.
	 * Returns -errno if the ring set does not match the application's claim, or cannot be mapped.
	 */
	int (*app_rings)(struct app *app, const uint8_t uuid[16], int fd);
	/* Retry the ring sets that were offered while they could not be drained. Locked. */
	void (*again)(struct wmk_session *session);
	/*
	 * Called when the session ends and stops waiting for ring sets. -EIO: the records of a reattached set cannot be
	 * written. Locked.
	 */
	int (*abandon)(struct wmk_session *session);
};

struct wmk_tracing {
	struct wmk_tracing_options options;
	const struct wmk_reattach_ops *reattach;   /* NULL: no session has rings of an earlier daemon */
	struct wmk_clocks clocks;
	pthread_mutex_t lock;            /* protects the members below, except the tables */
	struct cds_lfht *sessions, *classes, *encodings;
	struct class_quota *class_quotas;  /* under `lock`: classes of each user's applications */
	atomic_uint_fast64_t encoding_bytes;     /* relaxed: a count */
	uint64_t encoding_secret[3];
	uint32_t n_classes;              /* also read without the lock, relaxed */
	atomic_uint_fast64_t events_seen, classes_enabled;
	atomic_uint_fast64_t rings_made, channels_made;
	struct app_slot *slots;
	unsigned slots_used, slot_next;
	struct wmk_identity *before;     /* of earlier daemons; constant once a session is restored */
	unsigned n_before;
	struct quota *owners;
	uint64_t users_ring_bytes;       /* of all owners except root */
	unsigned n_sessions;
	struct wmk_shard **shards;
	bool closing;                    /* only one thread is left */
	bool leaving;                    /* the next daemon takes over everything */
	char kernel_owner[64];           /* owner of tracefs instances; "": the kernel is not traced */
	struct wmk_tracefs *tracefs;     /* NULL: not opened yet */
	/*
	 * Held while a thread tests whether BPF records system calls (kernel_syscalls.h). No thread holds calls_lock
	 * and `lock` together, because registering applications need `lock`.
	 */
	pthread_mutex_t calls_lock;
	bool kernel_calls;               /* under calls_lock: BPF has recorded system calls */
	/* a single-threaded restore runs: objects of the earlier daemon are accepted, even above the current limits */
	bool restoring;
	atomic_bool deferred;            /* call_rcu() was used */
	unsigned n_shards;
};

static inline bool wmk_channel_is_kernel(const struct wmk_session_channel *channel)
{
	return channel->is.domain.kind == WMK_DOMAIN_KERNEL;
}

#endif
