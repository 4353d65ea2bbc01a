/* SPDX-License-Identifier: MIT */
/*
 * ctl.h - the messages between a client (libwaymark-ctl) and the session daemon, and the objects in them.
 *
 *     client                                  session daemon (<rundir>/ctl.sock)
 *     REQUEST type, request number, object ──►
 *                                          ◄── WMK_CTL_REPLY, same number, object; or WMK_CTL_ERROR {errno, words}
 *
 * A reply that is longer than WMK_OBJECT_PART_MAX bytes is sent in several frames (see wmk_object_send()); a request is
 * always one frame. The table wmk_ctl_requests lists each request with its request object and its reply object. If the
 * type of a request is unknown, the daemon sends an error, and the connection stays open. Clients are authenticated
 * with SO_PEERCRED. Strings may have any encoding; the daemon checks the encoding of the strings that it uses.
 */
#ifndef WMK_WIRE_CTL_H
#define WMK_WIRE_CTL_H

#include <waymark/ctl.h>

#include "wire/counts.h"
#include "wire/object.h"
#include "wire/relay_url.h"

#define WMK_CTL_SOCKET "ctl.sock"
#define WMK_CTL_FIELD_LIMIT_MIN 16u   /* bytes of a string or sequence */
#define WMK_CTL_FIELD_LIMIT_MAX 65536u
#define WMK_CTL_PATTERN_MAX 511u   /* bytes */
#define WMK_CTL_PLACE_MAX 4096u     /* bytes of a place of a probe */
#define WMK_CTL_FILTER_MAX 4096u   /* bytes of a filter */
#define WMK_CTL_DESCRIPTION_MAX 1024u   /* bytes */
#define WMK_CTL_REASON_MAX 127u    /* bytes of the reason of a snapshot */
#define WMK_CTL_SESSIONS_MAX 1024u /* in one reply */
#define WMK_CTL_CHANNELS_MAX 1024u /* of one session */
#define WMK_CTL_RULES_MAX 4096u    /* of one channel */
#define WMK_CTL_WARNINGS_MAX 256u  /* in one reply */
/* bytes of a session's or channel's name: no '/', no control characters, not "." or ".." */
#define WMK_CTL_NAME_MAX 255u

enum wmk_ctl_type {
	WMK_CTL_REPLY = 0x100,
	WMK_CTL_ERROR,
#define WMK_CTL_REQUEST(identifier, number, name, request, reply) WMK_CTL_##identifier = (number),
#include "wire/ctl_requests.def"
};

/* ── sessions, channels, applications ────────────────────────────────────────────────────────────────── */

enum wmk_ctl_domain_kind { WMK_DOMAIN_USER, WMK_DOMAIN_PID, WMK_DOMAIN_EXEC, WMK_DOMAIN_KERNEL };
struct wmk_ctl_domain {
	uint32_t kind;               /* enum wmk_ctl_domain_kind */
	bool follow;                 /* PID, EXEC: descendants too */
	uint64_t pid;                /* PID */
	/* PID: start time of the process, clock ticks since boot; set by the daemon */
	uint64_t start_time;
	const char *exec;            /* EXEC: base name of a program; a path if it contains '/' */
};

enum wmk_ctl_mode { WMK_MODE_DISCARD, WMK_MODE_OVERWRITE };
enum wmk_ctl_buffers { WMK_BUFFERS_UID, WMK_BUFFERS_PID };
enum wmk_ctl_allocation { WMK_PER_CPU, WMK_PER_CHANNEL };
/* DEFAULT: at most 64 MiB at once; the rest of a ring when the ring's CPU first records */
enum wmk_ctl_preallocation { WMK_PREALLOCATE_DEFAULT, WMK_PREALLOCATE_ALL, WMK_PREALLOCATE_ON_DEMAND };

enum wmk_ctl_level_op {
	WMK_LEVEL_ANY,
	WMK_LEVEL_AT_LEAST /* the level of the event is at least as severe */,
	WMK_LEVEL_EXACTLY,
	WMK_LEVEL_BETWEEN
};

/* For kernel channels: the kinds of rules that create their event at a place in code. */
enum wmk_ctl_rule_probe {
	WMK_RULE_NO_PROBE,
	WMK_RULE_PROBE,
	WMK_RULE_PROBE_RETURN,
	WMK_RULE_FUNCTION,
	WMK_RULE_USER_PROBE,
	WMK_RULE_USER_PROBE_RETURN,
};
/*
 * An event rule. The rule selects an event if its pattern and its level match the event, and none of its exclusions
 * matches.
 */
struct wmk_ctl_rule {
	const char *pattern;         /* glob on provider:name, or on provider (see session/apps/shard.h) */
	struct wmk_list exclusions;  /* of const char *: globs */
	uint32_t level_op;           /* enum wmk_ctl_level_op */
	uint32_t level, level_to;    /* enum waymark_level; BETWEEN: inclusive, `level` is the more severe one */
	const char *filter;          /* record only the records that match it (filter/filter.h); "": all */
	bool enabled;
	uint64_t matched;            /* number of distinct events that have matched so far; set by the daemon */
	uint32_t probe;              /* enum wmk_ctl_rule_probe; if set, `pattern` is the event's name */
	const char *place;           /* place of the probe, with its fields (kernel/probe/probe.h) */
};

/* For kernel channels: how pointer arguments of system calls are recorded, and which mechanism records system calls. */
enum wmk_ctl_call_arguments { WMK_CALL_ARGUMENTS_TEXT, WMK_CALL_ARGUMENTS_NONE };
enum wmk_ctl_calls_by { WMK_CALLS_BY_NONE, WMK_CALLS_BY_BPF, WMK_CALLS_BY_TRACEFS };

#define WMK_CTL_FLUSH_DEFAULT_US 1000000
/*
 * The settings of a channel, which ENABLE_CHANNEL sets and which are constant afterwards. The structure
 * wmk_ctl_channel_settings is used in the request, in the channel, in the saved state of the channel, and in replies.
 * The structure contains only settings: no status, no counts and no derived values.
 *
 * To add a setting, add a member to the structure and a line to the table in ctl.c.
 */
struct wmk_ctl_channel_settings {
	uint32_t mode;               /* enum wmk_ctl_mode */
	uint32_t buffers;            /* enum wmk_ctl_buffers */
	uint64_t subbuf_size, n_subbufs;   /* powers of two; 0: the default (1 MiB, 8) */
	int64_t blocking_us;         /* discard mode: maximum wait for room; 0: none, -1: no limit */
	uint64_t field_limit;        /* bytes; 0: the default, which is also the maximum */
	uint64_t tracefile_size, tracefile_count;   /* 0: no limit */
	uint32_t call_arguments;     /* enum wmk_ctl_call_arguments */
	/* discard mode: flush interval; 0: the default (1 s), -1: whole sub-buffers only */
	int64_t flush_us;
	uint32_t allocation;         /* enum wmk_ctl_allocation */
	uint32_t preallocation;      /* enum wmk_ctl_preallocation */
	/* 0: writers wake the consumer daemon; otherwise, it reads at this interval, and writers make no system call */
	uint64_t poll_us;
	/* discard mode: idle time after which the memory of a buffer is given back to the system; 0: never */
	uint64_t reclaim_us;
};

struct wmk_ctl_channel {
	const char *name;
	struct wmk_ctl_domain domain;
	struct wmk_ctl_channel_settings settings;
	struct wmk_list contexts;    /* of const char * */
	struct wmk_list rules;       /* of struct wmk_ctl_rule */
	bool enabled;
	struct wmk_counts counts;
	uint64_t memory;             /* bytes that its rings occupy now; set by the daemon */
	uint64_t reclaimed;          /* bytes that idle rings have given back; set by the daemon */
	/* enum wmk_ctl_calls_by; set by the daemon when the rules have system calls */
	uint32_t calls_by;
	/* why the text of arguments was requested but is not recorded; set by the daemon */
	const char *calls_why;
};

/*
 * Trackers of a session. If a session has no list for a kind of tracker, this kind does not limit which processes are
 * recorded.
 */
struct wmk_ctl_trackers {
	/* true: record only the members of the list; an empty list records nothing */
	bool pid, uid, gid, kernel_pid;
	struct wmk_list pids, uids, gids;    /* of uint64_t: for applications */
	struct wmk_list kernel_pids;         /* of uint64_t: processes, for kernel records */
};

enum wmk_ctl_trace_format { WMK_TRACE_CTF_1_8, WMK_TRACE_CTF_2 };
#define WMK_CTL_TRACE_FORMATS 2
extern const char *const wmk_ctl_trace_formats[WMK_CTL_TRACE_FORMATS];   /* names in requests: "ctf-1.8", ... */

/* PLUGIN means that the session daemon has a clock plug-in, and uses no other clock. Clients cannot choose it. */
enum wmk_ctl_clock { WMK_CTL_CLOCK_DEFAULT, WMK_CTL_CLOCK_COUNTER, WMK_CTL_CLOCK_MONOTONIC, WMK_CTL_CLOCK_PLUGIN };
#define WMK_CTL_CLOCKS 4
extern const char *const wmk_ctl_clocks[WMK_CTL_CLOCKS];
/*
 * The settings of a session, which CREATE sets and which are constant afterwards, except the output of snapshots and
 * the schedule of rotations. The structure wmk_ctl_settings is used in the request, in the session, in the state file
 * of the session, and in replies. The structure contains only settings: no status, no counts and no derived values.
 *
 * To add a setting, add a member to the structure and a line to WMK_CTL_SETTINGS.
 */
struct wmk_ctl_settings {
	uint64_t max_size;           /* maximum bytes of its trace; 0: no limit */
	uint32_t trace_format;       /* enum wmk_ctl_trace_format */
	uint32_t clock;              /* enum wmk_ctl_clock; DEFAULT only in requests */
	bool no_statedump;           /* no state dump is recorded */
	/*
	 * directory with the files of the session's rings; in a request: the directory in which the daemon creates it;
	 * "": none
	 */
	const char *shm_path;
	const char *description;     /* any text; "": none */
	int64_t flush_us;            /* flush interval of channels that set no interval; 0: the default */
	/* a flight recorder: channels are in overwrite mode, and only snapshots are written */
	bool snapshot;
	/*
	 * The output of snapshots; the request SNAPSHOT_OUTPUT can change it. snapshot_name: first part of names.
	 * snapshot_path: directory, "": none. snapshot_max_size: limit of the streams of a snapshot in bytes, 0: none.
	 */
	const char *snapshot_name, *snapshot_path;
	uint64_t snapshot_max_size;
	bool compress;               /* closed chunks are compressed */
	/*
	 * The schedule of rotations and the retention of closed chunks, which the request ROTATION can change; 0 means
	 * no limit. rotate_us: period. rotate_size: bytes of the open chunk. retain_size: bytes of the whole trace.
	 * retain_us: age of a chunk. retain_count: number of closed chunks.
	 */
	uint64_t rotate_us, rotate_size;
	uint64_t retain_size, retain_us, retain_count;
	/*
	 * The relay that receives the trace (wire/relay_url.h), or "" if the trace stays in its directory. If the
	 * session uses a relay, the directory is the spool, which has at most spool_size bytes.
	 */
	const char *url;
	uint64_t spool_size;
};
/*
 * These settings are also members of the public description of a session. In a structure `s`, the settings are members
 * of the member `settings`. There are two lists of settings, because the JSON object of a session has status members
 * between the lists.
 */
#define WMK_CTL_SETTING(kind, s, ...) WMK_SHARED_IN(kind, s, settings, waymark_ctl_session_info, __VA_ARGS__)
#define WMK_CTL_SETTINGS_SIZE(s) WMK_CTL_SETTING(U64, s, max_size)
#define WMK_CTL_SETTINGS(s) \
	WMK_CTL_SETTING(ENUM, s, trace_format, wmk_ctl_trace_formats), \
	WMK_CTL_SETTING(ENUM, s, clock, wmk_ctl_clocks), \
	WMK_CTL_SETTING(BOOL, s, no_statedump), \
	WMK_CTL_SETTING(TEXT, s, shm_path, WMK_OBJECT_TEXT_MAX), \
	WMK_CTL_SETTING(TEXT, s, description, WMK_CTL_DESCRIPTION_MAX), \
	WMK_CTL_SETTING(I64, s, flush_us), \
	WMK_CTL_SETTING(BOOL, s, snapshot), \
	WMK_CTL_SETTING(TEXT, s, snapshot_name, WMK_CTL_NAME_MAX), \
	WMK_CTL_SETTING(TEXT, s, snapshot_path, WMK_OBJECT_TEXT_MAX), \
	WMK_CTL_SETTING(U64, s, snapshot_max_size), \
	WMK_CTL_SETTING(BOOL, s, compress), \
	WMK_CTL_SETTING(U64, s, rotate_us), \
	WMK_CTL_SETTING(U64, s, rotate_size), \
	WMK_CTL_SETTING(U64, s, retain_size), \
	WMK_CTL_SETTING(U64, s, retain_us), \
	WMK_CTL_SETTING(U64, s, retain_count), \
	WMK_CTL_SETTING(TEXT, s, url, WMK_RELAY_URL_MAX), \
	WMK_CTL_SETTING(U64, s, spool_size)

/* An application that was not recorded, or was recorded only in part. */
#define WMK_CTL_UNRECORDED_MAX 64u
struct wmk_ctl_unrecorded {
	uint64_t pid, uid;           /* pid 0: any application that started meanwhile */
	const char *name;
	uint32_t reason;             /* enum wmk_unrecorded */
	bool in_part;
	const char *why;             /* a sentence */
};

struct wmk_ctl_session {
	const char *name;
	const char *path;            /* of the trace */
	uint64_t uid, gid;           /* owner */
	uint64_t created;            /* seconds since 1970 */
	bool active;
	bool started;                /* the session has been active */
	struct wmk_ctl_settings settings;
	bool full;                   /* stopped by the daemon because the trace has reached max_size */
	bool stopping;               /* stopped, but the last records are not written yet */
	struct wmk_list channels;    /* of struct wmk_ctl_channel */
	struct wmk_ctl_trackers trackers;
	struct wmk_counts counts;
	struct wmk_list unrecorded;  /* of struct wmk_ctl_unrecorded; set by the daemon */
	uint64_t unrecorded_more;    /* number of further unrecorded applications, which are not in the list */
	uint64_t rotations;          /* number of closed chunks of the trace */
	const char *closed_chunk;    /* name of the latest closed chunk in `path`/archives; "": none */
	/* number of requests of programs (waymark_snapshot()) for which no snapshot was recorded */
	uint64_t snapshots_omitted;
};

/* A connection to a relay, which belongs to a session, or to the spool of a destroyed session. */
#define WMK_CTL_RELAYS_MAX 4096u
struct wmk_ctl_relay {
	const char *session;         /* name; "": the session was destroyed, and its spool is being sent */
	const char *path, *url;      /* of the spool, and of the relay */
	uint64_t uid;                /* owner of the spool */
	bool kernel;                 /* sends the traces of kernel channels; else the traces of applications */
	bool connected;
	uint64_t behind;             /* bytes that the relay has not acknowledged */
	uint64_t spooled;            /* bytes of all files of the spool */
	const char *error;           /* the latest error; "": none since the latest acknowledgement */
};

struct wmk_ctl_field {
	const char *name, *type, *unit;    /* type as text: "u32", "string", "enum color", "u8[16]" */
};

struct wmk_ctl_event {
	const char *provider, *name;
	uint32_t kind;               /* enum waymark_kind */
	uint32_t level;              /* enum waymark_level */
	const char *file;            /* kernel events: events/SUBSYSTEM/NAME in tracefs */
	uint32_t line;
	bool enabled;                /* in a session that is recording */
	struct wmk_list fields;      /* of struct wmk_ctl_field */
};

struct wmk_ctl_app {
	uint64_t pid, uid, gid, start_time;
	const char *name, *exe;
	bool connected;
	uint32_t n_events;           /* the number is set even if `events` is empty */
	const char *why;             /* why it is not recorded, or only in part; "": no problem */
	struct wmk_list events;      /* of struct wmk_ctl_event */
};

/* ── requests and replies ────────────────────────────────────────────────────────────────────────────── */

struct wmk_ctl_version_reply {
	const char *version;
	uint64_t pid, uid, started;
	const char *rundir;
};

/* The reply to every command that affects applications. */
struct wmk_ctl_outcome {
	/* of struct wmk_ctl_app (no events): applications that have not confirmed in time; they may confirm later */
	struct wmk_list unanswered;
	struct wmk_list warnings;    /* of const char *: messages */
	/* of struct wmk_ctl_session: the sessions of the command, in their current state */
	struct wmk_list sessions;
};

struct wmk_ctl_create {
	const char *name;            /* "": the daemon generates one from the time */
	const char *path;            /* absolute; "": the default directory below `home` */
	const char *home;            /* the client's home directory, for the default path */
	struct wmk_ctl_settings settings;
};
/* DESTROY, START, STOP, CLEAR; "": all sessions of the client (DESTROY, STOP) */
struct wmk_ctl_session_name {
	const char *session;
	bool glob;                   /* `session` is a pattern: all sessions of the client that match */
	bool no_wait;                /* DESTROY, STOP: reply before the last records are written */
};
/* "": all sessions that the client may see; glob: those that match */
struct wmk_ctl_list_sessions { const char *session; bool glob; };
struct wmk_ctl_sessions {
	struct wmk_list sessions;
	/* of struct wmk_ctl_relay: connections of these sessions, and of all destroyed sessions of the client */
	struct wmk_list relays;
};
struct wmk_ctl_list_apps { bool events; const char *pattern; uint64_t pid; };   /* pattern "": all; pid 0: all */
struct wmk_ctl_apps { struct wmk_list apps; };
struct wmk_ctl_list_kernel {
	struct wmk_list patterns;    /* of const char *, as in rules of kernel channels; empty: all */
	bool fields;                 /* include the fields of events */
	bool lacks;                  /* include missing features of the kernel */
};
struct wmk_ctl_kernel {
	/*
	 * of struct wmk_ctl_event: `provider` is the kernel's subsystem, `name` is the name in traces; system calls
	 * have the provider "syscall"
	 */
	struct wmk_list events;
	struct wmk_list lacks;       /* of const char *: messages */
	const char *clock;           /* clock of kernel records, by the kernel's name; "": not the daemon's clock */
};
/*
 * If the channel already exists, it is enabled again; if its settings differ, the request is refused. The rules and
 * contexts of the request are added to the channel.
 */
struct wmk_ctl_enable_channel { const char *session; struct wmk_ctl_channel channel; };
struct wmk_ctl_disable_channel { const char *session, *channel; struct wmk_ctl_domain domain; };
/* channel "": the domain's only channel, or "channel0", which is created if the domain has none. */
struct wmk_ctl_enable_event { const char *session, *channel; struct wmk_ctl_domain domain; struct wmk_list rules; };
/* empty: all */
struct wmk_ctl_disable_event { const char *session, *channel; struct wmk_ctl_domain domain; struct wmk_list patterns; };
struct wmk_ctl_add_context { const char *session, *channel; struct wmk_ctl_domain domain; struct wmk_list contexts; };
enum wmk_ctl_track_kind { WMK_TRACK_PID, WMK_TRACK_UID, WMK_TRACK_GID, WMK_TRACK_KERNEL_PID, WMK_TRACK_KINDS };
struct wmk_ctl_track { const char *session; uint32_t kind; bool all; struct wmk_list ids; };   /* TRACK, UNTRACK */
enum wmk_ctl_regenerate_what { WMK_REGENERATE_METADATA, WMK_REGENERATE_STATEDUMP };
struct wmk_ctl_regenerate { const char *session; uint32_t what; };
/* RECLAIM. channels: of const char *, names; empty: all channels that can give memory back */
struct wmk_ctl_reclaim { const char *session; struct wmk_list channels; uint64_t idle_us; };

/* SNAPSHOT. If a member of the request is "" or 0, the value in the session's snapshot output is used. */
struct wmk_ctl_snapshot {
	const char *session, *name, *path;
	uint64_t max_size;
	const char *reason;          /* `reason`, `program` and `pid` go to the environment of the traces; "": none */
	const char *program;
	uint64_t pid;
};
struct wmk_ctl_snapshot_reply {
	const char *path;            /* directory of the snapshot: a trace */
	uint64_t records, bytes;     /* in the snapshot */
	uint64_t overwritten;        /* number of earlier records, which the rings no longer held */
	struct wmk_list warnings;    /* of const char *: messages */
};
/*
 * SNAPSHOT_OUTPUT: set the snapshot output; if `remove` is true, remove the output `name` ("": whatever its name is).
 */
struct wmk_ctl_snapshot_output { const char *session, *name, *path; uint64_t max_size; bool remove; };

/*
 * ROTATION: change the schedule of rotations and the retention of closed chunks. Members that are 0 stay unchanged.
 * `off`: a set of WAYMARK_CTL_ROTATION_*. The session daemon first disables the settings in `off`, and then applies the
 * other members. If `off` is not 0, all other members may be 0.
 */
struct wmk_ctl_rotation {
	const char *session;
	uint64_t rotate_us, rotate_size, retain_size, retain_us, retain_count;   /* as in struct wmk_ctl_settings */
	uint32_t off;
};

extern const struct wmk_request_type wmk_ctl_requests[];
extern const unsigned wmk_ctl_n_requests;
const struct wmk_request_type *wmk_ctl_request_find(uint16_t type);

/*
 * The reply to these requests is wmk_ctl_outcome_object: CREATE, DESTROY, START, STOP, *_CHANNEL, *_EVENT, ADD_CONTEXT,
 * TRACK, UNTRACK, CLEAR, REGENERATE, SNAPSHOT_OUTPUT, ROTATE, ROTATION.
 */
extern const struct wmk_object wmk_ctl_settings_object;
extern const struct wmk_object wmk_ctl_session_object, wmk_ctl_channel_object, wmk_ctl_rule_object, wmk_ctl_app_object,
	wmk_ctl_event_object, wmk_ctl_outcome_object, wmk_ctl_sessions_object, wmk_ctl_apps_object,
	wmk_ctl_kernel_object, wmk_ctl_version_reply_object, wmk_ctl_unrecorded_object, wmk_ctl_relay_object,
	wmk_ctl_counts_object, wmk_ctl_domain_object, wmk_ctl_trackers_object, wmk_ctl_snapshot_reply_object;

#endif
