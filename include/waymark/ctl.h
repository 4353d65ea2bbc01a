/* SPDX-License-Identifier: MIT */
/*
 * ctl.h - control tracing from a program: sessions, channels, events, as the command `waymark` does (libwaymark-ctl).
 *
 *     struct waymark_ctl *ctl;
 *     struct waymark_ctl_rule rule = { .size = sizeof(rule), .pattern = "shop:*" };
 *     struct waymark_ctl_create_options create = { .size = sizeof(create), .name = "mine" };
 *     struct waymark_ctl_events_options events = {
 *             .size = sizeof(events), .session = "mine", .rules = &rule, .n_rules = 1,
 *     };
 *
 *     // connects to the session daemon, and starts it if none runs
 *     waymark_ctl_connect(NULL, &ctl);
 *     waymark_ctl_create(ctl, &create, NULL);
 *     waymark_ctl_enable_event(ctl, &events, NULL);
 *     waymark_ctl_start(ctl, "mine", NULL);
 *     ...
 *     waymark_ctl_stop(ctl, "mine", &result);
 *
 * Functions return 0 or a negative errno. After an error, waymark_ctl_error_text() returns the reason; each thread has
 * its own error text. The library does not exit, keeps no other global state, and prints only to a file that the caller
 * passes. Only one thread at a time may use a handle; different threads may use different handles. No function may be
 * called from a signal handler. After fork(), the child may only close a handle.
 *
 * A structure that the caller fills begins with the member `size`, which the caller sets to sizeof(the structure). The
 * value 0 of a member selects the default. All elements of an array have the size that is set in the first element. The
 * library owns the structures that it returns; later versions may append members. The library does not keep strings and
 * arrays of the caller.
 */
/*
 * Each section of this header becomes a manual page (scripts/man_from_header.py). A comment that is followed by an
 * empty line describes the whole page.
 */
#ifndef WAYMARK_CTL_H
#define WAYMARK_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct waymark_ctl;                  /* a connection */
struct waymark_ctl_result;           /* the answer to a request */

/* ── errors: why a call failed ───────────────────────────────────────────────────────────────────────────── */

/*
 * Return layer `index` of the reason of the latest failed call of this thread; layer 0 is the outermost, NULL is past
 * the last layer. The returned text is valid until the next call of the thread.
 */
const char *waymark_ctl_error(unsigned index);
/* Store all layers in one line, the outermost first, cut to `size` bytes; "" if no call failed. Returns `buf`. */
const char *waymark_ctl_error_text(char *buf, size_t size);

/* ── connection: connect to the session daemon, start it, end it ──────────────────────────────────────────── */

/* Selects when waymark_ctl_connect() starts a session daemon. */
enum waymark_ctl_start {
	WAYMARK_CTL_START_IF_NONE = 0,   /* a session daemon is started if none runs */
	WAYMARK_CTL_START_NEVER = 1,
};

/* Options of waymark_ctl_connect(). */
struct waymark_ctl_connect_options {
	size_t size;
	/*
	 * The runtime directory. NULL: $WAYMARK_RUNDIR, else the directory of root's session daemon if permitted (root,
	 * members of the group `tracing`), else the user's directory; see waymark_ctl_rundir().
	 */
	const char *rundir;
	uint32_t start;              /* enum waymark_ctl_start */
	/*
	 * The executable of the session daemon. NULL: $WAYMARK_SESSIOND, else `waymark-sessiond` in the directory of
	 * the running executable, else in PATH.
	 */
	const char *program;
	/*
	 * Time limit in ms for the connection, and for each request; 0: 30000, -1: no limit. A `stop` or `destroy` on a
	 * slow disk may take longer: the session daemon continues the request after the timeout.
	 */
	int timeout_ms;
	/*
	 * NULL, or the directory in which an ended session kept its rings (`shm_path`); all processes that used the
	 * rings must have ended. The library then starts a session daemon in `rundir`, with this session only. `rundir`
	 * must be given, and no session daemon may run in `rundir`. waymark_ctl_destroy() writes the content of the
	 * rings into the trace and removes the directory; waymark_ctl_shutdown() ends the session daemon. -ECHILD: the
	 * session cannot be recovered, for example because a process still uses the rings; the error text has details.
	 */
	const char *recover;
};

/*
 * Connect to a session daemon. Options NULL: all defaults. The caller owns *ctl; waymark_ctl_close() frees it. Returns
 * 0; -ENOENT, -ECONNREFUSED: no session daemon runs, and starting one is not permitted; -EACCES: the user may not
 * control the session daemon; -ETIMEDOUT; -EPROTO: not a session daemon of this version.
 */
int waymark_ctl_connect(const struct waymark_ctl_connect_options *options, struct waymark_ctl **ctl);
/* Disconnect and free the handle. NULL is allowed. Sessions continue. */
void waymark_ctl_close(struct waymark_ctl *ctl);
/* Return the runtime directory of the session daemon. Valid until waymark_ctl_close(). */
const char *waymark_ctl_rundir(const struct waymark_ctl *ctl);
/* Return whether waymark_ctl_connect() started the session daemon. */
bool waymark_ctl_started(const struct waymark_ctl *ctl);
/* Set `timeout_ms` for the following requests. */
void waymark_ctl_set_timeout(struct waymark_ctl *ctl, int timeout_ms);

/* ── channel: buffers, and the processes that record into them ── */

/*
 * A channel has ring buffers with their own sizes and mode, context fields and event rules. A channel belongs to a
 * domain: all applications, one process, all processes of an executable, or the kernel. A session may have several
 * channels. In each domain of applications, the first enabled channel with a matching rule records an event. In the
 * kernel domain, each enabled channel with a matching rule records the event.
 */

/* A domain: all applications, one process, the processes of one executable, or the kernel (only of root's daemon). */
enum waymark_ctl_domain_kind {
	WAYMARK_CTL_USER = 0,
	WAYMARK_CTL_PID = 1,
	WAYMARK_CTL_EXEC = 2,
	WAYMARK_CTL_KERNEL = 3
};
/* If all sub-buffers are full, the newest or the oldest records are lost. */
enum waymark_ctl_mode { WAYMARK_CTL_DISCARD = 0, WAYMARK_CTL_OVERWRITE = 1 };
/*
 * Whether buffers are per user or per process. With PER_PID, each process has its own buffers and trace. The buffers
 * and the trace of a process end when the process ends. A channel for one process without its descendants is always
 * PER_PID.
 */
enum waymark_ctl_buffers { WAYMARK_CTL_PER_UID = 0, WAYMARK_CTL_PER_PID = 1 };

/*
 * User domain. PER_CPU: a ring for each CPU. PER_CHANNEL: min(8, CPUs) rings that all threads share, which need less
 * memory on a machine with many CPUs; recording takes about 0.6 us longer.
 */
enum waymark_ctl_allocation { WAYMARK_CTL_RINGS_PER_CPU = 0, WAYMARK_CTL_RINGS_PER_CHANNEL = 1 };
/*
 * User domain: when the memory of buffers is allocated. DEFAULT: at most 64 MiB, but one sub-buffer of each ring, when
 * the buffers are created, the rest of a ring when the ring is first used. ALL: everything at once. ON_DEMAND: one
 * sub-buffer of each ring at once, the rest of a ring when the ring is first used.
 */
enum waymark_ctl_preallocation {
	WAYMARK_CTL_PREALLOCATE_DEFAULT = 0,
	WAYMARK_CTL_PREALLOCATE_ALL = 1,
	WAYMARK_CTL_PREALLOCATE_ON_DEMAND = 2
};

/* ── events: which events are recorded ── */

/*
 * Event rules select the events of a channel. A rule selects the events that match its pattern and its log level and
 * match none of its exclusions. A rule also applies to applications that start later, until the rule is disabled.
 */

/* How a rule compares log levels. */
enum waymark_ctl_level_op {
	WAYMARK_CTL_ANY_LEVEL = 0,
	WAYMARK_CTL_AT_LEAST = 1 /* this severity or higher */,
	WAYMARK_CTL_EXACTLY = 2,
	WAYMARK_CTL_BETWEEN = 3,
};
/* Log levels: enum waymark_level, 0 (emerg) to 14 (debug). Kinds of events: enum waymark_kind. */
#define WAYMARK_CTL_LEVELS 15
/* Return "emerg", ... "debug"; NULL for an invalid level. */
const char *waymark_ctl_level_name(uint32_t level);

#include <waymark/ctl_results.h>

/* ── session ── */

/* Options of waymark_ctl_create(). */
struct waymark_ctl_create_options {
	size_t size;
	const char *name;            /* NULL or "": a name made from the time; the result contains it */
	const char *path;            /* of the trace, absolute; NULL or "": the default path below ... */
	const char *home;            /* ... this directory; NULL: $HOME, else the home directory of the user */
	uint64_t max_size;           /* limit of the trace in bytes, at which the session stops; 0: no limit */
	uint32_t trace_format;       /* enum waymark_ctl_trace_format */
	/* omit the state dump: loaded objects of applications; processes, files, ... of the kernel */
	bool no_statedump;
	/*
	 * a directory: the rings of the daemon's own user are files of a new directory in it. These files outlive all
	 * processes. NULL: rings are in memory
	 */
	const char *shm_path;
	uint32_t clock;              /* enum waymark_ctl_clock */
	const char *description;     /* for the user, also in the trace: UTF-8, at most 1024 bytes; NULL: none */
	int64_t flush_us;            /* flush interval of user channels that set no interval; 0: 1 s */
	/*
	 * a flight recorder: channels are in overwrite mode, and nothing is written before
	 * waymark_ctl_snapshot_record(), which writes below `path`
	 */
	bool snapshot;
	/* compress the chunks that a rotation closes, at idle priority; only libwaymark-ctf reads such chunks */
	bool compress;
	const char *url;             /* of the relay that receives the trace, tls:// or tcp://; `path` is NULL then */
	uint64_t spool_size;         /* with url: limit of the spool in bytes; 0: 1 GiB */
};
/*
 * Create a session; it does not record yet. -EEXIST: a session has the name; -ENOTEMPTY: the directory of the trace is
 * not empty; -EBUSY: another session has this path; -EINVAL: invalid name or path; -E2BIG: the user or the session
 * daemon has reached its limit of sessions.
 */
int waymark_ctl_create(struct waymark_ctl *ctl, const struct waymark_ctl_create_options *options,
		       struct waymark_ctl_result **result);
/*
 * End a session. When the call returns, all records are written and the trace is complete; a warning reports what could
 * not be written. `session` NULL or "": all sessions of the user. -ENOENT: no session of that name exists that the user
 * may control. Each function that takes the name of a session can return -ENOENT.
 */
int waymark_ctl_destroy(struct waymark_ctl *ctl, const char *session, struct waymark_ctl_result **result);
/*
 * Start or resume recording. -EALREADY: active; -ENODATA: the session has no channel; -EDQUOT: its trace has reached
 * its limit: clear it.
 */
int waymark_ctl_start(struct waymark_ctl *ctl, const char *session, struct waymark_ctl_result **result);
/* Stop recording and write all records. `session` NULL or "": all sessions of the user; else -EALREADY: not active. */
int waymark_ctl_stop(struct waymark_ctl *ctl, const char *session, struct waymark_ctl_result **result);
/* Discard all records so far, except those in closed chunks. */
int waymark_ctl_clear(struct waymark_ctl *ctl, const char *session, struct waymark_ctl_result **result);
/*
 * Close the trace that was recorded so far, while recording continues. The closed trace becomes a complete trace in the
 * directory archives/NAME of the session's trace (closed_chunk of struct waymark_ctl_session_info). Records after the
 * rotation are in the next chunk. The counts of a session are the sums over all its chunks. -ENODATA: the session was
 * never active; -ENOTSUP: it is a flight recorder; -ETIMEDOUT: the disk is slow or full, and the rotation continues.
 */
int waymark_ctl_rotate(struct waymark_ctl *ctl, const char *session, struct waymark_ctl_result **result);
/* Options of waymark_ctl_enable_rotation(). A member that is 0 leaves its setting unchanged. */
struct waymark_ctl_rotation_options {
	size_t size;
	const char *session;
	uint64_t rotate_us, rotate_size;     /* interval, at least 100000; bytes of the open chunk, at least 4096 */
	/* the chunks to keep; retain_size includes the open chunk. A size or age implies rotations at a tenth of it */
	uint64_t retain_size, retain_us, retain_count;
};
/* Rotate an active session by a schedule, and keep only its newest chunks. -ENOTSUP: it cannot be rotated. */
int waymark_ctl_enable_rotation(struct waymark_ctl *ctl, const struct waymark_ctl_rotation_options *options,
				struct waymark_ctl_result **result);
/* Remove parts of the schedule: enum waymark_ctl_rotation_part, combined; 0: all. */
int waymark_ctl_disable_rotation(struct waymark_ctl *ctl, const char *session, uint32_t parts,
				 struct waymark_ctl_result **result);
/*
 * Give the memory of idle buffers back to the system: buffers of `channels` (n 0: of all channels) without a record for
 * `idle_us`. A channel of the kernel, in overwrite mode, with blocking_us or with poll_us keeps its memory. -ENOTSUP: a
 * channel in `channels`, or each channel of the session, keeps its memory.
 */
int waymark_ctl_reclaim_memory(struct waymark_ctl *ctl, const char *session, const char *const *channels, unsigned n,
			       uint64_t idle_us, struct waymark_ctl_result **result);
/* List a session. `session` NULL or "": all sessions that the user may see. */
int waymark_ctl_list_sessions(struct waymark_ctl *ctl, const char *session, struct waymark_ctl_result **result);

/* The requests of waymark_ctl_on_sessions(). */
enum waymark_ctl_session_request {
	WAYMARK_CTL_DO_START = 0,
	WAYMARK_CTL_DO_STOP = 1,
	WAYMARK_CTL_DO_CLEAR = 2,
	WAYMARK_CTL_DO_DESTROY = 3,
	WAYMARK_CTL_DO_LIST = 4
};
/* Options of waymark_ctl_on_sessions(). */
struct waymark_ctl_sessions_options {
	size_t size;
	uint32_t request;            /* enum waymark_ctl_session_request */
	const char *session;         /* as in the function of that request */
	/*
	 * A pattern with * ? [a-z] [!a-z]. The request applies to each matching session of the user; LIST applies to
	 * each matching session that the user may see. A session already in the requested state causes no error.
	 */
	const char *glob;
	/*
	 * STOP, DESTROY: return when the session has stopped. The session daemon then writes the last records. The
	 * counts of the result do not include the last records.
	 */
	bool no_wait;
};
/*
 * Start, stop, clear, destroy or list sessions. Returns the same values as the function for a single session, such as
 * waymark_ctl_start(); -ENOENT: no session matches. If a request on one of several sessions fails, the library still
 * changes the other sessions and returns the first error.
 */
int waymark_ctl_on_sessions(struct waymark_ctl *ctl, const struct waymark_ctl_sessions_options *options,
			    struct waymark_ctl_result **result);

/* What waymark_ctl_regenerate() writes again. */
enum waymark_ctl_regenerate_what { WAYMARK_CTL_METADATA = 0, WAYMARK_CTL_STATEDUMP = 1 };
/*
 * Write the metadata of the trace again from the state of the session daemon, or record the state dump again. `what`:
 * enum waymark_ctl_regenerate_what.
 */
int waymark_ctl_regenerate(struct waymark_ctl *ctl, const char *session, uint32_t what,
			   struct waymark_ctl_result **result);

/* ── snapshots ── */

/* Options of waymark_ctl_snapshot_record() and waymark_ctl_snapshot_add_output(). */
struct waymark_ctl_snapshot_options {
	size_t size;
	const char *session;
	/*
	 * The name of a snapshot is NAME-DATE-NUMBER. If `name` is NULL or "", waymark_ctl_snapshot_record() uses the
	 * name of the output ("snapshot" without an output), and waymark_ctl_snapshot_add_output() uses "snapshot".
	 */
	const char *name;
	/*
	 * The directory in which snapshots are created, absolute. If `path` is NULL or "",
	 * waymark_ctl_snapshot_record() uses the path of the output.
	 */
	const char *path;
	/*
	 * Limit for the streams of a snapshot, in bytes: each ring contributes its newest sub-buffers. If max_size is
	 * 0, waymark_ctl_snapshot_record() uses the limit of the output, and waymark_ctl_snapshot_add_output() sets no
	 * limit.
	 */
	uint64_t max_size;
	/*
	 * Only for waymark_ctl_snapshot_record(): the reason for the snapshot, and the process that the snapshot
	 * concerns. The environment of the trace contains the reason as snapshot_reason, and the process as
	 * snapshot_program and snapshot_pid. `reason` and `program` are UTF-8, at most 127 and 255 bytes; NULL: none.
	 */
	const char *reason, *program;
	uint64_t pid;
};
/*
 * Record a snapshot: copy what the buffers in overwrite mode hold. When the call returns, the trace is complete;
 * waymark_ctl_result_snapshot() returns its description. -ENODATA: nothing was recorded; -EPERM: the session has no
 * user channel in overwrite mode, and was not created with `snapshot`; -EINVAL: no directory is known, or max_size is
 * less than one sub-buffer of each ring that has records.
 */
int waymark_ctl_snapshot_record(struct waymark_ctl *ctl, const struct waymark_ctl_snapshot_options *options,
				struct waymark_ctl_result **result);
/* Set the snapshot output of a session. -EEXIST: the session already has its only possible snapshot output. */
int waymark_ctl_snapshot_add_output(struct waymark_ctl *ctl, const struct waymark_ctl_snapshot_options *options,
				    struct waymark_ctl_result **result);
/*
 * Remove the snapshot output `name`. If `name` is NULL or "", the output is removed whatever its name is. -ENOENT: the
 * session has no such output.
 */
int waymark_ctl_snapshot_del_output(struct waymark_ctl *ctl, const char *session, const char *name,
				    struct waymark_ctl_result **result);

/* ── trackers ── */

/*
 * The kind of a list. PID, UID and GID restrict the user domain. KERNEL_PID restricts the kernel domain to records of
 * at most 64 processes; each kernel channel then has the context field pid.
 */
enum waymark_ctl_track_kind {
	WAYMARK_CTL_TRACK_PID = 0,
	WAYMARK_CTL_TRACK_UID = 1,
	WAYMARK_CTL_TRACK_GID = 2,
	WAYMARK_CTL_TRACK_KERNEL_PID = 3
};
/* Options of waymark_ctl_track() and waymark_ctl_untrack(). */
struct waymark_ctl_track_options {
	size_t size;
	const char *session;
	uint32_t kind;               /* enum waymark_ctl_track_kind */
	bool all;                    /* all ids: track() removes the list, untrack() makes it empty */
	const uint64_t *ids;
	unsigned n_ids;
};
/* Add ids to a list; the first id creates it. A session with a list records only processes with an id in the list. */
int waymark_ctl_track(struct waymark_ctl *ctl, const struct waymark_ctl_track_options *options,
		      struct waymark_ctl_result **result);
/* Remove ids from a list. -EINVAL: the list does not exist. */
int waymark_ctl_untrack(struct waymark_ctl *ctl, const struct waymark_ctl_track_options *options,
			struct waymark_ctl_result **result);

/* ── channel ── */

/* A domain. If a function allows NULL as a domain, NULL selects the whole user domain. */
struct waymark_ctl_domain {
	size_t size;
	uint32_t kind;               /* enum waymark_ctl_domain_kind */
	bool follow;                 /* PID, EXEC, KERNEL with a pid: include descendants */
	uint64_t pid;                /* PID; KERNEL: record only this process, 0: all */
	const char *exec;            /* EXEC: base name, or a path if it has a '/' */
};

/* ── events ── */

/* An event rule selects the events that match its pattern and its log level and match none of its exclusions. */
struct waymark_ctl_rule {
	size_t size;
	/*
	 * A glob that matches provider:name. A glob without ':' may also match the provider alone. Kernel domain: the
	 * glob matches the name of an event, subsystem:name, or syscall:NAME for a system call.
	 */
	const char *pattern;
	const char *const *exclusions;       /* globs */
	unsigned n_exclusions;
	uint32_t level_op;           /* enum waymark_ctl_level_op */
	uint32_t level;              /* enum waymark_level; BETWEEN: one bound ... */
	uint32_t level_to;           /* ... and the other, both included */
	/*
	 * Record only if this C expression over the fields is true: waymark-filter(7). The application evaluates the
	 * filter before it records the event. If several rules match an event, the event is recorded if the filter of
	 * at least one rule is true. NULL or "": every record.
	 */
	const char *filter;
	uint32_t probe;              /* enum waymark_ctl_probe: the pattern is the name of the event, and ... */
	/* ... this is its place: "vfs_read(count)", "sdt:/usr/bin/shop:shop:order"; see waymark-enable-event(1) */
	const char *place;
};

/* ── channel ── */

/* Options of waymark_ctl_enable_channel(). */
struct waymark_ctl_channel_options {
	size_t size;
	const char *session;
	const char *name;            /* NULL or "": channel0 */
	const struct waymark_ctl_domain *domain;
	uint32_t mode;               /* enum waymark_ctl_mode */
	uint32_t buffers;            /* enum waymark_ctl_buffers */
	uint64_t subbuf_size;        /* bytes, rounded up to a power of two, at least 4096; 0: 1 MiB */
	uint64_t n_subbufs;          /* rounded up to a power of two, at least 2 (OVERWRITE: 4); 0: 8 */
	int64_t blocking_us;         /* DISCARD: limit of a wait for room; 0: do not wait, -1: no limit */
	uint64_t field_limit;        /* bytes; 0: 64 KiB */
	uint64_t tracefile_size, tracefile_count;   /* bytes, files; 0: no limit */
	const char *const *contexts; /* names: see waymark_ctl_add_context() */
	unsigned n_contexts;
	uint32_t call_arguments;     /* kernel domain: enum waymark_ctl_call_arguments */
	/* DISCARD: limit of the time to the trace; 0: as session (kernel: 1 s), -1: none (whole sub-buffers only) */
	int64_t flush_us;
	uint32_t allocation;         /* enum waymark_ctl_allocation */
	uint32_t preallocation;      /* enum waymark_ctl_preallocation */
	/*
	 * User domain, PER_CPU. If poll_us is 0, applications wake the consumer daemon. If poll_us is greater, the
	 * consumer daemon reads every poll_us microseconds (1 ms to 60 s). Recording then makes no system call, and all
	 * memory of a ring is allocated when the ring is created. A record that would need a system call is lost and
	 * counted: a record above 16 KiB, or a record of a thread without rseq(2). Excludes blocking_us and ON_DEMAND.
	 */
	uint64_t poll_us;
	/* DISCARD: idle time until buffers give memory back, at least 1000; 0: never. Excludes blocking_us, poll_us */
	uint64_t reclaim_us;
};
/*
 * Create a channel, or enable an existing channel again and add `contexts` to it. If another option differs from the
 * option of the existing channel, the request is refused (-EEXIST).
 */
int waymark_ctl_enable_channel(struct waymark_ctl *ctl, const struct waymark_ctl_channel_options *options,
			       struct waymark_ctl_result **result);

/* ── events ── */

/* Options of functions that change channels, events and context fields. */
struct waymark_ctl_events_options {
	size_t size;
	const char *session;
	/* NULL or "": the only one of the domain; if it has none, enable-event and add-context create channel0 */
	const char *channel;
	const struct waymark_ctl_domain *domain;
	const struct waymark_ctl_rule *rules;        /* enable-event */
	unsigned n_rules;
	const char *const *patterns; /* disable-event; none: all */
	unsigned n_patterns;
	const char *const *contexts; /* add-context */
	unsigned n_contexts;
};
/* ── channel ── */

/*
 * Disable a channel: the channel records nothing until it is enabled again. Ignores `rules`, `patterns` and `contexts`.
 * -ENOENT: no such channel.
 */
int waymark_ctl_disable_channel(struct waymark_ctl *ctl, const struct waymark_ctl_events_options *options,
				 struct waymark_ctl_result **result);
/* ── events ── */

/*
 * Add event rules. When the function returns, every application that has confirmed the change records the events from
 * its next tracepoint on.
 */
int waymark_ctl_enable_event(struct waymark_ctl *ctl, const struct waymark_ctl_events_options *options,
			     struct waymark_ctl_result **result);
/*
 * Disable rules by their patterns. -ENOENT: no rule of the channel has this pattern; the rules of earlier patterns in
 * the array are already disabled.
 */
int waymark_ctl_disable_event(struct waymark_ctl *ctl, const struct waymark_ctl_events_options *options,
			      struct waymark_ctl_result **result);

/* ── contexts: context fields that are added to each record of a channel ── */

/*
 * "vpid", "vtid" (process and thread in their own PID namespace), "procname" (name of the thread), "cpu_id",
 * "pthread_id" (pthread_self()), "ip" (address of the tracepoint). Readers print context fields in each record. Kernel
 * domain: "pid", "tid", "procname" and others, which `waymark add-context --kernel --list` prints.
 */

/*
 * Add context fields to a channel. A field that the channel already has causes no error. All records of a stream have
 * the same fields. A channel that has already recorded continues in new streams, which need the same amount of memory
 * again; `warnings` report the additional memory. The change of the context fields loses or duplicates no record.
 * -EINVAL: unknown context field; -ENOBUFS: the owner would exceed its limit of ring memory, and nothing has changed.
 */
int waymark_ctl_add_context(struct waymark_ctl *ctl, const struct waymark_ctl_events_options *options,
			    struct waymark_ctl_result **result);

/* ── applications ── */

/* Options of waymark_ctl_list_apps(). */
struct waymark_ctl_apps_options {
	size_t size;
	bool events;                 /* also list their events, with fields */
	const char *pattern;         /* with `events`: only matching events and their applications; NULL or "": all */
	uint64_t pid;                /* 0: all */
};
/* List applications. Options NULL: list all applications, without their events. */
int waymark_ctl_list_apps(struct waymark_ctl *ctl, const struct waymark_ctl_apps_options *options,
			  struct waymark_ctl_result **result);

/* ── kernel: events of the kernel, and missing features ── */

/*
 * Root's session daemon lists kernel events to root and members of the group `tracing`, even if no session records
 * them. In the list of kernel events, a system call is one event, with its arguments and its result `ret`.
 */

/* Options of waymark_ctl_list_kernel(). */
struct waymark_ctl_kernel_options {
	size_t size;
	/* Globs for the name in traces, the name in the kernel, or subsystem:name; "syscall:openat". None: all. */
	const char *const *patterns;
	unsigned n_patterns;
	bool fields;                 /* also list the fields of events */
	/* Also list the missing features of this kernel, with reasons. The daemon tries all features in about 10 ms. */
	bool lacks;
};
/*
 * List kernel events. Options NULL: all events, without fields. The result has the events, the missing features (if
 * requested), and the default clock of kernel records. -ENOENT: a pattern matches no event; the error text has similar
 * names. -EACCES, -ENOSYS, ...: tracefs cannot be used.
 */
int waymark_ctl_list_kernel(struct waymark_ctl *ctl, const struct waymark_ctl_kernel_options *options,
			    struct waymark_ctl_result **result);

/* ── connection ── */

/* Query version and identity of the session daemon: see waymark_ctl_result_version(). */
int waymark_ctl_version(struct waymark_ctl *ctl, struct waymark_ctl_result **result);
/*
 * End the session daemon. The session daemon first destroys all sessions, and writes all their records. -EACCES: the
 * session daemon belongs to root, and the caller is another user.
 */
int waymark_ctl_shutdown(struct waymark_ctl *ctl);

/* ── saving: save sessions to files, and load them ────────────────────────────────────────────────────────── */

/*
 * A saved session is a JSON file with the members of waymark_ctl_result_json() that define the session. The JSON file
 * does not contain the counts and the state of the session.
 */

/* Options of waymark_ctl_save(). */
struct waymark_ctl_save_options {
	size_t size;
	const char *session;         /* NULL or "": all sessions that the user may see */
	/* a file if it ends in .json (one session), else a directory; NULL: $HOME/.waymark/sessions */
	const char *path;
	bool replace;                /* replace an existing file; else -EEXIST */
};
/*
 * Save sessions. Each file (mode 0600) is written completely or not at all. `replace` replaces a symbolic link of this
 * name, and does not follow it. The result has the files.
 */
int waymark_ctl_save(struct waymark_ctl *ctl, const struct waymark_ctl_save_options *options,
		     struct waymark_ctl_result **result);

/* Options of waymark_ctl_load(). */
struct waymark_ctl_load_options {
	size_t size;
	const char *session;         /* NULL or "": all sessions of the file or directory */
	const char *path;            /* a file, or a directory of saved sessions; NULL: $HOME/.waymark/sessions */
	/* destroy an existing session of this name and owner, once the saved session was checked; else -EEXIST */
	bool replace;
	const char *name;            /* with one session: another name for it */
	const char *output;          /* with one session: another path for the trace, absolute */
	bool default_output;         /* use the default path of traces instead of the path in the files */
	/* use the path NAME-YYYYMMDD-HHMMSS beside the path in the file: each load has another path */
	bool dated_output;
};
/*
 * Load sessions; none is started. If the directory at the path in a file is not empty, the session uses the default
 * path, and a warning reports the path in the file. A session that cannot be loaded completely is removed. If the
 * function fails, sessions that were already loaded are kept.
 */
int waymark_ctl_load(struct waymark_ctl *ctl, const struct waymark_ctl_load_options *options,
		     struct waymark_ctl_result **result);

#ifdef __cplusplus
}
#endif

#endif
