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
 *     // to the session daemon, which is started if there is none
 *     waymark_ctl_connect(NULL, &ctl);
 *     waymark_ctl_create(ctl, &create, NULL);
 *     waymark_ctl_enable_event(ctl, &events, NULL);
 *     waymark_ctl_start(ctl, "mine", NULL);
 *     ...
 *     waymark_ctl_stop(ctl, "mine", &result);
 *
 * Functions return 0 or a negative errno; why is then told by waymark_ctl_error_text(), for each thread by itself.
 * Nothing here prints (but to a file that it is given), exits, or keeps global state but that text. A handle is used by
 * one thread at a time; different handles by different threads. No function may be called from a signal handler. A
 * handle does not survive fork(): the child may only close it.
 *
 * Structures that the caller fills begin with their size, sizeof(the structure), and what is left zero has a default;
 * an array of them has elements of the size that its first one says. What is asked of the library, the library owns:
 * structures come by pointer and may have more members in a later version. Strings and arrays that go in are not kept.
 */
/*
 * Sections are pages of the manual (scripts/man_from_header.py). A comment before an empty line describes all the page.
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
struct waymark_ctl_result;           /* what a request answered */

/* ── errors: why a call failed ───────────────────────────────────────────────────────────────────────────── */

/*
 * Why the calling thread's latest failed call failed: one sentence for each layer, 0 the outermost, NULL past the end.
 * Valid until the thread's next call.
 */
const char *waymark_ctl_error(unsigned index);
/* All in one line, outermost first, cut to `size` bytes; "" when nothing failed. Returns `buf`. */
const char *waymark_ctl_error_text(char *buf, size_t size);

/* ── connection: meet the session daemon, start it, end it ───────────────────────────────────────────────── */

/* Whether a daemon may be started. */
enum waymark_ctl_start {
	WAYMARK_CTL_START_IF_NONE = 0,   /* a daemon is started when none runs */
	WAYMARK_CTL_START_NEVER = 1,
};

/* What waymark_ctl_connect() is told. */
struct waymark_ctl_connect_options {
	size_t size;
	/*
	 * Where the daemon is. NULL: $WAYMARK_RUNDIR, else root's daemon where it lets us in (root, members of the
	 * group `tracing`), else the user's own; see waymark_ctl_rundir().
	 */
	const char *rundir;
	uint32_t start;              /* enum waymark_ctl_start */
	/*
	 * The daemon's program. NULL: $WAYMARK_SESSIOND, else `waymark-sessiond` beside the running executable, else
	 * the one in PATH.
	 */
	const char *program;
	/*
	 * For connecting, and for each request; 0: 30000, -1: for ever. A `stop` or `destroy` that waits for a slow
	 * disk may take longer: it goes on when nobody waits any more.
	 */
	int timeout_ms;
	/*
	 * NULL, or a directory that a session's rings were left in when all processes had ended (`shm_path` of a
	 * session): a daemon is started, for `rundir` (which is to be named, and have none), that has this session
	 * alone. waymark_ctl_destroy() writes what the rings hold into the trace and removes the directory,
	 * waymark_ctl_shutdown() ends the daemon. -ECHILD: it cannot be taken over, words say why; so it is when a
	 * process still has rings of it.
	 */
	const char *recover;
};

/*
 * Connect; options NULL: all defaults. *ctl is the caller's, waymark_ctl_close() frees it. -ENOENT, -ECONNREFUSED: no
 * daemon runs, and none was to be started; -EACCES: it is not ours to control; -ETIMEDOUT; -EPROTO: it is not a session
 * daemon of this version.
 */
int waymark_ctl_connect(const struct waymark_ctl_connect_options *options, struct waymark_ctl **ctl);
/* NULL is allowed. Sessions go on. */
void waymark_ctl_close(struct waymark_ctl *ctl);
/* The runtime directory of the daemon, as connected to. Valid until waymark_ctl_close(). */
const char *waymark_ctl_rundir(const struct waymark_ctl *ctl);
/* Whether waymark_ctl_connect() started the daemon. */
bool waymark_ctl_started(const struct waymark_ctl *ctl);
/* From the next request on: as `timeout_ms` of the options. */
void waymark_ctl_set_timeout(struct waymark_ctl *ctl, int timeout_ms);

/* ── channel: the buffers in which programs record, and for whom they are ── */

/*
 * A channel is a set of ring buffers, with its own sizes, mode, contexts and rules. It belongs to a domain: all
 * programs, one process, all that run an executable, or the kernel. A session may have several. An event is recorded by
 * the first channel of a domain that has a rule for it, and by one of each domain.
 */

/* Which programs: all, one process, or those that run an executable; or the kernel (root's daemon alone). */
enum waymark_ctl_domain_kind {
	WAYMARK_CTL_USER = 0,
	WAYMARK_CTL_PID = 1,
	WAYMARK_CTL_EXEC = 2,
	WAYMARK_CTL_KERNEL = 3
};
/* When all sub-buffers are full: newer records are lost, or the oldest are. */
enum waymark_ctl_mode { WAYMARK_CTL_DISCARD = 0, WAYMARK_CTL_OVERWRITE = 1 };
/*
 * Who shares buffers: all programs of a user, or nobody: each process has its own, and a trace of its own, which end
 * with it. So it is always in a channel for one process without those that it starts.
 */
enum waymark_ctl_buffers { WAYMARK_CTL_PER_UID = 0, WAYMARK_CTL_PER_PID = 1 };

/* ── events: which events are recorded ── */

/*
 * Rules say which events a channel records: those that match the pattern, none of the exclusions, and the level. A rule
 * stays in force for programs to come, until it is disabled.
 */

/* How a rule's level is meant. */
enum waymark_ctl_level_op {
	WAYMARK_CTL_ANY_LEVEL = 0,
	WAYMARK_CTL_AT_LEAST = 1 /* as severe or more */,
	WAYMARK_CTL_EXACTLY = 2,
	WAYMARK_CTL_BETWEEN = 3,
};
/* Log levels are those of enum waymark_level, 0 (emerg) to 14 (debug); kinds of events those of enum waymark_kind. */
#define WAYMARK_CTL_LEVELS 15
/* "emerg", ... "debug"; NULL for what is none. */
const char *waymark_ctl_level_name(uint32_t level);

#include <waymark/ctl_results.h>

/* ── session ── */

/* What waymark_ctl_create() is told. */
struct waymark_ctl_create_options {
	size_t size;
	const char *name;            /* NULL or "": made from the time; see the result's session */
	const char *path;            /* of the trace, absolute; NULL or "": the default place below ... */
	const char *home;            /* ... this directory; NULL: $HOME, else the user's home */
	uint64_t max_size;           /* bytes that the trace may have: then the session stops by itself; 0: no limit */
	uint32_t trace_format;       /* enum waymark_ctl_trace_format */
	/*
	 * records of what was there when it began are not wanted: loaded objects; of the kernel, processes, files, ...
	 */
	bool no_statedump;
	/*
	 * rings of programs of the daemon's user are files in a new directory there, which outlive all processes; NULL:
	 * in memory
	 */
	const char *shm_path;
	uint32_t clock;              /* enum waymark_ctl_clock */
	const char *description;     /* for people, also in the trace: UTF-8, at most 1024 bytes; NULL: none */
};
/*
 * Make a session; it does not record yet. -EEXIST: one has the name; -ENOTEMPTY: the trace's directory holds something;
 * -EBUSY: it is to hold another session's trace; -EINVAL: the name or path cannot be one; -E2BIG: the user, or the
 * daemon, has as many as may be.
 */
int waymark_ctl_create(struct waymark_ctl *ctl, const struct waymark_ctl_create_options *options,
		       struct waymark_ctl_result **result);
/*
 * End a session: what was recorded is written, and the trace is whole when it returns. `session` NULL or "": all
 * sessions of the user. -ENOENT: there is none of that name, or not one that the user may see; so it is with each
 * function that is given a session.
 */
int waymark_ctl_destroy(struct waymark_ctl *ctl, const char *session, struct waymark_ctl_result **result);
/*
 * Record, or go on recording. -EALREADY: it does; -ENODATA: it has no channel; -EDQUOT: its trace has all that it may
 * have: clear it.
 */
int waymark_ctl_start(struct waymark_ctl *ctl, const char *session, struct waymark_ctl_result **result);
/* Stop recording and write all records. `session` NULL or "": all sessions of the user. -EALREADY: not active. */
int waymark_ctl_stop(struct waymark_ctl *ctl, const char *session, struct waymark_ctl_result **result);
/* Forget what was recorded so far. */
int waymark_ctl_clear(struct waymark_ctl *ctl, const char *session, struct waymark_ctl_result **result);
/* `session` NULL or "": all that the user may see. -ENOENT when there is none of that name. */
int waymark_ctl_list_sessions(struct waymark_ctl *ctl, const char *session, struct waymark_ctl_result **result);

/* What waymark_ctl_regenerate() makes anew. */
enum waymark_ctl_regenerate_what { WAYMARK_CTL_METADATA = 0, WAYMARK_CTL_STATEDUMP = 1 };
/*
 * Write the trace's metadata anew, from what the daemon knows; or have programs record again which objects they have
 * loaded. `what`: enum waymark_ctl_regenerate_what.
 */
int waymark_ctl_regenerate(struct waymark_ctl *ctl, const char *session, uint32_t what,
			   struct waymark_ctl_result **result);

/* ── trackers ── */

/*
 * What a list is of: the first three narrow the user domain. The last one the kernel domain: only records that one of
 * these processes makes are kept, 64 processes at most; each kernel channel gets the context pid.
 */
enum waymark_ctl_track_kind {
	WAYMARK_CTL_TRACK_PID = 0,
	WAYMARK_CTL_TRACK_UID = 1,
	WAYMARK_CTL_TRACK_GID = 2,
	WAYMARK_CTL_TRACK_KERNEL_PID = 3
};
/* What waymark_ctl_track() and waymark_ctl_untrack() are told. */
struct waymark_ctl_track_options {
	size_t size;
	const char *session;
	uint32_t kind;               /* enum waymark_ctl_track_kind */
	bool all;                    /* every one of the kind: tracked, the list ends; untracked, it is empty */
	const uint64_t *ids;
	unsigned n_ids;
};
/* Add to the list, which begins empty: with the first one, only what it holds is traced. */
int waymark_ctl_track(struct waymark_ctl *ctl, const struct waymark_ctl_track_options *options,
		      struct waymark_ctl_result **result);
/* Take from the list. -EINVAL: there is none yet. */
int waymark_ctl_untrack(struct waymark_ctl *ctl, const struct waymark_ctl_track_options *options,
			struct waymark_ctl_result **result);

/* ── channel ── */

/* Which programs. NULL where one may be given: all of the user domain. */
struct waymark_ctl_domain {
	size_t size;
	uint32_t kind;               /* enum waymark_ctl_domain_kind */
	bool follow;                 /* PID, EXEC: descendants too */
	uint64_t pid;                /* PID */
	const char *exec;            /* EXEC: base name, or path when it holds a '/' */
};

/* ── events ── */

/* Events that match the pattern, none of the exclusions, and the level. */
struct waymark_ctl_rule {
	size_t size;
	/*
	 * Glob on provider:name, or on the provider alone when it has no ':'. Of the kernel: on the name of an event,
	 * on subsystem:name, or syscall:NAME, a system call.
	 */
	const char *pattern;
	const char *const *exclusions;       /* globs likewise */
	unsigned n_exclusions;
	uint32_t level_op;           /* enum waymark_ctl_level_op */
	uint32_t level;              /* enum waymark_level; BETWEEN: one end ... */
	uint32_t level_to;           /* ... and the other; both are in */
	/*
	 * Only records for which this is true, an expression as in C over their fields: waymark-filter(7). It is worked
	 * out in the program, before anything is recorded. Of several rules that are for an event one is enough. NULL
	 * or "": every record.
	 */
	const char *filter;
	uint32_t probe;              /* enum waymark_ctl_probe: then the pattern is the event's name, and ... */
	/* ... the event is made here: "vfs_read(count)", "sdt:/usr/bin/shop:shop:order"; see waymark-enable-event(1) */
	const char *place;
};

/* ── channel ── */

/* What waymark_ctl_enable_channel() is told. */
struct waymark_ctl_channel_options {
	size_t size;
	const char *session;
	const char *name;            /* NULL or "": channel0 */
	const struct waymark_ctl_domain *domain;
	uint32_t mode;               /* enum waymark_ctl_mode */
	uint32_t buffers;            /* enum waymark_ctl_buffers */
	uint64_t subbuf_size;        /* bytes, a power of two; 0: 1 MiB */
	uint64_t n_subbufs;          /* a power of two; 0: 8 */
	int64_t blocking_us;         /* DISCARD: wait for room; 0 never, -1 for ever */
	uint64_t field_limit;        /* bytes; 0: 64 KiB */
	uint64_t tracefile_size, tracefile_count;   /* bytes, files; 0: no limit */
	const char *const *contexts; /* names: see waymark_ctl_add_context() */
	unsigned n_contexts;
	uint32_t call_arguments;     /* of the kernel: enum waymark_ctl_call_arguments */
};
/* Make it, or enable it again: options that differ from what it has are refused. */
int waymark_ctl_enable_channel(struct waymark_ctl *ctl, const struct waymark_ctl_channel_options *options,
			       struct waymark_ctl_result **result);

/* ── events ── */

/* What functions on events and contexts are told. */
struct waymark_ctl_events_options {
	size_t size;
	const char *session;
	const char *channel;         /* NULL or "": the only one of the domain, or channel0, made if need be */
	const struct waymark_ctl_domain *domain;
	const struct waymark_ctl_rule *rules;        /* enable-event */
	unsigned n_rules;
	const char *const *patterns; /* disable-event; none: all */
	unsigned n_patterns;
	const char *const *contexts; /* add-context */
	unsigned n_contexts;
};
/* ── channel ── */

/* Nothing is recorded into it until it is enabled again. `rules`, `patterns`, `contexts` are not looked at. -ENOENT. */
int waymark_ctl_disable_channel(struct waymark_ctl *ctl, const struct waymark_ctl_events_options *options,
				 struct waymark_ctl_result **result);
/* ── events ── */

/* When it returns, every program that answered records the events by its next call. */
int waymark_ctl_enable_event(struct waymark_ctl *ctl, const struct waymark_ctl_events_options *options,
			     struct waymark_ctl_result **result);
/*
 * Disable rules by their patterns, as they were given. -ENOENT: no rule of the channel has such a pattern; those before
 * it are disabled.
 */
int waymark_ctl_disable_event(struct waymark_ctl *ctl, const struct waymark_ctl_events_options *options,
			      struct waymark_ctl_result **result);

/* ── contexts: what each record of a channel carries besides its fields ── */

/*
 * "vpid", "vtid" (process and thread, as the program sees them), "procname" (name of the thread), "cpu_id",
 * "pthread_id" (pthread_self()), "ip" (address of the trace point). Readers show them in each record. Of the kernel:
 * "pid", "tid", "procname" and others, which `waymark add-context --kernel --list` shows.
 */

/*
 * Add contexts to a channel. What it has already is no error. A channel that has recorded goes on, without losing or
 * doubling a record, in streams of their own and in as much memory again (`warnings` say so): a stream's records have
 * one layout. -EINVAL: there is no such context; -ENOBUFS: the memory would be more than the owner may have, and
 * nothing has changed.
 */
int waymark_ctl_add_context(struct waymark_ctl *ctl, const struct waymark_ctl_events_options *options,
			    struct waymark_ctl_result **result);

/* ── programs ── */

/* What waymark_ctl_list_apps() is told. */
struct waymark_ctl_apps_options {
	size_t size;
	bool events;                 /* list their events too, with the fields */
	const char *pattern;         /* of events; NULL or "": all */
	uint64_t pid;                /* 0: all */
};
/* options NULL: all programs, without events. */
int waymark_ctl_list_apps(struct waymark_ctl *ctl, const struct waymark_ctl_apps_options *options,
			  struct waymark_ctl_result **result);

/* ── kernel: which events the kernel has, and what it lacks ── */

/*
 * The kernel's events are known without anything being recorded. They are there for who may have them: by root's
 * daemon, for root and members of the group `tracing`. A system call is one event here, with its arguments and `ret`,
 * its result.
 */

/* What waymark_ctl_list_kernel() is told. */
struct waymark_ctl_kernel_options {
	size_t size;
	/* Globs on the name in traces, the kernel's own, or subsystem:name; "syscall:openat". None: all. */
	const char *const *patterns;
	unsigned n_patterns;
	bool fields;                 /* tell what is in them */
	/*
	 * Find out what this kernel lacks, and why: all that would be used is tried, which takes some ten milliseconds.
	 */
	bool lacks;
};
/*
 * options NULL: all events, without fields. See the results' events, lacks and clock. -ENOENT: a pattern means no
 * event, and which are near; -EACCES, -ENOSYS, ...: the kernel's tracers cannot be reached, and why.
 */
int waymark_ctl_list_kernel(struct waymark_ctl *ctl, const struct waymark_ctl_kernel_options *options,
			    struct waymark_ctl_result **result);

/* ── connection ── */

/* Ask the daemon who it is: see waymark_ctl_result_version(). */
int waymark_ctl_version(struct waymark_ctl *ctl, struct waymark_ctl_result **result);
/* End the daemon: all sessions are destroyed, everything is written. -EACCES: root's daemon, and somebody else asks. */
int waymark_ctl_shutdown(struct waymark_ctl *ctl);

/* ── saving: keep sessions in files, and make them again ─────────────────────────────────────────────────── */

/*
 * A saved session is a JSON file: the same members as in waymark_ctl_result_json(), without what became of records. It
 * says what the session is, not whether it records.
 */

/* What waymark_ctl_save() is told. */
struct waymark_ctl_save_options {
	size_t size;
	const char *session;         /* NULL or "": all of the user's */
	/* a file when it ends in .json (one session), else a directory; NULL: $HOME/.waymark/sessions */
	const char *path;
	bool replace;                /* a file that is there; else -EEXIST */
};
/*
 * Files are written whole or not at all, 0600; no symbolic link is followed at the last name. See the result's files.
 */
int waymark_ctl_save(struct waymark_ctl *ctl, const struct waymark_ctl_save_options *options,
		     struct waymark_ctl_result **result);

/* What waymark_ctl_load() is told. */
struct waymark_ctl_load_options {
	size_t size;
	const char *session;         /* NULL or "": all that the file or directory holds */
	const char *path;            /* a file, or a directory of them; NULL: $HOME/.waymark/sessions */
	/*
	 * a session of that name and the same owner is destroyed, once all of this one is known to be possible; else
	 * -EEXIST
	 */
	bool replace;
	const char *name;            /* with one session: another name for it */
	const char *output;          /* with one session: another path for the trace, absolute */
	bool default_output;         /* traces go to the default place, whatever the files say */
};
/*
 * Make the sessions; none is started. A trace that is there already is not written into: then the session's goes to the
 * default place, which a warning says. A session that cannot be made whole is not left half made; those before it stay.
 */
int waymark_ctl_load(struct waymark_ctl *ctl, const struct waymark_ctl_load_options *options,
		     struct waymark_ctl_result **result);

#ifdef __cplusplus
}
#endif

#endif
