/* SPDX-License-Identifier: MIT */
/*
 * tracing.h - sessions: their channels, rules and trackers, and the traces that they produce.
 *
 *     wmk_tracing ─┬─ sessions (by name, read under RCU)
 *                  │    session (a lock) ─┬─ channels ── rules, contexts
 *                  │                      └─ traces, one per user or process that records: directory, metadata
 *                  │                             └─ ring sets, one per channel: event ids
 *                  ├─ classes of all events that any application registered (lock-free table)
 *                  └─ shards (shard.h): each application belongs to one shard, and so to one thread
 *
 *     thread of a command                               thread of a shard
 *     session = wmk_session_get(tracing, "s")           an application registers, or an update is posted:
 *     wmk_session_lock(session)                         for each session: lock, copy what applies to the
 *     wmk_session_rule_add(...)  changes the session    application (app_reconcile.c), unlock
 *     wmk_session_unlock(session)
 *     wmk_tracing_update(tracing, session, ...)  then the applications
 *
 * A command changes the session first and the applications second. A registration enters the registry first and copies
 * the sessions second. Therefore, either the registration observes the change of the command, or the command finds the
 * registered application. No event is missed.
 *
 * Lock order: the lock of a session, then the lock of the wmk_tracing. No thread holds the locks of two sessions. Every
 * thread that calls a function of this header is registered with RCU (wmk_tracing_thread_begin()). Errors are -errno
 * with a cause chain.
 */
#ifndef WMK_SESSION_TRACING_H
#define WMK_SESSION_TRACING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <waymark/ring.h>

#include "base/clock_plugin.h"
#include "schema/schema.h"
#include "wire/consumerd.h"
#include "wire/ctl.h"

struct wmk_tracing;
struct wmk_session;
struct wmk_session_channel;

/* ── the consumer ────────────────────────────────────────────────────────────────────────────────────── */

/* One trace: the records of one owner of buffers in one session. */
#define WMK_SUB_KERNEL "kernel"
struct wmk_trace_info {
	const char *session, *path;      /* name of the session; path of its directory */
	/* below `path`: "ust/uid/1000/64-bit", "ust/pid/NAME-PID-DATE/64-bit", WMK_SUB_KERNEL */
	const char *sub;
	uid_t uid;                       /* owner of the files: the owner of the session */
	gid_t gid;
	uint8_t uuid[16];
	uint64_t max_size;               /* bytes of all traces below `path` together; 0: no limit */
	const char *url;                 /* the relay that receives the trace (wire/relay_url.h); NULL or "": none */
	uint32_t trace_format;           /* format of the metadata: enum wmk_ctl_trace_format */
	uint64_t chunk;                  /* number of the open chunk (docs/rotation.md) */
	/* name of the previous chunk in `path`/archives; "": none. NULL for functions that do not read it */
	const char *closed;
	bool compress;                   /* archive_end(): closed chunks are compressed */
	/* archive_end(): the closed chunks that are kept; 0: no limit */
	uint64_t retain_size, retain_us, retain_count;
	uint64_t chunk_max;              /* trace_open(): size at which a rotation is due; 0: none */
	bool kernel;                     /* the trace of kernel channels */
	bool unwritten;                  /* nothing is written: only snapshots read the rings */
	bool restored;                   /* an earlier daemon created it: directory and metadata exist */
};

struct wmk_rings_info {
	uint64_t id;                     /* unique during the life of this daemon */
	const char *channel;             /* prefix of the names of the streams */
	uint32_t stream_id;
	const struct wmk_ctl_channel *options;
	uint64_t start_ts;               /* current value of the trace clock */
	bool restored;                   /* an earlier daemon made it: the consumer continues its streams */
	/*
	 * a snapshot: copy the records that the rings hold now, at most copy_max bytes of each ring (0: no limit), and
	 * return when they are copied
	 */
	bool copy;
	uint64_t copy_max;
};

/* Describes a kernel channel, which has no ring set. */
struct wmk_kernel_info {
	int instance;                    /* descriptor of the directory of the tracefs instance */
	uint64_t *contexts;              /* numbers of wmk_ctf_context() */
	unsigned n_contexts;
	uint64_t only_pid;               /* record this process only; 0: all processes */
	struct wmk_consumerd_event *events;      /* events to add (wire/consumerd.h) */
	unsigned n_events;
	uint64_t *calls;                 /* system calls to record by BPF from now on; NULL: no change */
	unsigned n_calls;
	uint64_t syscall_ring_bytes;
	bool syscalls_narrowed;             /* record only the system calls of the processes in syscall_pids */
	uint64_t *syscall_pids;            /* WMK_CONSUMERD_PIDS numbers, unused ones 0; valid with `calls` */
	uint64_t statedump;              /* number of a requested state dump (wire/consumerd.h); 0: none */
};

/*
 * The consumer of a trace's rings and metadata: this process (waymark record), or the consumer daemon. An
 * implementation of these functions must not call any function of tracing.h. The functions that open, wake or declare
 * run with the lock of the session held. The functions that write, count or close run without the lock, because a disk
 * can block them. In each session, one thread at a time calls the functions that write, count or close. During a call
 * that writes, counts or closes, other threads may call the functions that open, wake or declare.
 */
struct wmk_consumer_port_ops {
	int (*trace_open)(void *data, const struct wmk_trace_info *info, void **trace);
	/* Append to the metadata. 0: accepted; packets that need the text are written after it. -errno: rejected. */
	int (*metadata)(void *trace, const char *text, size_t len);
	/* Replace the whole metadata. With `wait`, the function returns after the text is written. Optional. */
	int (*metadata_replace)(void *trace, const char *text, size_t len, bool wait);
	int (*rings_open)(void *trace, const struct wmk_rings_info *info, struct waymark_ring_set *set, void **rings);
	/*
	 * kernel_open() opens a kernel channel. kernel_events() adds events to it, before they are enabled. The
	 * functions below serve both user channels and kernel channels. kernel_events() returns 1 if the kernel has not
	 * accepted the BPF program for system calls yet; they are recorded once it has.
	 */
	int (*kernel_open)(void *trace, const struct wmk_rings_info *info, const struct wmk_kernel_info *kernel,
			   void **rings);
	int (*kernel_events)(void *rings, const struct wmk_rings_info *info, const struct wmk_kernel_info *kernel);
	/*
	 * Write what the rings hold. With `wait`, rings_flush() to rings_reclaim() wait without a limit until the
	 * request is done. Without `wait`, the result is -ETIMEDOUT, and the consumer performs the request later.
	 */
	int (*rings_flush)(void *rings, bool wait);
	/* Write all committed records and the final counts, and stop draining. */
	int (*rings_stop)(void *rings, bool wait);
	int (*rings_clear)(void *rings, bool wait);
	/* Return the memory of rings that had no record for idle_us to the system. Optional. */
	int (*rings_reclaim)(void *rings, uint64_t idle_us, bool wait);
	/*
	 * Query the current counts. -errno: the counts are the last known ones. After -ETIMEDOUT and -ECONNABORTED, a
	 * query of other rings fails, too.
	 */
	int (*rings_counts)(void *rings, struct wmk_counts *counts, struct wmk_counts *earlier);
	/*
	 * Optional, session locked. This application can write to the rings; reports of a corrupt ring name the
	 * application.
	 */
	void (*rings_user)(void *rings, uid_t uid, const char *name, pid_t pid);
	/* Called when a process that wrote to the rings has ended: drain the rings immediately. */
	void (*rings_wake)(void *rings);
	void (*rings_close)(void *rings);
	void (*trace_close)(void *trace);
	/*
	 * Optional: an error if the path of a session that is to be created exists and is not an empty directory. Reads
	 * path, uid and gid.
	 */
	int (*output_check)(void *data, const struct wmk_trace_info *session);
	/*
	 * Optional, without the lock of a session: for each connection to a relay, append a struct wmk_ctl_relay with
	 * the state of the connection. Its member `session` is empty. A consumer that does not answer in time is not an
	 * error.
	 */
	int (*relays)(void *data, struct wmk_list *relays, struct wmk_arena *arena);
	/*
	 * Optional; called when the session has ended and its traces are closed. After output_end() has returned 0, the
	 * spool of the session is sent to the relay even if daemons crash. Reads path, uid and gid.
	 */
	int (*output_end)(void *data, const struct wmk_trace_info *session);
	/*
	 * each_left() and forget_left() are optional, and are called without the lock of the session. each_left() lists
	 * the traces of processes in the directory of the session by their `sub`, and returns 1 if more exist.
	 * forget_left() removes one of these traces; the trace must not be open.
	 */
	int (*each_left)(void *data, const struct wmk_trace_info *session, int (*one)(void *one_data, const char *sub),
			 void *one_data);
	int (*forget_left)(void *data, const struct wmk_trace_info *info);
	/*
	 * Rotation; all optional. trace_cut() reads the positions at which the chunk ends, without the lock.
	 * trace_rotate() without `wait` follows within a second. trace_rotate() requests that the chunk is closed at
	 * the positions of trace_cut(), and that chunk `chunk` is opened. Without `wait`, trace_rotate() is called with
	 * the lock, before the metadata of `chunk`. With `wait`, trace_rotate() is called without the lock, and returns
	 * when `chunk` is open. trace_rotate() is idempotent.
	 */
	int (*trace_cut)(void *trace);
	/* After a restart while a chunk was being closed: write the metadata of that chunk. Does not wait. */
	int (*metadata_before)(void *trace, const char *text, size_t len);
	int (*trace_rotate)(void *trace, const char *closed, uint64_t chunk, bool wait);
	/*
	 * archive_left(): as forget_left(), but move the trace to the closed chunk. archive_end(): give this chunk its
	 * final name.
	 */
	int (*archive_left)(void *data, const struct wmk_trace_info *info);
	int (*archive_end)(void *data, const struct wmk_trace_info *session);
	/*
	 * chunk_is_due() and chunk_end() are optional. Both functions concern the open chunk of the session with this
	 * path. chunk_is_due() sets the size at which the consumer reports that a rotation is due, and returns true if
	 * the chunk has this size. chunk_end(), before trace_cut(): the bytes so far are of closed chunks. (The rest of
	 * the closed chunk, which is still in rings, counts for the next chunk.)
	 */
	bool (*chunk_is_due)(void *data, const char *path, uint64_t chunk_max);
	void (*chunk_end)(void *data, const char *path);
};

/* ── the tracing object ──────────────────────────────────────────────────────────────────────────────── */

/* The identity of a process in its ring claims (waymark/ring.h), and the process with this identity. */
struct wmk_identity {
	uint32_t slot, generation;
	pid_t pid;
	/* distinguishes processes with the same pid: the inode of the pidfd, or the start time; 0: hidden */
	uint64_t birth;
};

struct wmk_tracing_options {
	size_t size;                     /* sizeof(struct wmk_tracing_options) */
	const struct wmk_consumer_port_ops *consumer;
	void *consumer_data;
	const struct wmk_clocks *clocks; /* clocks that sessions can select; copied */
	/* Limits; 0: the default in parentheses. */
	unsigned max_apps;               /* applications connected or alive at a time (16384) */
	unsigned max_user_apps;          /* of these, per user other than root and the daemon's own (1024) */
	unsigned max_sessions;           /* per user (64) */
	unsigned max_channels;           /* per session (32) */
	unsigned max_rules;              /* per channel (1024) */
	uint64_t max_ring_bytes;         /* in the rings of all sessions of one owner (1/4 of the machine's memory) */
	uint64_t max_users_ring_bytes;   /* of all owners except root (1/2 of memory, or max_ring_bytes if more) */
	uint64_t max_trace_size;         /* of the traces of one session together (no limit) */
	/* of the traces of all sessions of one owner (no limit): charged when a session is created */
	uint64_t max_user_trace_size;
	const char *limits_file;         /* file that sets the limits; errors name it; borrowed; NULL: none */
	uint64_t first_rings_id;         /* ids of rings begin after this one */
	/* owner of tracefs instances (kernel/tracefs/instance.h); copied; NULL: the kernel is not traced */
	const char *kernel_owner;
	/*
	 * Optional. Called before a class gets this id in these rings, and before the id is declared in the metadata. A
	 * daemon that keeps ids across restarts saves the id. Non-zero: the class gets no id now. If the declaration
	 * fails, the same id is assigned again: the latest call is valid. Called with the session's lock held.
	 */
	int (*on_id)(void *data, struct wmk_session *session, uint64_t rings_id, uint32_t id,
		     const struct wmk_event_class *event);
	/*
	 * Optional; called in the thread of a shard. Called before an application receives this identity. The daemon
	 * saves the identity, and the next daemon passes it to wmk_tracing_earlier_identities().
	 */
	void (*on_identity)(void *data, const struct wmk_identity *is);
	/*
	 * Optional. The number of active sessions that record state dumps of loaded objects has changed by one. Any
	 * thread.
	 */
	void (*on_dumps)(void *data, bool more);
	/*
	 * Optional. A process with its own rings has ended: call wmk_session_reap() soon, in another thread.
	 */
	void (*on_ended)(void *data, struct wmk_session *session);
	/*
	 * Optional. Called when rings have ended and the consumer is about to drop their counts: save the state of the
	 * session now. Called with the session's lock held.
	 */
	void (*on_counted)(void *data, struct wmk_session *session);
	void *data;
};

/* A limit of limits_file.h is reached: returns `err` with a message that names the limit and the file that sets it. */
int wmk_limit_reached(const struct wmk_tracing *tracing, int err, const char *limit, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
int wmk_tracing_open(const struct wmk_tracing_options *options, struct wmk_tracing **tracing);
/* Return the options, with the defaults filled in; the options are constant. Any thread. */
const struct wmk_tracing_options *wmk_tracing_quotas(const struct wmk_tracing *tracing);
/* Call after all shards are closed. Destroys the remaining sessions as wmk_session_destroy() does. */
void wmk_tracing_close(struct wmk_tracing *tracing);
/*
 * The next daemon continues all sessions: from this call on, closing leaves the kernel's recording unchanged. Call when
 * only one thread is left.
 */
void wmk_tracing_leave(struct wmk_tracing *tracing);
/*
 * Check that this kernel has the events of `rules` (struct wmk_ctl_rule), the fields of their filters and the clock of
 * the session. -ENOENT with the nearest names; -EINVAL with the column; -ENOTSUP; or the reason why tracefs is
 * unusable.
 */
int wmk_session_kernel_check(struct wmk_session *session, const struct wmk_list *rules);
/* Call after sessions are restored: remove kernel instances of earlier daemons that belong to no session. */
void wmk_tracing_sweep(struct wmk_tracing *tracing);
void wmk_tracing_thread_begin(void);
void wmk_tracing_thread_end(void);

/*
 * Reconcile every application with the session, in all shards, and wait until all applications have confirmed. The wait
 * also ends when the remaining applications are stopped (debugger, SIGSTOP) or idle, or after `timeout_ms`.
 * For applications of users other than root and the session's owner, the wait is at most one second. After an
 * application missed a deadline, no barrier waits for this application until it answers in time again. Must not be
 * called in the thread of a shard, or with a lock held. Appends each application that has not confirmed to `unanswered`
 * (struct wmk_ctl_app, in the arena; may be NULL). 0 or -errno.
 */
int wmk_tracing_update(struct wmk_tracing *tracing, struct wmk_session *session, int timeout_ms,
		       struct wmk_list *unanswered, struct wmk_arena *arena);
/*
 * List the applications of all shards. `user`: only applications of this user, (uid_t)-1 for all. `owner`: an event is
 * shown as enabled if a session of this user enables the event, (uid_t)-1 for sessions of all users.
 */
int wmk_tracing_list_apps(struct wmk_tracing *tracing, const struct wmk_ctl_list_apps *what, uid_t user, uid_t owner,
			  struct wmk_list *apps, struct wmk_arena *arena);
/* ── sessions ────────────────────────────────────────────────────────────────────────────────────────── */

/* The open chunk of a session's trace, and the previous chunk (docs/rotation.md). */
#define WMK_CHUNK_NAME 160
struct wmk_session_chunk {
	uint8_t session_uuid[16];        /* the same in all chunks of the session */
	uint64_t number;                 /* from 0 */
	uint64_t begin;                  /* seconds since 1970 */
	uint64_t overlap_ns;             /* upper limit of the overlap of this chunk with the previous one */
	int64_t offset_s;                /* offset of the clock, as in struct wmk_clock; if number > 0 */
	uint64_t offset;
	struct {                         /* the same values of the previous chunk */
		uint64_t overlap_ns;
		int64_t offset_s;
		uint64_t offset;
	} before;
	char closed[WMK_CHUNK_NAME];     /* name of the previous chunk in archives/; "": none */
	bool closing;                    /* the previous chunk is not closed yet */
};

struct wmk_session_options {
	const char *name, *path;
	uid_t uid;
	gid_t gid;
	bool all_users;                  /* record applications of all users; else only those of `uid` */
	const char *trace_name;          /* in the metadata; NULL: the name of the session */
	/*
	 * Copied. With WMK_SHM_NEW, `shm_path` is the parent of a new directory; else `shm_path` is the existing
	 * directory. "" or NULL: rings are in anonymous memory.
	 */
	struct wmk_ctl_settings settings;
	/* of a restored session; NULL: the first chunk */
	const struct wmk_session_chunk *chunk;
	enum wmk_shm { WMK_SHM_NEW, WMK_SHM_THERE, WMK_SHM_RECOVERED } shm;
};

/*
 * Create an inactive session. *session is a reference: wmk_session_put(). -EEXIST: the owner has a session of that
 * name; -EINVAL: invalid name; -ENOTSUP: the clock is not available; -EBUSY: another session has the path; -E2BIG: too
 * many sessions; -EDQUOT: max_size exceeds the limit.
 */
int wmk_session_create(struct wmk_tracing *tracing, const struct wmk_session_options *options,
		       struct wmk_session **session);
/* Returns an error if the path of the options exists and is not an empty directory. Can block for a disk access. */
int wmk_session_output_check(const struct wmk_tracing *tracing, const struct wmk_session_options *options);
/* Append the connections to relays, like wmk_consumer_port_ops.relays(). */
int wmk_session_relays(const struct wmk_tracing *tracing, struct wmk_list *relays, struct wmk_arena *arena);
/*
 * -EBUSY if another session has the path; the message contains its name only if the user may see that session. Else 0.
 */
int wmk_session_path_check(struct wmk_tracing *tracing, const struct wmk_session_options *options);
/* Find a session by owner and name (names are unique per user); returns a reference, or NULL. */
struct wmk_session *wmk_session_get(struct wmk_tracing *tracing, uid_t uid, const char *name);
/* Store references to all current sessions in a malloc'd array at *sessions; returns their number, or -ENOMEM. */
int wmk_session_get_all(struct wmk_tracing *tracing, struct wmk_session ***sessions);
/* Take one more reference. */
void wmk_session_hold(struct wmk_session *session);
void wmk_session_put(struct wmk_session *session);
/* Lock a session to change it. -ENOENT: it was destroyed meanwhile (not locked). */
int wmk_session_lock(struct wmk_session *session);
void wmk_session_unlock(struct wmk_session *session);
/* Constant: */
const char *wmk_session_name(const struct wmk_session *session);
uid_t wmk_session_uid(const struct wmk_session *session);
gid_t wmk_session_gid(const struct wmk_session *session);
bool wmk_session_recovered(const struct wmk_session *session);      /* created with WMK_SHM_RECOVERED */

/* Below: locked. Changes reach the applications by wmk_tracing_update(). */

/*
 * Describe the session and its counts for the protocol, in the arena. Frees the claims that ended processes hold in
 * restored rings.
 */
int wmk_session_describe(struct wmk_session *session, struct wmk_ctl_session *is, struct wmk_arena *arena);
/* Like wmk_session_describe(), with the counts of the latest query: sends no request and does not release the lock. */
int wmk_session_describe_known(struct wmk_session *session, struct wmk_ctl_session *is, struct wmk_arena *arena);
/* Append the description's list of applications that are not recorded (wire/unrecorded.def). 0 or -ENOMEM. */
int wmk_session_unrecorded(struct wmk_session *session, struct wmk_ctl_session *is, struct wmk_arena *arena);
/*
 * Find a channel by name. name NULL or "": the only channel of the domain; -ENOTUNIQ if there are several. -ENOENT. The
 * tracer's own channel is never found.
 */
int wmk_session_channel_find(struct wmk_session *session, const struct wmk_ctl_domain *domain, const char *name,
			     struct wmk_session_channel **channel);
/*
 * Add an enabled channel with its contexts and rules. Sizes are rounded up to powers of two. In an active session, the
 * new channel records immediately. -EEXIST; -EINVAL: the message names the option; -E2BIG.
 */
int wmk_session_channel_add(struct wmk_session *session, const struct wmk_ctl_channel *options,
			    struct wmk_session_channel **channel);
/* Fill in the options that the session determines: channels of a flight recorder are in overwrite mode. */
void wmk_session_channel_complete(const struct wmk_session *session, struct wmk_ctl_channel *is);
void wmk_session_channel_switch(struct wmk_session_channel *channel, bool on);
/* Return the options of the channel, with defaults filled in. */
const struct wmk_ctl_channel *wmk_session_channel_options(const struct wmk_session_channel *channel);
/* Validate a rule. 0 or -errno with a cause chain. */
int wmk_session_rule_check(const struct wmk_ctl_rule *rule);
/*
 * Check the filter of the rule against the matching events that any application registered. 0: the filter is valid for
 * at least one event, the rule has no filter, or no matching event is known. -EINVAL with the column.
 */
int wmk_tracing_filter_check(struct wmk_tracing *tracing, const struct wmk_ctl_rule *rule);
/*
 * Call after rules are added: check that the filters of all rules that match one event can be combined. -E2BIG: they
 * cannot; the event is not recorded. For a kernel channel, also check that the channel has the contexts that the
 * filters need: -EINVAL with the column.
 */
int wmk_session_filters_check(struct wmk_session_channel *channel, const struct wmk_list *rules);
/* Disable exactly these rules, which were added before. Other rules with the same pattern stay enabled. */
void wmk_session_rules_withdraw(struct wmk_session_channel *channel, const struct wmk_list *rules);
/* Enabling a rule that exists enables the rule again, and is not an error. -EINVAL: pattern or level. */
int wmk_session_rule_add(struct wmk_session_channel *channel, const struct wmk_ctl_rule *rule);
/* Disable all rules with this pattern (NULL: all rules). Returns how many of these rules were enabled before. */
unsigned wmk_session_rule_disable(struct wmk_session_channel *channel, const char *pattern);
/*
 * Add a context. If the channel has the context already, the result is 0. A channel with rings gets new rings at the
 * next update (ring_layout.c), and each event moves to the new rings in one step. -EINVAL: unknown context; -E2BIG: too
 * many; -ENOBUFS: the new rings exceed the owner's quota of memory.
 */
int wmk_session_context_add(struct wmk_session_channel *channel, const char *name);
/*
 * Change the allow-list of one kind. `all` with add: track everything; `all` without add: track nothing. Without `all`,
 * add or remove the ids of the list. After an error, the allow-list is unchanged. -EINVAL: empty list; -E2BIG: too
 * many.
 */
int wmk_session_track(struct wmk_session *session, const struct wmk_ctl_track *track, bool add);
/* Start or resume. -EALREADY: active; -ENODATA: no channel; -EDQUOT: the trace has reached max_size. */
int wmk_session_start(struct wmk_session *session);
/* Create the trace and the rings of this user in an active session now, before its first application registers. */
int wmk_session_prepare(struct wmk_session *session, uid_t uid);
/* Return the first error of traces, rings and declarations: -errno and its text (truncated to fit); 0: no error. */
int wmk_session_trouble(const struct wmk_session *session, char *words, size_t size);
/* Return a warning about how system calls are recorded, once for each kernel channel. False: no warning. */
bool wmk_session_syscalls_warning(struct wmk_session *session, char *words, size_t size);
/* -EALREADY: not active, and not stopped by wmk_session_full(). After the update: wmk_session_flush(). */
int wmk_session_stop(struct wmk_session *session);
/* Undo a start that failed: stop without a flush. */
void wmk_session_unstart(struct wmk_session *session);
/* Find the session with this trace directory; returns a reference, or NULL. */
struct wmk_session *wmk_session_of_path(struct wmk_tracing *tracing, const char *path);
/*
 * Called when the traces have reached max_size: stop the session as wmk_session_stop() does. A full session can start
 * again only after a clear. -EALREADY: it was stopped already.
 */
int wmk_session_full(struct wmk_session *session);
/*
 * flush: write every committed record to the disk. clear: start counts and files anew. wmk_session_flush() and
 * wmk_session_clear() continue after an error, and return the first error. flush, clear, reap and describe release the
 * lock while they wait for the consumer: when they return, other threads may have changed or destroyed the session.
 */
int wmk_session_flush(struct wmk_session *session);
int wmk_session_clear(struct wmk_session *session);
/*
 * Return the memory of idle buffers to the system (docs/ring.md): the buffers of the named channels, or of all channels
 * if the list is empty. Releases the lock while it waits, as wmk_session_flush() does. -ENOENT: no such channel;
 * -ENOTSUP: no channel of the request can give memory back.
 */
int wmk_session_reclaim(struct wmk_session *session, const struct wmk_ctl_reclaim *request);
/*
 * Close the open chunk of the trace, and open the next chunk. An unfinished earlier rotation is finished first.
 * Releases the lock while it waits, as wmk_session_flush() does. -ENODATA: the session was never active; -ENOTSUP: a
 * flight recorder, or its consumer cannot rotate; -ETIMEDOUT: the disk is slow or full, the rotation continues.
 */
int wmk_session_rotate(struct wmk_session *session);
/* Change the schedule of rotations and the retention. -EINVAL; -ENOTSUP as for rotations. */
int wmk_session_set_rotation(struct wmk_session *session, const struct wmk_ctl_rotation *change);
/*
 * Rotate the session if its schedule requires a rotation. Returns 1 after a rotation; the caller then calls again. 0:
 * no rotation is due before *next, CLOCK_MONOTONIC in ns, UINT64_MAX: no time. A rotation by size has no due time
 * (wmk_consumer_port_ops.chunk_is_due). -errno: as wmk_session_rotate(); the next attempt is at *next.
 */
int wmk_session_rotate_scheduled(struct wmk_session *session, uint64_t *next);
/* Finish a rotation of an earlier daemon, or a rotation that timed out. Does nothing if every rotation is finished. */
int wmk_session_rotate_finish(struct wmk_session *session);
/*
 * Called when all traces of the session are closed: give the chunk of an unfinished rotation its final name. A trace
 * that could not be moved stays in its directory.
 */
void wmk_session_rotate_abandon(struct wmk_session *session);
/*
 * Called when the counter of the clock has restarted. If the session can be rotated, its channels continue in new
 * rings. 1: the caller updates the applications (wmk_tracing_update()), then rotates the session; 0: another trace of
 * the session reported the same restart before; -ENOTSUP: the session cannot be rotated, so its rings stay.
 */
int wmk_session_clock_restarted(struct wmk_session *session);
/* True if a rotation is not finished. */
bool wmk_session_rotating(const struct wmk_session *session);
/* Constant until the session is destroyed: */
const char *wmk_session_path(const struct wmk_session *session);
const struct wmk_session_chunk *wmk_session_chunk_of(const struct wmk_session *session);
/* Rewrite the metadata of the session from the state in memory. -ENOTSUP: the consumer cannot replace metadata. */
int wmk_session_regenerate_metadata(struct wmk_session *session);
/* Called when the metadata files are shorter than the text that was written to them: rewrite the files. */
void wmk_session_metadata_stale(struct wmk_session *session);
/*
 * At the next update, applications dump their loaded objects again, and the consumer daemon dumps the kernel's state
 * again.
 */
void wmk_session_regenerate_statedump(struct wmk_session *session);
/* Write and free rings of processes that ended. */
void wmk_session_reap(struct wmk_session *session);
/*
 * Remove the session from the table; wmk_session_lock() fails from now on. Also stops the session. Call in this order:
 * destroy, unlock, update, wmk_session_finish() (not locked), put.
 */
void wmk_session_destroy(struct wmk_session *session);
/*
 * Return the number of ring sets of earlier daemons that no application has reattached. `words` receives the names and
 * sizes of these ring sets (truncated to fit).
 */
unsigned wmk_session_awaited(struct wmk_session *session, char *words, size_t size);
/*
 * Call after the update that followed the destruction: write all records, close rings and traces. If `last` is not
 * NULL, *last receives the final state.
 */
int wmk_session_finish(struct wmk_session *session, struct wmk_ctl_session *last, struct wmk_arena *arena);

/* ── across daemons ──────────────────────────────────────────────────────────────────────────────────── */

/*
 * Add an identity that an earlier daemon assigned. Call before the first session is restored. If the process of an
 * identity has ended, wmk_session_restore_end() frees the claims of the identity in restored rings. Each stop and each
 * description of a session also frees the ring claims of ended processes. -EINVAL, -E2BIG, -ENOMEM.
 */
int wmk_tracing_earlier_identities(struct wmk_tracing *tracing, const struct wmk_identity *is);

/* Call before the first shard is opened, so that applications can reattach rings of an earlier daemon. */
void wmk_reattach_init(struct wmk_tracing *tracing);

/* A ring set in the saved state of a daemon. */
struct wmk_restored_rings {
	uint64_t id;
	uint32_t stream_id;              /* of the channel */
	uint32_t n_contexts;             /* contexts of the channel when the rings were made */
	uid_t uid;
	pid_t pid;                       /* process that owns the rings; 0: rings of a user */
	uint64_t start_time;
	uint8_t uuid[16];                /* of the trace */
	const char *sub;
	/* set_uuid and inode must both match when an application reattaches the ring set. */
	uint8_t set_uuid[16];            /* waymark_ring_options.uuid */
	uint64_t inode;                  /* of its memory */
};

/* Locked. Return the first non-zero result of `one`. A channel's counts are the counts of rings that have ended. */
int wmk_session_each_channel(struct wmk_session *session,
			     int (*one)(void *data, const struct wmk_ctl_channel *is, uint32_t stream_id, bool own),
			     void *data);
int wmk_session_each_rings(struct wmk_session *session, int (*one)(void *data, const struct wmk_restored_rings *is),
			   void *data);

/*
 * Restore a session before any application registers. Call wmk_session_restore() first. Then restore the session's
 * channels, then its rings, then its ids; call wmk_session_restore_end() last. The arguments are validated like input
 * of a user. *session is a reference, and stays locked until wmk_session_restore_end(). wmk_session_restore_end()
 * enters the session into the table of names, and unlocks the session even after an error. -EEXIST: the owner has a
 * session of that name; then call wmk_session_put().
 */
int wmk_session_restore(struct wmk_tracing *tracing, const struct wmk_session_options *options,
			const struct wmk_ctl_session *is, struct wmk_session **session);
int wmk_session_restore_channel(struct wmk_session *session, const struct wmk_ctl_channel *is, uint32_t stream_id,
				bool own);
/*
 * `fd` is the descriptor of the ring set, and the caller owns `fd`. -1: no descriptor exists, and the ring set is
 * awaited: applications record into new rings until one of them reattaches it. -ENOENT: no channel has that stream id.
 * After any other error with a valid `fd`, the session waits for the ring set, too.
 */
int wmk_session_restore_rings(struct wmk_session *session, const struct wmk_restored_rings *is, int fd);
/* For ended rings of this stream class, `gone` returns the counts by the name of the channel in the trace. */
typedef int wmk_rings_gone(void *data, const uint8_t trace_uuid[16], const char *channel,
			   struct wmk_counts *counts);
int wmk_session_restore_gone(struct wmk_session *session, const uint8_t trace_uuid[16], uint32_t stream_id,
			     wmk_rings_gone *gone, void *data);
/* Takes ownership of the class. */
int wmk_session_restore_id(struct wmk_session *session, uint64_t rings_id, uint32_t id, struct wmk_event_class *event);
int wmk_session_restore_end(struct wmk_session *session);

/* ── patterns ────────────────────────────────────────────────────────────────────────────────────────── */

/* -EINVAL with a message if `pattern` is invalid (empty, too long, unclosed '['). */
int wmk_pattern_check(const char *pattern);
/*
 * Match a glob with the special parts "*", "?", "[a-z]" and "[!a-z]" against `provider:name`; \ quotes a character. A
 * pattern without ':' also matches the provider alone.
 */
bool wmk_pattern_match(const char *pattern, const char *provider, const char *name);
/* Match a glob against a whole text. */
bool wmk_pattern_match_text(const char *pattern, const char *text);
/*
 * Return the number of distinct registered events that match `pattern`, without the tracer's own events; a leading '!'
 * is skipped.
 */
uint64_t wmk_tracing_matching(struct wmk_tracing *tracing, const char *pattern);
/* Return the number of distinct events that match a rule, with the exclusions and the level of the rule applied. */
uint64_t wmk_tracing_fitting(struct wmk_tracing *tracing, const struct wmk_ctl_rule *rule);
/*
 * Find the registered names `provider:name` that are nearest to `pattern`, best first; returns the number of names (<=
 * max). The names are valid as long as `tracing` exists.
 */
unsigned wmk_tracing_nearest(struct wmk_tracing *tracing, const char *pattern, const char **names, unsigned max);

#endif
