/* SPDX-License-Identifier: MIT */
/*
 * tracer.h - what the files of libwaymark share.
 *
 *     program's threads                     control (one lock, `wmk_tracer.lock`)           controller
 *     ─────────────────                     ───────────────────────────────────             ──────────
 *     constructor ──► module.c  modules ──► event.c  events, names ──► conn.c  EVENT ─────────►
 *     waymark_record ◄── recorder.c  chains of recorders ◄───────────── conn.c ◄──── CHANNEL, ENABLE
 *        record.c, context.c    patch.c  the sites' bytes               helper_thread.c: the thread that runs conn.c
 *
 * Only record.c, context.c and probe.c run on the recording path; they take no lock and allocate nothing. What they may
 * still look at after it was given up (recorders, events, ring sets) is type-stable: reused for the same kind of
 * object, never unmapped.
 */
#ifndef WMK_TRACER_TRACER_H
#define WMK_TRACER_TRACER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <waymark/detail/abi.h>
#include <waymark/ring.h>
#include <waymark/runtime.h>

#include "schema/schema.h"
#include "wire/wire.h"

#define WMK_EXPORT __attribute__((visibility("default")))
#define wmk_likely(x) __builtin_expect(!!(x), 1)
#define wmk_unlikely(x) __builtin_expect(!!(x), 0)

/* ── thread-local ────────────────────────────────────────────────────────────────────────────────────── */

/* Contexts that never change in a thread, as they stand in its records. */
#define WMK_CTX_CACHE_WORDS 5

/*
 * `mark` is zero in a thread whose thread-local storage is its own. The two halves are written by fork.c: `vforked`
 * while a vfork child runs on it, `cloned` counts clone(CLONE_VM) children that share it.
 */
struct wmk_thread {
	union {
		struct {
			uint32_t vforked;
			uint32_t cloned;
		};
		uint64_t mark;
	};
	uint32_t tid;           /* 0: not asked yet, or a fork has made it another's */
	uint8_t in_probe;       /* depth of probes that this thread runs */
	uint8_t ctx_cache_busy; /* `ctx_cache` is being made */
	uint16_t ctx_key;       /* which list of contexts `ctx_cache` holds; 0: none */
	char procname[16];
	uint8_t locking;        /* it has the tracer's lock, or is about to ... */
	uint8_t nested;         /* ... and forks in so many handlers that came meanwhile */
	uint64_t ctx_cache[WMK_CTX_CACHE_WORDS];
};
extern __thread struct wmk_thread wmk_thread __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* ── events ──────────────────────────────────────────────────────────────────────────────────────────── */

/* How the recording path turns (words, refs) into fragments. */
enum wmk_op_kind {
	WMK_OP_RUN,       /* `bytes` of scalars, staged in `words` whole words */
	WMK_OP_ZERO,      /* one byte 0: field `msg` of a text event, which the program does not stage */
	WMK_OP_STRING,    /* a ref, NUL-terminated */
	WMK_OP_STRING_MAX, /* the same, of which at most `bytes` are read: "%.5s" */
	WMK_OP_STRING_ARG, /* the same, bounded by the int that stands `bytes` before the words that follow: "%.*s" */
	WMK_OP_TEXT,      /* a ref with a length, recorded as a string */
	WMK_OP_BLOB,      /* a ref: u32 length, bytes */
	WMK_OP_SEQ,       /* a ref: u32 count of elements of `bytes` each, elements */
	WMK_OP_ARRAY,     /* a ref: `bytes` bytes, no length */
};

struct wmk_op {
	uint8_t kind;
	uint8_t reserved;
	uint16_t words;
	uint32_t bytes;
};

#define WMK_OPS_MAX (2 * WAYMARK_MAX_FIELDS + 2)

/* What the program passes by reference. */
struct wmk_event_ref {
	uint16_t op;                    /* that records it */
	uint16_t words;                 /* staged before it */
};

struct wmk_name;
struct wmk_filter_block;          /* filter.h */

/*
 * An event: all descriptors with one provider, name and fields. Never freed: a library that is loaded again finds its
 * event here, and a recorder may hold a pointer to it for as long as it likes.
 */
struct wmk_event {
	uint16_t n_ops;
	bool plain;                     /* one run, or no field at all */
	/* at most one run and this at its end (enum wmk_op_kind), or WMK_OP_RUN: not so */
	uint8_t tail;
	uint32_t run_bytes;             /* of the first run, 0 if there is none */
	uint32_t tail_bytes;            /* `bytes` of that op */
	uint8_t tail_shift;             /* of a sequence: its elements' size as a power of two */
	struct wmk_op *ops;             /* n_ops of them */
	uint16_t n_refs;
	uint32_t n_words;               /* that the program stages */
	struct wmk_event_ref *refs;     /* n_refs of them */
	uint32_t text_refs;             /* bit i: refs[i] is a text that no format bounds */

	struct waymark_recorder *chain;         /* what every descriptor's chain points to */
	struct wmk_event_class *class;
	struct wmk_name *name;
	struct wmk_event *next_of_name;
	uint32_t number;                        /* its index in wmk_tracer.events, and on the wire */
	struct waymark_desc **descs;
	uint32_t n_descs, cap_descs;
	const struct waymark_site **sites;
	uint32_t n_sites, cap_sites;
	uint32_t life;                          /* counts how often it has gone */
	uint32_t n_probes;                      /* in its chain */
	struct waymark_field *probe_fields;     /* what probes are shown; made when the first is connected */
	bool patched;                           /* sites are on */
	/* only the helper declared it when it was new, so hardly anybody else records it */
	bool is_helpers;
	bool dirty;                     /* is in the list of events to patch */
	struct wmk_event *next_dirty;
	const char *untraceable;        /* why its sites cannot be patched, or NULL ... */
	uint32_t untraceable_serial;    /* ... and the how many-eth event it is of which that is so */
};

/* Everything of one provider:name; sites that only ask (wm_enabled) follow all its events. */
struct wmk_name {
	struct wmk_name *next;          /* in the hash bucket */
	uint64_t hash;
	char *provider, *name;
	struct wmk_event *events;
	const struct waymark_site **guards;
	uint32_t n_guards, cap_guards;
};

/* ── channels and recorders ───────────────────────────────────────────────────────────────────────────── */

struct wmk_conn;
struct wmk_channel {
	struct wmk_channel *next;
	struct wmk_conn *conn;          /* NULL: an orphan (see channel.h) */
	struct waymark_ring_set *set;
	/* the set's, in the helper's table, to be handed to the next controller; or -1 */
	int fd;
	uint8_t endpoint;               /* whose it is, with a connection or without */
	bool persist;                   /* as an orphan it waits for the next controller */
	bool is_private;                /* not for the child of a fork */
	uint32_t number;
	uint32_t field_limit;
	uint8_t uuid[16];
	uint8_t n_contexts;
	uint8_t contexts[WMK_WIRE_CONTEXTS_MAX];
	uint16_t ctx_key;               /* see wmk_context_cache_key() */
	uint8_t ctx_words;
	bool short_clock;               /* the rings' clock is the one that the straight path reads */
	uint32_t enabled;               /* recorders ... */
	uint32_t enabled_helpers;       /* ... and those of them whose events only the helper records */
	uint64_t mapped_position;       /* bytes written when the helper looked last */
};

#define WMK_RECORDER_CONTEXTS 7

/*
 * A filter that holds one staged number against bounds: eight staged bytes are wanted if `(bytes - low & mask) <
 * count`. `mask` has the bits of the number, which `low` and `count` have in the same place.
 */
struct wmk_filter_quick {
	uint64_t low, mask, count;
	/* of the eight bytes, as an offset in the words; WMK_FILTER_QUICK_...; 0: the filter's program runs */
	uint32_t end;
};
/* The filter's block has a table (filter_table.h). More than the words of any event. */
#define WMK_FILTER_QUICK_SHORT_TABLE 0x10000u
#define WMK_FILTER_QUICK_TABLE 0x10001u

/*
 * A recorder reads a recorder while it may become another's: relaxed, each member by itself; whether they belong
 * together is the guard's to say.
 */
#define wmk_read_guarded(member) __atomic_load_n(&(member), __ATOMIC_RELAXED)
#define wmk_write_guarded(member, value) __atomic_store_n(&(member), (value), __ATOMIC_RELAXED)

/*
 * Says that an event is recorded into a channel, or given to a probe. `gen` is the guard: 0 when dead, else an odd
 * serial that is never used again; all other members are written while it is 0, so whoever still finds the same `gen`
 * after reading them has read what belongs together. A ring commits a record only if `gen` still holds at that moment.
 * A chain is sorted by `gen`.
 */
struct waymark_recorder {
	uint64_t gen;
	void *direct;           /* the event if enter.S records it, else this recorder: no event at all */
	struct waymark_ring_set *set;
	uint32_t id;
	uint32_t run_bytes;     /* as the event's */
	struct waymark_recorder *next;
	struct wmk_event *event;
	uint32_t field_limit;
	uint16_t ctx_key;       /* contexts can be had from wmk_thread.ctx_cache, for a short record; else 0 */
	uint8_t ctx_words, run_words;
	uint32_t quick_end;     /* see struct wmk_filter_quick */
	bool short_run;         /* it would be plain if it had no filter */
	/* the event ends in its only reference, and what is staged before it is short enough */
	bool tail;
	/* second line: filters, contexts, probes */
	/* the event if it is recorded by the straight path, else this recorder: no event at all */
	void *plain;
	uint64_t quick_low, quick_mask, quick_count;
	struct wmk_filter_block *filter; /* which records are not wanted, or NULL */
	uint8_t n_contexts;
	uint8_t contexts[WMK_RECORDER_CONTEXTS];
	waymark_probe_fn probe;
	void *data;
	uint64_t order;                  /* in its chain, ascending: whoever takes another's place has its order */
	/* control's own */
	struct wmk_channel *channel;
	struct waymark_recorder *next_free;
	bool adopted;                   /* confirmed by the connection that took an inherited channel over */
} __attribute__((aligned(128)));

/* ── the tracer ──────────────────────────────────────────────────────────────────────────────────────── */

/* Of a path that a socket can have. */
#define WMK_ENDPOINT_PATH_MAX 108

/*
 * What the environment says is here as it was at the first use of the library. Nobody looks there again: the program
 * may change it at any time, in its own threads, and nothing keeps the helper's look apart from that.
 */
struct wmk_tracer {
	pthread_mutex_t lock;           /* everything below, chains' changes, and text patching; held across fork */
	bool disabled;                  /* WAYMARK_DISABLE=1 */
	bool secure;                    /* AT_SECURE: nothing is taken from the environment */
	/* WAYMARK_ALLOW_BLOCKING: recorders may wait for room where a channel asks for it */
	bool allow_blocking;
	bool has_rundir;                /* WAYMARK_RUNDIR was there ... */
	/* ... with this value: what is longer is cut, and still too long for a place */
	char rundir[WMK_ENDPOINT_PATH_MAX];
	int64_t register_ms;            /* WAYMARK_REGISTER_TIMEOUT */
	struct waymark_module *modules; /* registered, newest first */
	struct wmk_name **names;        /* hash table of n_buckets */
	uint32_t n_buckets, n_names;
	struct wmk_event **events;
	uint32_t n_events, cap_events;
	struct wmk_channel *channels;
	struct wmk_event *dirty;
	/* counts registrations; a batch's number is its value when the batch was sent */
	uint32_t changes;
	uint32_t n_untraceable;         /* events that were found to be */
	uint32_t n_probes;              /* connected: modules are scanned as they come */
};
extern struct wmk_tracer wmk_tracer __attribute__((visibility("hidden")));

void wmk_lock(void);
void wmk_unlock(void);
/* Is this a signal handler that came while its thread had the lock, or was about to have it? It must not ask for it. */
bool wmk_lock_is_mine(void);
/*
 * Block the calling thread's signals but for those of base/faults.h; returns the mask as it was, for
 * wmk_signals_restore().
 */
uint64_t wmk_signals_block(void);
void wmk_signals_restore(uint64_t before);
/* A sleep in which no thread is cancelled: what it waits for is to be finished. */
static inline void wmk_pause(long ns)
{
	const struct timespec moment = { .tv_nsec = ns };

	syscall(SYS_nanosleep, &moment, NULL);
}
/* First use of the library, by whatever way: environment, fork handlers. Idempotent, cheap. Lock not held. */
void wmk_tracer_init(void);

/* ── module.c: modules, sites, descriptors ───────────────────────────────────────────────────────────── */

/* Turn the sites of modules that registered since the last call into events. Lock held. */
void wmk_modules_scan(void);

/* ── event.c ─────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * The event that `desc` declares, made if need be; NULL when the descriptor is refused (words in the cause chain). Lock
 * held.
 */
struct wmk_event *wmk_event_get(struct waymark_desc *desc);
struct wmk_name *wmk_name_get(const char *provider, const char *name, bool make);
int wmk_event_add_desc(struct wmk_event *event, struct waymark_desc *desc);
int wmk_event_add_site(struct wmk_event *event, const struct waymark_site *site);
int wmk_name_add_guard(struct wmk_name *name, const struct waymark_site *site);
/* With its last descriptor, all that is enabled goes. The event stays, for the day that the library comes back. */
void wmk_event_drop_desc(struct wmk_event *event, struct waymark_desc *desc);
/* Is it there: has it a descriptor? */
bool wmk_event_is_loaded(const struct wmk_event *event);

/* ── runtime.c ───────────────────────────────────────────────────────────────────────────────────────── */

/* waymark_event_register() for the helper, which tells of it in its turn and need not be woken. */
struct waymark_event *wmk_event_register_by_helper(const struct waymark_schema *schema);

/* ── plan.c ──────────────────────────────────────────────────────────────────────────────────────────── */

/* Bytes of a scalar type as staged; 0 for what is passed by reference. */
uint32_t wmk_scalar_bytes(unsigned type);
/* Fill event->ops, n_ops, plain, run_bytes from the descriptor. 0, -EINVAL, -ENOMEM. */
int wmk_plan_make(struct wmk_event *event, const struct waymark_desc *desc);

/* ── patch.c ─────────────────────────────────────────────────────────────────────────────────────────── */

/* Remember that a site of the event cannot be patched, and why; controllers are told. Lock held. */
void wmk_event_untraceable(struct wmk_event *event, const char *why);
/* Is this site's code what its kind says? NULL, or why not. */
const char *wmk_patch_check(const struct waymark_site *site);
/*
 * Remember that the event's sites may have to change; wmk_patch_flush() does all remembered ones, then one membarrier.
 * Lock held.
 */
void wmk_patch_later(struct wmk_event *event);
void wmk_patch_flush(void);
/* membarrier(2), registering at the first use. 0 or -errno. */
int wmk_membarrier(int command, int registration);

/* Bytes written into the channel's CPU rings, by anybody. */
uint64_t wmk_channel_position(const struct wmk_channel *channel);

/* ── recorder.c ───────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Append a recorder for the event to its chain, with or without a filter, which is its own then. NULL: no memory. Lock
 * held; the caller patches.
 */
struct waymark_recorder *wmk_recorder_add(struct wmk_event *event, struct wmk_channel *channel, uint32_t id,
					struct wmk_filter_block *filter);
/* The same for a probe. */
struct waymark_recorder *wmk_recorder_add_probe(struct wmk_event *event, waymark_probe_fn probe, void *data);
/* Kill and unlink; its memory is reused after wmk_reclaim(). Lock held. */
void wmk_recorder_remove(struct waymark_recorder *recorder);
/*
 * Another channel's recorder in its place, or one with another filter: each record is the one's or the other's. 0 or
 * -ENOMEM. Lock held.
 */
int wmk_recorder_replace(struct waymark_recorder *recorder, struct wmk_channel *channel, uint32_t id,
			struct wmk_filter_block *filter);
struct waymark_recorder *wmk_recorder_find(struct wmk_event *event, const struct wmk_channel *channel);
/* All recorders of the channel, then the channel itself. Lock held. */
void wmk_channel_remove(struct wmk_channel *channel);
/*
 * The grace period: after it no recorder uses what was removed before the call, and it is reused. True: all done.
 * False: a recorder holds a claim or runs a probe; call again later. Lock held.
 */
bool wmk_reclaim(void);

/* ── context.c ───────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_context_desc {
	bool constant;                  /* never changes in a thread */
	uint32_t bytes;                 /* as its type in schema/contexts.def says ... */
	uint8_t filter_type;            /* ... and as a filter has it: enum wmk_filter_type */
	void (*fill)(void *to, const void *ip);
};
/* By number (enum wmk_context); NULL for one that does not exist. */
const struct wmk_context_desc *wmk_context_get(unsigned number);
/*
 * A number for this list of contexts if it can be kept in wmk_thread.ctx_cache (all constant, whole words, not too
 * long), else 0; *words: how many. Lock held.
 */
uint16_t wmk_context_cache_key(const uint8_t *contexts, unsigned n, uint8_t *words);
/* The calling thread is in a new process now (fork). */
void wmk_context_after_fork(void);
uint32_t wmk_context_tid(void);

/* ── probe.c ─────────────────────────────────────────────────────────────────────────────────────────── */

/* Attach the probes that were connected to this name before the event was there. Lock held. */
void wmk_probes_attach(struct wmk_event *event);
/* On the recording path, counted in (wmk_ring_grace_enter()). */
void wmk_probe_call(struct wmk_event *event, waymark_probe_fn fn, void *data, const uint64_t *words,
		    const struct waymark_ref *refs);

/* ── others ──────────────────────────────────────────────────────────────────────────────────────────── */

/* Was the module loaded with the program, not by dlopen()? Asks the loader: lock not held. */
bool wmk_module_is_initial(const struct waymark_module *module);

#endif
