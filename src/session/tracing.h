/* SPDX-License-Identifier: MIT */
/*
 * tracing.h - what is to be recorded: sessions, their channels and rules; and what comes of it for each owner of
 * buffers.
 *
 *     wmk_tracing ─┬─ sessions (by name, read under RCU)
 *                  │    session (a lock) ─┬─ channels ── rules, contexts
 *                  │                      └─ traces, one for each user (or process) that records: directory, metadata
 *                  │                             └─ rings, one set for each channel: event ids
 *                  ├─ classes of all events that were ever seen (lock-free table)
 *                  └─ shards (shard.h): each application belongs to one, and so to one thread
 *
 *     a command's thread                                      a shard's thread
 *     session = wmk_session_get(tracing, "s")                 an application registers, or an update is posted:
 *     wmk_session_lock(session)                               for each session: lock, copy what applies to the application
 *     wmk_session_rule_add(...)  changes the session          (app_reconcile.c), unlock
 *     wmk_session_unlock(session)
 *     wmk_tracing_update(tracing, session, ...)  then the applications
 *
 * Commands change the session first and the applications second; a registration enters the registry first and copies
 * the sessions second: whoever comes second finds what the first has done, so an event is enabled whatever the order.
 *
 * Locks: a session's own, and within it that of the wmk_tracing; nothing is called with two sessions' held. Every
 * thread that calls anything here is registered with RCU (wmk_tracing_thread_begin()). Errors are -errno with a cause
 * chain.
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

/* ── where records go ────────────────────────────────────────────────────────────────────────────────── */

/* One trace: what one owner of buffers records in one session. */
#define WMK_SUB_KERNEL "kernel"
struct wmk_trace_info {
	const char *session, *path;      /* of the session; path of its directory */
	/* beneath it: "ust/uid/1000/64-bit", "ust/pid/NAME-PID-DATE/64-bit", WMK_SUB_KERNEL */
	const char *sub;
	uid_t uid;                       /* who owns the files: the session's owner */
	gid_t gid;
	uint8_t uuid[16];
	uint64_t max_size;               /* bytes below `path`, of all traces there together; 0: no limit */
	uint32_t trace_format;           /* enum wmk_ctl_trace_format: of the metadata */
	bool kernel;                     /* of kernel channels */
	bool restored;                   /* an earlier daemon's: directory and metadata are there */
};

struct wmk_rings_info {
	uint64_t id;                     /* never used again in this daemon's life */
	const char *channel;             /* streams are called after it */
	uint32_t stream_id;
	const struct wmk_ctl_channel *options;
	uint64_t start_ts;               /* the trace clock's value now */
	bool restored;                   /* an earlier daemon's: whoever consumes goes on with it */
};

/* What a kernel channel has in the place of a ring set. */
struct wmk_kernel_info {
	int instance;                    /* of tracefs: a descriptor of its directory */
	uint64_t *contexts;              /* numbers of wmk_ctf_context() */
	unsigned n_contexts;
	uint64_t only_pid;               /* records of other processes are left out; 0: of none */
	struct wmk_consumerd_event *events;      /* those that are to be added (wire/consumerd.h) */
	unsigned n_events;
	uint64_t *calls;                 /* system calls by BPF, from now on; NULL: as it was */
	unsigned n_calls;
	uint64_t syscall_ring_bytes;
	bool syscalls_narrowed;             /* ... of the processes of syscall_pids alone */
	uint64_t *syscall_pids;            /* with calls: WMK_CONSUMERD_PIDS, 0 where there are fewer */
	uint64_t statedump;              /* the state dump of this number is wanted (wire/consumerd.h); 0: none */
};

/*
 * Where a trace's rings are emptied and its metadata stands: a consumer in this process (waymark record), or the
 * consumer daemon. Must not call back. What opens, pokes and declares is called with the session's lock held. What
 * writes, counts and closes is not, as it may take as long as a disk does: it is called by one thread of a session at a
 * time, beside the others.
 */
struct wmk_consumer_port_ops {
	int (*trace_open)(void *data, const struct wmk_trace_info *info, void **trace);
	/* Append to the metadata. 0: accepted, packets that need it are written behind it. -errno: not so. */
	int (*metadata)(void *trace, const char *text, size_t len);
	/* This in place of the whole metadata. `wait`: until it is written. Optional. */
	int (*metadata_replace)(void *trace, const char *text, size_t len, bool wait);
	int (*rings_open)(void *trace, const struct wmk_rings_info *info, struct waymark_ring_set *set, void **rings);
	/*
	 * The same of a kernel channel; and more events of it, before they are enabled. What follows is for both. 1 of
	 * kernel_events(): the kernel has not accepted the BPF program of system calls yet; they are recorded once it
	 * has.
	 */
	int (*kernel_open)(void *trace, const struct wmk_rings_info *info, const struct wmk_kernel_info *kernel,
			   void **rings);
	int (*kernel_events)(void *rings, const struct wmk_rings_info *info, const struct wmk_kernel_info *kernel);
	/*
	 * Write what is there now. `wait` of these three: until it is done, for as long as that may take. Else what is
	 * asked for is done as well, when it can be, and the answer is -ETIMEDOUT.
	 */
	int (*rings_flush)(void *rings, bool wait);
	/* Write all that was committed, with the final counts; nothing is consumed any more. */
	int (*rings_stop)(void *rings, bool wait);
	int (*rings_clear)(void *rings, bool wait);
	/*
	 * As of now; -errno: they are as they were told last (-ETIMEDOUT, -ECONNABORTED: nobody will tell of others
	 * either).
	 */
	int (*rings_counts)(void *rings, struct wmk_counts *counts);
	/* Optional, session locked. This application can write there: a report of a corrupt ring names it. */
	void (*rings_user)(void *rings, uid_t uid, const char *name, pid_t pid);
	/* Somebody who wrote into them has died: look at once. */
	void (*rings_poke)(void *rings);
	void (*rings_close)(void *rings);
	void (*trace_close)(void *trace);
	/*
	 * Optional, both. The traces that are in the session's directory for processes, by their `sub`; and the end of
	 * one that nobody has open. Without the session's lock.
	 */
	int (*each_left)(void *data, const struct wmk_trace_info *session, int (*one)(void *one_data, const char *sub),
			 void *one_data);
	int (*forget_left)(void *data, const struct wmk_trace_info *info);
};

/* ── everything ──────────────────────────────────────────────────────────────────────────────────────── */

/* By what a process stands in claims of rings (waymark/ring.h), and which process that is. */
struct wmk_identity {
	uint32_t slot, generation;
	pid_t pid;
	/* which of that number: as its pidfd is numbered, or by its start time; 0: hidden */
	uint64_t birth;
};

struct wmk_tracing_options {
	size_t size;                     /* sizeof(struct wmk_tracing_options) */
	const struct wmk_consumer_port_ops *outlet;
	void *outlet_data;
	const struct wmk_clocks *clocks; /* that sessions can have; copied */
	/* Limits; 0: the default in parentheses. */
	unsigned max_apps;               /* connected or alive at a time (16384) */
	unsigned max_user_apps;          /* of these, of one user other than root and the daemon's own (1024) */
	unsigned max_sessions;           /* of one user (64) */
	unsigned max_channels;           /* of one session (32) */
	unsigned max_rules;              /* of one channel (1024) */
	uint64_t max_ring_bytes;         /* of all sessions of one owner, in all rings (1/4 of the machine's memory) */
	uint64_t max_users_ring_bytes;   /* of all owners but root (1/2 of memory, or max_ring_bytes if more) */
	uint64_t max_trace_size;         /* of each session's traces together (no limit) */
	/* of the traces of all sessions of one owner (no limit): spoken for when a session is made */
	uint64_t max_user_trace_size;
	const char *limits_file;         /* that sets them, named by the error of each; borrowed; NULL: none */
	uint64_t first_rings_id;         /* numbers of rings begin behind this one */
	/* of instances of tracefs (kernel/tracefs/instance.h); copied; NULL: the kernel is not traced */
	const char *kernel_owner;
	/*
	 * Optional. A class is about to get this id in these rings: for who keeps ids across restarts; then it is
	 * declared in the metadata. Non-zero: it gets none now. When the declaration fails, the same id is given out
	 * again: the latest is right. Under the session's lock.
	 */
	int (*on_id)(void *data, struct wmk_session *session, uint64_t rings_id, uint32_t id,
		     const struct wmk_event_class *event);
	/*
	 * Optional, from a shard's thread. A program is about to hear that this is its identity: for
	 * wmk_tracing_earlier_identities() of the next daemon.
	 */
	void (*on_identity)(void *data, const struct wmk_identity *is);
	/* Optional. One session more (or less) records, and wants to know what is loaded in programs. Any thread. */
	void (*on_dumps)(void *data, bool more);
	/*
	 * Optional. Something of the session ended by itself (a process with rings of its own died): call
	 * wmk_session_reap() soon, elsewhere.
	 */
	void (*on_ended)(void *data, struct wmk_session *session);
	/*
	 * Optional. Rings have ended, and the consumer is about to forget their counts: the session must be written
	 * down before. Under the session's lock.
	 */
	void (*on_counted)(void *data, struct wmk_session *session);
	void *data;
};

/* A limit of limits_file.h is reached: returns `err`, with words that name the limit and the file that sets it. */
int wmk_limit_reached(const struct wmk_tracing *tracing, int err, const char *limit, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
int wmk_tracing_open(const struct wmk_tracing_options *options, struct wmk_tracing **tracing);
/* The options, with the defaults filled in: constant. Any thread. */
const struct wmk_tracing_options *wmk_tracing_quotas(const struct wmk_tracing *tracing);
/* All shards are closed already. Sessions that are still there end as by wmk_session_destroy(). */
void wmk_tracing_close(struct wmk_tracing *tracing);
/*
 * The next daemon goes on with what is there: what the kernel records is left as it is from here on, whatever is
 * closed. One thread is left.
 */
void wmk_tracing_leave(struct wmk_tracing *tracing);
/*
 * Does this kernel have the events of rules (of struct wmk_ctl_rule), the fields of their filters and the session's
 * clock? -ENOENT with the nearest names; -EINVAL with the place; -ENOTSUP; or why tracefs cannot be used.
 */
int wmk_session_kernel_check(struct wmk_session *session, const struct wmk_list *rules);
/* Sessions have been restored: what earlier daemons left in the kernel, and no session has, is removed. */
void wmk_tracing_sweep(struct wmk_tracing *tracing);
void wmk_tracing_thread_begin(void);
void wmk_tracing_thread_end(void);

/*
 * Bring every application in line with the session as it is now, in all shards, and wait until all have confirmed, or
 * those that are left are stopped (a debugger, SIGSTOP) or asleep, or `timeout_ms` is over (of another user who has let
 * it pass lately, a moment). Not from a shard's thread, no lock held. Appends to `unanswered` (of struct wmk_ctl_app,
 * in the arena; may be NULL) who has not confirmed. 0 or -errno.
 */
int wmk_tracing_update(struct wmk_tracing *tracing, struct wmk_session *session, int timeout_ms,
		       struct wmk_list *unanswered, struct wmk_arena *arena);
/*
 * What there is of applications, asked of all shards. `who`: (uid_t)-1 for all, else only those of that user. Whether
 * events are enabled is told of the sessions of `whose`, (uid_t)-1: of everybody's.
 */
int wmk_tracing_list_apps(struct wmk_tracing *tracing, const struct wmk_ctl_list_apps *what, uid_t who, uid_t whose,
			  struct wmk_list *apps, struct wmk_arena *arena);

/* ── sessions ────────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_session_options {
	const char *name, *path;
	uid_t uid;
	gid_t gid;
	bool all_users;                  /* programs of every user are recorded; else only those of `uid` */
	const char *trace_name;          /* in the metadata; NULL: the session's name */
	/*
	 * Copied. `shm_path`: a new directory is made there, or (`shm`) it is this one; "" or NULL: rings are in
	 * memory.
	 */
	struct wmk_ctl_settings settings;
	enum wmk_shm { WMK_SHM_NEW, WMK_SHM_THERE, WMK_SHM_RECOVERED } shm;
};

/*
 * -EEXIST: the owner has one of that name; -EINVAL for a name that cannot be one; -ENOTSUP: its clock is not available;
 * -EBUSY: another has that path; -E2BIG: too many; -EDQUOT:
 * max_size past the limit. *session is a reference: wmk_session_put(). Not active.
 */
int wmk_session_create(struct wmk_tracing *tracing, const struct wmk_session_options *options,
		       struct wmk_session **session);
/*
 * Another session than the owner's of that name has the path: -EBUSY, in words that tell its name to whoever may see
 * it. Else 0.
 */
int wmk_session_path_check(struct wmk_tracing *tracing, const struct wmk_session_options *options);
/* By its owner and name (two users may call theirs alike): a reference, or NULL. */
struct wmk_session *wmk_session_get(struct wmk_tracing *tracing, uid_t uid, const char *name);
/* References to all sessions at this moment: malloc'd array at *sessions, their number returned, or -ENOMEM. */
int wmk_session_get_all(struct wmk_tracing *tracing, struct wmk_session ***sessions);
/* One more reference. */
void wmk_session_hold(struct wmk_session *session);
void wmk_session_put(struct wmk_session *session);
/* The lock of those who change it. -ENOENT: it was destroyed meanwhile (not locked). */
int wmk_session_lock(struct wmk_session *session);
void wmk_session_unlock(struct wmk_session *session);
/* Constant: */
const char *wmk_session_name(const struct wmk_session *session);
uid_t wmk_session_uid(const struct wmk_session *session);
gid_t wmk_session_gid(const struct wmk_session *session);
bool wmk_session_recovered(const struct wmk_session *session);      /* was made as WMK_SHM_RECOVERED */

/* Below: locked. What they change is in force for applications after wmk_tracing_update(). */

/*
 * The session as the protocol shows it, counts included: in the arena. (What restored rings have of processes that have
 * ended since, ends.)
 */
int wmk_session_describe(struct wmk_session *session, struct wmk_ctl_session *is, struct wmk_arena *arena);
/* The part of it that names applications which are not recorded (wire/unrecorded.def). 0 or -ENOMEM. */
int wmk_session_unrecorded(struct wmk_session *session, struct wmk_ctl_session *is, struct wmk_arena *arena);
/*
 * name NULL or "": the domain's only channel; -ENOTUNIQ when there are several. -ENOENT. The tracer's own channel is
 * not found.
 */
int wmk_session_channel_find(struct wmk_session *session, const struct wmk_ctl_domain *domain, const char *name,
			     struct wmk_session_channel **channel);
/*
 * New, enabled, with its contexts and rules. Sizes are rounded up to powers of two. -EEXIST, -EINVAL (words say which
 * option), -E2BIG. In a session that records already it takes part at once.
 */
int wmk_session_channel_add(struct wmk_session *session, const struct wmk_ctl_channel *options,
			    struct wmk_session_channel **channel);
void wmk_session_channel_switch(struct wmk_session_channel *channel, bool on);
/* As it was given, defaults filled in. */
const struct wmk_ctl_channel *wmk_session_channel_options(const struct wmk_session_channel *channel);
/* Would it do? 0 or -errno with a cause chain. */
int wmk_session_rule_check(const struct wmk_ctl_rule *rule);
/*
 * Does the rule's filter mean anything in the events that it matches and that were seen in any program? 0: it does, or
 * there is none, or nothing was seen. -EINVAL with the place.
 */
int wmk_tracing_filter_check(struct wmk_tracing *tracing, const struct wmk_ctl_rule *rule);
/* Behind rules that were added: can the filters of each event that they match be made into one? -E2BIG: not so, and of none it was recorded. Of a
 * kernel channel also: does it have the contexts that they need? -EINVAL with the place. */
int wmk_session_filters_check(struct wmk_session_channel *channel, const struct wmk_list *rules);
/* Take back what was added: these rules, and no others with the same pattern. */
void wmk_session_rules_withdraw(struct wmk_session_channel *channel, const struct wmk_list *rules);
/* The same rule again is enabled again (and counts as done). -EINVAL: pattern or level. */
int wmk_session_rule_add(struct wmk_session_channel *channel, const struct wmk_ctl_rule *rule);
/* All rules with this pattern; NULL: all rules. Returns how many were enabled, 0: none had it. */
unsigned wmk_session_rule_disable(struct wmk_session_channel *channel, const char *pattern);
/*
 * What it has already is no error. A channel that has rings gets others at the next update (ring_layout.c): each event
 * moves to them in one step. -EINVAL: no such context; -E2BIG: too many; -ENOBUFS: more memory than the owner may have.
 */
int wmk_session_context_add(struct wmk_session_channel *channel, const char *name);
/*
 * Tracked: everything of a kind (add, `all`), or nothing (not add, `all`), or what the list says is added or taken
 * away: all of it, or after an error nothing. -EINVAL: an empty one; -E2BIG: too many.
 */
int wmk_session_track(struct wmk_session *session, const struct wmk_ctl_track *track, bool add);
/* Begin, go on. -EALREADY when active; -ENODATA: has no channel; -EDQUOT: its trace has what it may have. */
int wmk_session_start(struct wmk_session *session);
/* Make the user's trace and rings of an active session now, not when the first program comes. */
int wmk_session_prepare(struct wmk_session *session, uid_t uid);
/* What went wrong first with traces, rings, and declarations: -errno and words (cut to fit), 0: nothing. */
int wmk_session_trouble(const struct wmk_session *session, char *words, size_t size);
/* What the user should know of how system calls are recorded, once for each channel of the kernel. False: nothing. */
bool wmk_session_syscalls_warning(struct wmk_session *session, char *words, size_t size);
/* -EALREADY when not active, and not stopped by wmk_session_full(). After the update: wmk_session_flush(). */
int wmk_session_stop(struct wmk_session *session);
/* A start that came to nothing: stopped, with nothing to be written. */
void wmk_session_unstart(struct wmk_session *session);
/* The session whose traces are in this directory: a reference, or NULL. */
struct wmk_session *wmk_session_of_path(struct wmk_tracing *tracing, const char *path);
/*
 * Its traces have what they may have: it is stopped as by wmk_session_stop(), and not started again before it is
 * cleared. -EALREADY: it was.
 */
int wmk_session_full(struct wmk_session *session);
/*
 * Everything committed is on disk; counts and files begin anew. The first error, after all was tried. These two, reap
 * and describe give the lock up while they wait for whoever consumes: when they return, the session may have been
 * changed, and destroyed, by others.
 */
int wmk_session_flush(struct wmk_session *session);
int wmk_session_clear(struct wmk_session *session);
/* Metadata written anew from what is known. -ENOTSUP: the outlet cannot. */
int wmk_session_regenerate_metadata(struct wmk_session *session);
/* Its metadata files are shorter than what was written to them: they are written anew. */
void wmk_session_metadata_stale(struct wmk_session *session);
/* Applications dump their loaded objects again at the next update, and the kernel's state is dumped again. */
void wmk_session_regenerate_statedump(struct wmk_session *session);
/* Rings of processes that ended: written out and freed. */
void wmk_session_reap(struct wmk_session *session);
/*
 * Ends it: not found any more, nobody may lock it. In this order: destroy (stops it as well), unlock, update,
 * wmk_session_finish() (not locked), put.
 */
void wmk_session_destroy(struct wmk_session *session);
/*
 * How many ring sets of daemons before this one no program has handed back, and in words which they are and how much
 * they hold (cut to fit).
 */
unsigned wmk_session_awaited(struct wmk_session *session, char *words, size_t size);
/*
 * After the update that followed the destruction: all is written, rings and traces are closed. The final state at *last
 * if not NULL.
 */
int wmk_session_finish(struct wmk_session *session, struct wmk_ctl_session *last, struct wmk_arena *arena);

/* ── across daemons ──────────────────────────────────────────────────────────────────────────────────── */

/*
 * An identity that an earlier daemon gave, before the first session is restored: where its process has ended, its
 * claims in restored rings are freed, at wmk_session_restore_end() and whenever the session is stopped or described.
 * -EINVAL, -E2BIG, -ENOMEM.
 */
int wmk_tracing_earlier_identities(struct wmk_tracing *tracing, const struct wmk_identity *is);

/* Before the first shard is opened: applications can hand back rings of an earlier daemon. */
void wmk_reattach_init(struct wmk_tracing *tracing);

/* Rings as a daemon's state tells them to the next. */
struct wmk_restored_rings {
	uint64_t id;
	uint32_t stream_id;              /* of the channel */
	uint32_t n_contexts;             /* of the channel's, as many as there were when they were made */
	uid_t uid;
	pid_t pid;                       /* of rings that belong to one process, else 0 */
	uint64_t start_time;
	uint8_t uuid[16];                /* of the trace */
	const char *sub;
	uint8_t set_uuid[16];            /* of the ring set (waymark_ring_options.uuid), and the inode of its memory: */
	uint64_t inode;                  /* by these a program is believed that hands it back */
};

/* Locked. Stops at the first that is not 0, and returns it. A channel's counts are those of rings that have ended. */
int wmk_session_each_channel(struct wmk_session *session,
			     int (*one)(void *data, const struct wmk_ctl_channel *is, uint32_t stream_id, bool own),
			     void *data);
int wmk_session_each_rings(struct wmk_session *session, int (*one)(void *data, const struct wmk_restored_rings *is),
			   void *data);

/*
 * Make a session as it was, before any application comes: restore, its channels, its rings, the ids in them, end. What
 * is given is checked as if a user had typed it. *session is a reference, and locked until wmk_session_restore_end(),
 * which enters it into the table of names and unlocks it, whatever it returns (-EEXIST; put it then).
 */
int wmk_session_restore(struct wmk_tracing *tracing, const struct wmk_session_options *options,
			const struct wmk_ctl_session *is, struct wmk_session **session);
int wmk_session_restore_channel(struct wmk_session *session, const struct wmk_ctl_channel *is, uint32_t stream_id,
				bool own);
/*
 * `fd` of the ring set: the caller's; -1: nobody has it, and it is awaited from programs: until one hands it back, new
 * rings are made for those that record. -ENOENT: no channel has that number. After any other error with a descriptor it
 * is awaited too.
 */
int wmk_session_restore_rings(struct wmk_session *session, const struct wmk_restored_rings *is, int fd);
/* Rings of this stream class have ended: `gone` returns their counts, by the channel's name in the trace. */
typedef int wmk_rings_gone(void *data, const uint8_t trace_uuid[16], const char *channel,
			   struct wmk_counts *counts);
int wmk_session_restore_gone(struct wmk_session *session, const uint8_t trace_uuid[16], uint32_t stream_id,
			     wmk_rings_gone *gone, void *data);
/* Takes the class over. */
int wmk_session_restore_id(struct wmk_session *session, uint64_t rings_id, uint32_t id, struct wmk_event_class *event);
int wmk_session_restore_end(struct wmk_session *session);

/* ── patterns ────────────────────────────────────────────────────────────────────────────────────────── */

/* -EINVAL with words when `pattern` cannot be one (empty, too long, unclosed '['). */
int wmk_pattern_check(const char *pattern);
/*
 * Globs on `provider:name` (* ? [a-z] [!a-z], \ before a character that is meant); one without ':' is also held against
 * the provider alone.
 */
bool wmk_pattern_match(const char *pattern, const char *provider, const char *name);
/*
 * How many distinct events that were seen in any program, the tracer's own not counted, match `pattern` (a '!' in front
 * is skipped).
 */
uint64_t wmk_tracing_matching(struct wmk_tracing *tracing, const char *pattern);
/* Likewise, and none of the rule's exclusions, and its level. */
uint64_t wmk_tracing_fitting(struct wmk_tracing *tracing, const struct wmk_ctl_rule *rule);
/*
 * The `provider:name` that were seen in any program and are nearest to `pattern`, best first; returns how many (<=
 * max). Strings live as long as `tracing`.
 */
unsigned wmk_tracing_nearest(struct wmk_tracing *tracing, const char *pattern, const char **names, unsigned max);

#endif
