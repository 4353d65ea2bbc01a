/* SPDX-License-Identifier: MIT */
/*
 * session_model.h - structures of sessions, channels, traces and rings.
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
#define NO_ID UINT32_MAX
#define WMK_GENERATION_MAX 0x1fffffffu
struct app;
struct wmk_kernel_rings;
struct wmk_tracefs;

struct trace {
	struct trace *next;
	struct wmk_session *session;
	uid_t uid;                       /* of the applications */
	pid_t pid;                       /* of rings that belong to one process; else 0 */
	uint64_t start_time;             /* of that process */
	bool ended;                      /* it is dead */
	bool kernel;                     /* of kernel channels */
	bool restored;                   /* its process may never come again: who looks asks whether it lives */
	uint8_t uuid[16];
	char sub[192];
	void *outlet;                    /* NULL: an earlier daemon's, and nothing of it has been needed yet */
	uint64_t declared;               /* bits by channel index: its stream class is in the metadata */
};

/*
 * Stream classes in a trace: a channel's index; a channel that gets rings beside those that were not handed back yet,
 * or that was given contexts after it had recorded, has them in class index + 64, and so on. Streams are called after
 * the channel, and after the second and later rings: app_0, app~2_0.
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
	/* NULL: an earlier daemon's, which a program has to hand back (reattach.c), or the kernel's: */
	struct waymark_ring_set *set;
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

/* Append what the metadata says of a trace, and of the streams of rings. */
struct wmk_ctf_text_buffer;

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
	/* stream classes past WMK_CHANNEL_STREAMS up to this may be declared without having rings */
	uint32_t spent_stream;
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
	int shm;                         /* that directory; -1: none, or it cannot be opened */
	bool recovered;                  /* files in use are not touched */
	uid_t uid;
	gid_t gid;
	bool all_users;
	uint64_t created;
	enum wmk_clock_kind clock;       /* of the settings */
	atomic_bool counted;             /* among its owner's (quota.c) */
	uint64_t rule_bytes;             /* likewise; of all its channels */
	uint64_t trace_bytes;            /* likewise; what it may write of what its owner may */
	pthread_mutex_t lock;            /* what follows */
	/* a thread waits for the consumer (ring_requests.c), unlocked; restored only */
	bool writing, uncounted;
	pthread_cond_t written;          /* `writing` is false again */
	struct rings *ending;            /* in no list, and not all written yet (ring_requests.c) */
	bool gone, active, started;
	bool stopping;                   /* not active any more, and what it had is not all written yet */
	bool full;                       /* its traces have max_size */
	struct wmk_session_channel **channels;
	unsigned n_channels;
	struct trace *traces;
	struct rings *rings;
	struct rings *awaited;           /* of an earlier daemon: their sets were not handed back yet */
	struct wmk_ctl_trackers trackers;   /* lists of its own, not an arena's: they grow and shrink for ever */
	uint32_t statedump_round;
	/* state dumps of the kernel that were requested; that were sent to the consumer */
	uint32_t kernel_dumps, kernel_dumped;
	struct unrecorded *unrecorded; int trouble;
	char trouble_words[408];
};

enum verdict { VERDICT_UNKNOWN, VERDICT_OUT, VERDICT_IN };

/* Of its metadata: enum wmk_ctf_version. */
static inline uint32_t wmk_session_version(const struct wmk_session *session)
{
	return session->settings.trace_format == WMK_TRACE_CTF_2 ? WMK_CTF_2 : WMK_CTF_1_8;
}

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
	/*
	 * who tries whether BPF records system calls (kernel_syscalls.h); never with `lock`, which registering programs
	 * need
	 */
	pthread_mutex_t calls_lock;
	bool kernel_calls;               /* under calls_lock: it has */
	/* one thread is there yet: what was allowed once is, whatever the limits are by now */
	bool restoring;
	atomic_bool deferred;            /* call_rcu() was used */
	unsigned n_shards;
};

static inline bool wmk_channel_is_kernel(const struct wmk_session_channel *channel)
{
	return channel->is.domain.kind == WMK_DOMAIN_KERNEL;
}

#endif
