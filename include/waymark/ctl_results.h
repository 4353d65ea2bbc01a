/* SPDX-License-Identifier: MIT */
/*
 * ctl_results.h - the part of ctl.h that describes results of requests: sessions, channels, rules, applications,
 * counts.
 *
 * Programs include ctl.h. scripts/man_from_header.py reads this file in the place of its #include line.
 */
#ifndef WAYMARK_CTL_RESULTS_H
#define WAYMARK_CTL_RESULTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct waymark_ctl_result;

/* ── results: the answers to requests ── */

/* Counts of records. */
struct waymark_ctl_counts {
	uint64_t records;            /* in the trace; while the session records, also records that are still in rings */
	uint64_t lost;               /* not in the trace: the sum of the next six */
	uint64_t lost_full, lost_memory, lost_size, lost_retry;
	uint64_t overwritten;        /* replaced by newer ones: mode OVERWRITE */
	uint64_t unwritten;          /* recorded, but could not be written */
	uint64_t cut;                /* with a field that was cut to the limit */
	uint64_t bytes;              /* of the trace */
	/* how often a stream lost an unknown number of records: the consumer daemon crashed */
	uint64_t gaps;
};

/* ── events ── */

/*
 * Kernel domain: the probe that a rule creates at waymark_ctl_rule.place. PROBE: a probe at an instruction of the
 * kernel. PROBE_RETURN: a probe at the return of a kernel function. FUNCTION: the entry and the return of a kernel
 * function. USER_PROBE: an address or SDT probe of a program or library. USER_PROBE_RETURN: the return of a function of
 * a program or library.
 */
enum waymark_ctl_probe {
	WAYMARK_CTL_NO_PROBE = 0,
	WAYMARK_CTL_PROBE = 1,
	WAYMARK_CTL_PROBE_RETURN = 2,
	WAYMARK_CTL_FUNCTION = 3,
	WAYMARK_CTL_USER_PROBE = 4,
	WAYMARK_CTL_USER_PROBE_RETURN = 5,
};

/* A rule of a channel, as the session daemon reports it. */
struct waymark_ctl_rule_info {
	const char *pattern;
	const char *const *exclusions;
	unsigned n_exclusions;
	uint32_t level_op;           /* enum waymark_ctl_level_op */
	uint32_t level, level_to;
	bool enabled;
	uint64_t matched;            /* distinct events so far that match pattern, exclusions and level */
	const char *filter;          /* "": every record is kept */
	uint32_t probe;              /* enum waymark_ctl_probe */
	const char *place;           /* of a probe; else "" */
};

/* ── channel ── */

/*
 * Kernel domain: how system call arguments that are pointers are recorded. TEXT: as the texts, addresses or first bytes
 * to which the pointers refer. NUMBERS: as pointers only. waymark_ctl_calls_by is the source of the records: BPF
 * programs or kernel events. BY_NONE: the source of system call records is not known yet, or the channel has no system
 * calls.
 */
enum waymark_ctl_call_arguments { WAYMARK_CTL_CALLS_TEXT = 0, WAYMARK_CTL_CALLS_NUMBERS = 1 };
enum waymark_ctl_calls_by {
	WAYMARK_CTL_CALLS_BY_NONE = 0,
	WAYMARK_CTL_CALLS_BY_BPF = 1,
	WAYMARK_CTL_CALLS_BY_EVENTS = 2
};

/* A channel of a session. */
struct waymark_ctl_channel_info {
	const char *name;
	uint32_t domain;             /* enum waymark_ctl_domain_kind, with: */
	bool follow;
	uint64_t pid;
	const char *exec;
	uint32_t mode;               /* enum waymark_ctl_mode */
	uint32_t buffers;            /* enum waymark_ctl_buffers */
	uint64_t subbuf_size, n_subbufs;
	int64_t blocking_us;
	uint64_t field_limit;
	uint64_t tracefile_size, tracefile_count;
	bool enabled;
	const char *const *contexts;
	unsigned n_contexts;
	const struct waymark_ctl_rule_info *const *rules;
	unsigned n_rules;
	const struct waymark_ctl_counts *counts;
	uint32_t call_arguments;     /* kernel domain: enum waymark_ctl_call_arguments, as requested ... */
	uint32_t calls_by;           /* ... enum waymark_ctl_calls_by, in effect ... */
	const char *calls_why;       /* ... and why this is less than requested; "": as requested */
	int64_t flush_us;            /* flush interval; -1: whole sub-buffers only */
	/* bytes that its buffers occupy now; kernel domain: the size of its buffers */
	uint64_t memory;
	uint32_t allocation;         /* enum waymark_ctl_allocation */
	uint32_t preallocation;      /* enum waymark_ctl_preallocation */
	uint64_t poll_us;            /* see struct waymark_ctl_channel_options */
	uint64_t reclaim_us;         /* likewise */
	uint64_t reclaimed;          /* bytes that idle buffers have given back to the system, not part of `memory` */
};

/* ── trackers: restrict a session to some processes, users or groups ── */

/*
 * A list restricts a session if its flag is set, even if the list is empty: an empty list excludes all
 * processes.
 */
struct waymark_ctl_trackers {
	bool pid, uid, gid;
	const uint64_t *pids, *uids, *gids;
	unsigned n_pids, n_uids, n_gids;
	bool kernel_pid;             /* as `pid`, for records of the kernel */
	const uint64_t *kernel_pids;
	unsigned n_kernel_pids;
};

/* ── session: create, start, stop, list and destroy sessions ── */

/*
 * A session has channels with their rules, trackers, and one trace. The owner of a session is the user that created the
 * session, or the user of the daemon if root created it. Only the owner and root see a session. A session records
 * between waymark_ctl_start() and waymark_ctl_stop(), any number of times, and independently of the process that
 * created the session. waymark_ctl_destroy() ends the session and keeps the trace.
 */

/* Parts of the rotation schedule: rotate_us, rotate_size, and the members retain_*. */
enum waymark_ctl_rotation_part {
	WAYMARK_CTL_ROTATION_TIMER = 1, WAYMARK_CTL_ROTATION_SIZE = 2, WAYMARK_CTL_ROTATION_RETENTION = 4
};

/*
 * The version of the Common Trace Format of the metadata. Every reader supports 1.8. Records have the same bytes in CTF
 * 1.8 and in CTF 2.
 */
enum waymark_ctl_trace_format { WAYMARK_CTL_CTF_1_8 = 0, WAYMARK_CTL_CTF_2 = 1 };
/*
 * The clock of records. DEFAULT: the clock plug-in of the session daemon, if it has one; else the hardware counter, if
 * the session daemon and the kernel can use it; else CLOCK_MONOTONIC. PLUGIN: the clock plug-in of the session daemon.
 */
enum waymark_ctl_clock { WAYMARK_CTL_CLOCK_DEFAULT, WAYMARK_CTL_CLOCK_COUNTER, WAYMARK_CTL_CLOCK_MONOTONIC,
			 WAYMARK_CTL_CLOCK_PLUGIN };

/* An application that a session did not record, or recorded only in part, with the reason. */
struct waymark_ctl_unrecorded {
	uint64_t pid, uid;           /* pid 0: no single application, see `why` */
	const char *name;
	const char *reason;          /* one word: "descriptors", "mprotect", ...; as in JSON */
	const char *why;             /* one sentence */
	bool in_part;                /* some of its records are in the trace */
};

/* A session, as the session daemon reports it. */
struct waymark_ctl_session_info {
	const char *name;
	const char *path;            /* of the trace */
	uint64_t uid, gid;           /* owner */
	uint64_t created;            /* seconds since 1970 */
	bool active;                 /* records */
	bool started;                /* was active once */
	const struct waymark_ctl_channel_info *const *channels;
	unsigned n_channels;
	const struct waymark_ctl_trackers *trackers;
	const struct waymark_ctl_counts *counts;     /* of all channels together, and of the state dump */
	uint64_t max_size;           /* limit of the trace in bytes; 0: none */
	/* the trace has reached the limit, and the session has stopped; clear and start it to record again */
	bool full;
	uint32_t trace_format;       /* enum waymark_ctl_trace_format */
	bool stopping;               /* the session has stopped, and its last records are being written */
	bool no_statedump;           /* see struct waymark_ctl_create_options */
	/*
	 * directory of the session's rings, inside shm_path of struct waymark_ctl_create_options; "": rings are in
	 * memory
	 */
	const char *shm_path;
	const struct waymark_ctl_unrecorded *const *unrecorded;
	unsigned n_unrecorded;
	uint64_t unrecorded_more;    /* number of further entries, which are not in the array */
	uint32_t clock;              /* enum waymark_ctl_clock, never DEFAULT */
	const char *description;     /* "" if none */
	int64_t flush_us;            /* flush interval of user channels that set no interval; 0: 1 s */
	bool snapshot;               /* a flight recorder: only snapshots are written */
	/* the output of snapshots: first part of their names; directory, "" if none; limit in bytes, 0: none */
	const char *snapshot_name, *snapshot_path;
	uint64_t snapshot_max_size;
	uint64_t rotations;          /* number of closed chunks of the trace */
	/* name of the latest closed chunk in the directory archives of the trace; "" if none */
	const char *closed_chunk;
	bool compress;               /* chunks that a rotation closes are compressed */
	/*
	 * number of calls of waymark_snapshot() in programs for which no snapshot was recorded, because the previous
	 * request was made less than 10 s before or was not served yet, or because of an error
	 */
	uint64_t snapshots_omitted;
	/* as in struct waymark_ctl_rotation_options; 0: not set */
	uint64_t rotate_us, rotate_size;
	uint64_t retain_size, retain_us, retain_count;
	const char *url;             /* of the relay that receives the trace, `path` is its spool then; "" if none */
	uint64_t spool_size;         /* with url: limit of the spool in bytes */
};

/*
 * A connection to a relay. The consumer daemon of applications and the consumer daemon of kernel channels each have
 * their own connection. After a session is destroyed, its connections stay until the relay has the whole spool.
 */
struct waymark_ctl_relay_info {
	const char *session;         /* "": the session was destroyed */
	const char *path, *url;      /* of the spool, and of the relay */
	uint64_t uid;                /* owner of the spool */
	bool kernel;                 /* sends the traces of kernel channels; else the traces of applications */
	bool connected;
	uint64_t behind;             /* bytes that the relay has not acknowledged */
	uint64_t spooled;            /* bytes of all files of the spool, counted once a second at most */
	const char *error;           /* the latest error; "" if none since the latest acknowledgement */
};

/* ── snapshots: record what the buffers of a session hold ── */

/*
 * Channels in overwrite mode hold the newest records. A snapshot copies the newest records to a separate trace, while
 * recording continues without a loss. A session that was created with `snapshot` writes only snapshots.
 */

/* A snapshot that was recorded. */
struct waymark_ctl_snapshot_info {
	const char *path;            /* directory of the snapshot: a complete trace */
	uint64_t records, bytes;     /* in the snapshot */
	uint64_t overwritten;        /* number of earlier records, which the buffers no longer held */
};

/* ── applications: list applications and their events ── */

/*
 * Applications register with the session daemon when they start, or when the daemon starts. The session daemon lists
 * applications and their events even if no session records them.
 */

/* A field of an event. */
struct waymark_ctl_field_info {
	const char *name;
	const char *type;            /* as text: "u32", "string", "enum of 3", "u8[16]" */
	const char *unit;            /* "" if none */
};

/* An event class of an application or of the kernel. */
struct waymark_ctl_event_info {
	/* kernel: the subsystem, and the name in traces; "syscall" and the name of the system call */
	const char *provider, *name;
	uint32_t kind;               /* enum waymark_kind */
	uint32_t level;              /* enum waymark_level */
	/* kernel: "events/SUBSYSTEM/NAME", its directory in tracefs */
	const char *file;
	uint32_t line;
	bool enabled;                /* in a session of the user (root: of any user) that is recording */
	const struct waymark_ctl_field_info *const *fields;
	unsigned n_fields;
};

/* An application: one process. */
struct waymark_ctl_app_info {
	uint64_t pid, uid, gid;
	const char *name, *exe;
	bool connected;
	unsigned n_known;            /* number of its events, even if they were not requested */
	const char *why;             /* the problem that prevents complete recording; "" if none */
	const struct waymark_ctl_event_info *const *events;
	unsigned n_events;
};

/* ── connection ── */

/* The daemon. */
struct waymark_ctl_version_info {
	const char *version;         /* of the daemon; see waymark_ctl_library_version() for the library */
	uint64_t pid, uid;
	uint64_t started;            /* seconds since 1970 */
	const char *rundir;
};

/* The version of this library: a string constant. */
const char *waymark_ctl_library_version(void);

/* ── results ── */

/*
 * A function with a parameter `struct waymark_ctl_result **` stores the result of the request in this parameter. On
 * failure the function stores NULL. The caller frees the result. The argument may be NULL. The result owns everything
 * that the following functions return, until the caller frees the result. The result stays valid when the connection
 * ends.
 */

/* NULL is allowed. */
void waymark_ctl_result_free(struct waymark_ctl_result *result);
/*
 * Sessions that were listed or changed, in the state after the request; after DESTROY, in the last state before their
 * end. Returns the number of sessions; the following functions also return the length of their array.
 */
unsigned waymark_ctl_result_sessions(const struct waymark_ctl_result *result,
				     const struct waymark_ctl_session_info *const **sessions);
/*
 * Connections to relays, of the sessions that waymark_ctl_list_sessions() or waymark_ctl_on_sessions() listed, and of
 * all destroyed sessions of this user (of all users, if the client is root).
 */
unsigned waymark_ctl_result_relays(const struct waymark_ctl_result *result,
				   const struct waymark_ctl_relay_info *const **relays);
/* Applications that were listed. */
unsigned waymark_ctl_result_apps(const struct waymark_ctl_result *result,
				 const struct waymark_ctl_app_info *const **apps);
/* Events of the kernel that were listed, in the order of their names in traces. */
unsigned waymark_ctl_result_events(const struct waymark_ctl_result *result,
				   const struct waymark_ctl_event_info *const **events);
/*
 * Missing features of the kernel, in sentences ("system calls have no events: it is built without ..."), if they were
 * requested.
 */
unsigned waymark_ctl_result_lacks(const struct waymark_ctl_result *result, const char *const **lacks);
/*
 * The default clock of kernel records, by its name in the kernel ("x86-tsc", "mono"); "": the daemon has a plug-in
 * clock. Returns NULL if the request was not waymark_ctl_list_kernel().
 */
const char *waymark_ctl_result_kernel_clock(const struct waymark_ctl_result *result);
/*
 * Applications that have not confirmed a change in time, without their events. An application in this list still
 * applies the change as soon as it can.
 */
unsigned waymark_ctl_result_unanswered(const struct waymark_ctl_result *result,
				       const struct waymark_ctl_app_info *const **apps);
/* Return the warnings of the request, in sentences. */
unsigned waymark_ctl_result_warnings(const struct waymark_ctl_result *result, const char *const **warnings);
/* Return the files that waymark_ctl_save() wrote or waymark_ctl_load() read. */
unsigned waymark_ctl_result_files(const struct waymark_ctl_result *result, const char *const **files);
/* Returns NULL if the request was not waymark_ctl_version(). */
const struct waymark_ctl_version_info *waymark_ctl_result_version(const struct waymark_ctl_result *result);
/* Returns NULL if the request was not waymark_ctl_snapshot_record(). */
const struct waymark_ctl_snapshot_info *waymark_ctl_result_snapshot(const struct waymark_ctl_result *result);
/* The whole result as JSON, indented, ending in a newline. The caller frees *text with free(). */
int waymark_ctl_result_json(const struct waymark_ctl_result *result, char **text);
/*
 * Write the same JSON text to `to`, piece by piece, for long results. 0: all was written; `to` may buffer the last part
 * until fflush() or fclose(). -ENOMEM, or the error of the write (-ENOSPC; -EPIPE if SIGPIPE is ignored): a part may
 * have been written. The function locks `to` with flockfile() for each result, so that several threads may print to one
 * file.
 */
int waymark_ctl_result_print_json(const struct waymark_ctl_result *result, FILE *to);

#ifdef __cplusplus
}
#endif

#endif
