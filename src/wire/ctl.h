/* SPDX-License-Identifier: MIT */
/*
 * ctl.h - the messages between a client (libwaymark-ctl) and the session daemon, and the objects in them.
 *
 *     client                                  session daemon (<rundir>/ctl.sock)
 *     REQUEST type, request number, object ──►
 *                                          ◄── WMK_CTL_REPLY, same number, object; or WMK_CTL_ERROR {errno, words}
 *
 * A reply of more than WMK_OBJECT_PART_MAX bytes comes in several frames (see wmk_object_send()); requests are one
 * frame. One table (wmk_ctl_requests) names each request with its two objects. A type that is not in it gets an error,
 * not a dropped connection. Who the client is, the kernel says (SO_PEERCRED). Strings are UTF-8 or whatever the user
 * typed; the daemon checks what it uses.
 */
#ifndef WMK_WIRE_CTL_H
#define WMK_WIRE_CTL_H

#include <waymark/ctl.h>

#include "wire/counts.h"
#include "wire/object.h"

#define WMK_CTL_SOCKET "ctl.sock"
#define WMK_CTL_FIELD_LIMIT_MIN 16u   /* bytes of a string or sequence */
#define WMK_CTL_FIELD_LIMIT_MAX 65536u
#define WMK_CTL_PATTERN_MAX 511u   /* bytes */
#define WMK_CTL_PLACE_MAX 4096u     /* of a probe */
#define WMK_CTL_FILTER_MAX 4096u   /* likewise */
#define WMK_CTL_DESCRIPTION_MAX 1024u   /* bytes */
#define WMK_CTL_SESSIONS_MAX 1024u /* in one answer */
#define WMK_CTL_RULES_MAX 4096u    /* of one channel */
#define WMK_CTL_WARNINGS_MAX 256u  /* in one answer */
/* bytes of a session's or channel's name: no '/', no control characters, not "." or ".." */
#define WMK_CTL_NAME_MAX 255u

enum wmk_ctl_type {
	WMK_CTL_REPLY = 0x100,
	WMK_CTL_ERROR,
#define WMK_CTL_REQUEST(identifier, number, name, request, reply) WMK_CTL_##identifier = (number),
#include "wire/ctl_requests.def"
};

/* ── what there is ───────────────────────────────────────────────────────────────────────────────────── */

enum wmk_ctl_domain_kind { WMK_DOMAIN_USER, WMK_DOMAIN_PID, WMK_DOMAIN_EXEC, WMK_DOMAIN_KERNEL };
struct wmk_ctl_domain {
	uint32_t kind;               /* enum wmk_ctl_domain_kind */
	bool follow;                 /* PID, EXEC: descendants too */
	uint64_t pid;                /* PID */
	/* PID: which process of that number (clock ticks since boot); the daemon's to fill */
	uint64_t start_time;
	const char *exec;            /* EXEC: base name, or path when it holds a '/' */
};

enum wmk_ctl_mode { WMK_MODE_DISCARD, WMK_MODE_OVERWRITE };
enum wmk_ctl_buffers { WMK_BUFFERS_UID, WMK_BUFFERS_PID };

enum wmk_ctl_level_op {
	WMK_LEVEL_ANY,
	WMK_LEVEL_AT_LEAST /* as severe or more */,
	WMK_LEVEL_EXACTLY,
	WMK_LEVEL_BETWEEN
};

/* Events of a channel: those that match the pattern, none of the exclusions, and the level. */
/* Of the kernel: a rule that makes its event, at a place. */
enum wmk_ctl_rule_probe {
	WMK_RULE_NO_PROBE,
	WMK_RULE_PROBE,
	WMK_RULE_PROBE_RETURN,
	WMK_RULE_FUNCTION,
	WMK_RULE_USER_PROBE,
	WMK_RULE_USER_PROBE_RETURN,
};
struct wmk_ctl_rule {
	const char *pattern;         /* glob on provider:name, or on provider (see session/apps/shard.h) */
	struct wmk_list exclusions;  /* of const char *: globs */
	uint32_t level_op;           /* enum wmk_ctl_level_op */
	uint32_t level, level_to;    /* enum waymark_level; BETWEEN: both ends are in, level is the more severe one */
	const char *filter;          /* only records that it wants (filter/filter.h); "": all */
	bool enabled;
	uint64_t matched;            /* distinct events seen so far that it matches; the daemon's to fill */
	uint32_t probe;              /* enum wmk_ctl_rule_probe; then `pattern` is the event's name, and ... */
	const char *place;           /* ... this is where, and what of it (kernel/probe/probe.h) */
};

/* Of the kernel: what is recorded of system calls' arguments that point to something; and who records it so. */
enum wmk_ctl_call_arguments { WMK_CALL_ARGUMENTS_TEXT, WMK_CALL_ARGUMENTS_NONE };
enum wmk_ctl_calls_by { WMK_CALLS_BY_NONE, WMK_CALLS_BY_BPF, WMK_CALLS_BY_TRACEFS };

/*
 * Settings of a channel: what ENABLE_CHANNEL chooses and nothing changes later. The request, the channel, its state and
 * answers have this structure. No status, no counts and nothing that follows from other members belongs here.
 *
 * A new setting is a member of the structure and a line of the table in ctl.c.
 */
struct wmk_ctl_channel_settings {
	uint32_t mode;               /* enum wmk_ctl_mode */
	uint32_t buffers;            /* enum wmk_ctl_buffers */
	uint64_t subbuf_size, n_subbufs;   /* powers of two; 0: the default (1 MiB, 8) */
	int64_t blocking_us;         /* discard mode: wait for room; 0 never, -1 for ever */
	uint64_t field_limit;        /* bytes; 0: the default, which is the most */
	uint64_t tracefile_size, tracefile_count;   /* 0: no limit */
	uint32_t call_arguments;     /* enum wmk_ctl_call_arguments */
};

struct wmk_ctl_channel {
	const char *name;
	struct wmk_ctl_domain domain;
	struct wmk_ctl_channel_settings settings;
	struct wmk_list contexts;    /* of const char * */
	struct wmk_list rules;       /* of struct wmk_ctl_rule */
	bool enabled;
	struct wmk_counts counts;
	/* enum wmk_ctl_calls_by; the daemon decides it, once the rules name system calls */
	uint32_t calls_by;
	const char *calls_why;       /* why not with text, though that was requested; set by the daemon */
};

/* Of each kind: nothing tracked is everything. */
struct wmk_ctl_trackers {
	bool pid, uid, gid, kernel_pid;      /* narrowed: only those of the list, which may be empty */
	struct wmk_list pids, uids, gids;    /* of uint64_t: programs */
	struct wmk_list kernel_pids;         /* of the kernel's records, whose processes are wanted */
};

enum wmk_ctl_trace_format { WMK_TRACE_CTF_1_8, WMK_TRACE_CTF_2 };
#define WMK_CTL_TRACE_FORMATS 2
extern const char *const wmk_ctl_trace_formats[WMK_CTL_TRACE_FORMATS];   /* as they are asked for: "ctf-1.8", ... */

/* PLUGIN: of the session daemon, which has no other clock then; no client chooses it. */
enum wmk_ctl_clock { WMK_CTL_CLOCK_DEFAULT, WMK_CTL_CLOCK_COUNTER, WMK_CTL_CLOCK_MONOTONIC, WMK_CTL_CLOCK_PLUGIN };
#define WMK_CTL_CLOCKS 4
extern const char *const wmk_ctl_clocks[WMK_CTL_CLOCKS];
/*
 * Settings of a session: what CREATE chooses and nothing changes later. The request, the session, its state file and
 * answers have this structure. No status, no counts and nothing that follows from other members belongs here.
 *
 * A new setting is a member of the structure and a line of WMK_CTL_SETTINGS.
 */
struct wmk_ctl_settings {
	uint64_t max_size;           /* bytes that its trace may have; 0: no limit */
	uint32_t trace_format;       /* enum wmk_ctl_trace_format */
	uint32_t clock;              /* enum wmk_ctl_clock; only in a request DEFAULT */
	bool no_statedump;           /* what existed when it began is not recorded */
	/* directory with the files of its rings; in a request: where it is made; "": none */
	const char *shm_path;
	const char *description;     /* for people; "": none */
};
/*
 * Members of a structure `s` that has them in `settings`, shared with the public description of a session: in two
 * parts, as in JSON there is status between them.
 */
#define WMK_CTL_SETTING(kind, s, ...) WMK_SHARED_IN(kind, s, settings, waymark_ctl_session_info, __VA_ARGS__)
#define WMK_CTL_SETTINGS_SIZE(s) WMK_CTL_SETTING(U64, s, max_size)
#define WMK_CTL_SETTINGS(s) \
	WMK_CTL_SETTING(ENUM, s, trace_format, wmk_ctl_trace_formats), \
	WMK_CTL_SETTING(ENUM, s, clock, wmk_ctl_clocks), \
	WMK_CTL_SETTING(BOOL, s, no_statedump), \
	WMK_CTL_SETTING(TEXT, s, shm_path, WMK_OBJECT_TEXT_MAX), \
	WMK_CTL_SETTING(TEXT, s, description, WMK_CTL_DESCRIPTION_MAX)

/* An application that was not recorded, or in part only. */
#define WMK_CTL_UNRECORDED_MAX 64u
struct wmk_ctl_unrecorded {
	uint64_t pid, uid;           /* pid 0: not one application, but whichever started meanwhile */
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
	bool started;                /* was active once */
	struct wmk_ctl_settings settings;
	bool full;                   /* it has max_size: stopped by itself */
	bool stopping;               /* it has stopped, and its last records are not written yet */
	struct wmk_list channels;    /* of struct wmk_ctl_channel */
	struct wmk_ctl_trackers trackers;
	struct wmk_counts counts;
	struct wmk_list unrecorded;  /* of struct wmk_ctl_unrecorded; the daemon's to fill */
	uint64_t unrecorded_more;    /* beside those */
};

struct wmk_ctl_field {
	const char *name, *type, *unit;    /* type in words: "u32", "string", "enum color", "u8[16]" */
};

struct wmk_ctl_event {
	const char *provider, *name;
	uint32_t kind;               /* enum waymark_kind */
	uint32_t level;              /* enum waymark_level */
	const char *file;            /* of the kernel: events/SUBSYSTEM/NAME, where tracefs describes it */
	uint32_t line;
	bool enabled;                /* in a session that records */
	struct wmk_list fields;      /* of struct wmk_ctl_field */
};

struct wmk_ctl_app {
	uint64_t pid, uid, gid, start_time;
	const char *name, *exe;
	bool connected;
	uint32_t n_events;           /* also when they are not listed */
	const char *why;             /* what is wrong with it, "" if nothing */
	struct wmk_list events;      /* of struct wmk_ctl_event */
};

/* ── requests and replies ────────────────────────────────────────────────────────────────────────────── */

struct wmk_ctl_version_reply {
	const char *version;
	uint64_t pid, uid, started;
	const char *rundir;
};

/* What every command over applications answers. */
struct wmk_ctl_outcome {
	/* of struct wmk_ctl_app (no events): have not confirmed in time; they will when they can */
	struct wmk_list unanswered;
	struct wmk_list warnings;    /* of const char *: sentences for people */
	struct wmk_list sessions;    /* of struct wmk_ctl_session: those that the command was about, as they are now */
};

struct wmk_ctl_create {
	const char *name;            /* "": a name is made from the time */
	const char *path;            /* absolute; "": the default place under the client's home, which it names: */
	const char *home;            /* directory in which the default place is */
	struct wmk_ctl_settings settings;
};
/* DESTROY, START, STOP, CLEAR; "": all of the client's (DESTROY, STOP) */
struct wmk_ctl_session_name { const char *session; };
struct wmk_ctl_list_sessions { const char *session; };     /* "": all that the client may see */
struct wmk_ctl_sessions { struct wmk_list sessions; };
struct wmk_ctl_list_apps { bool events; const char *pattern; uint64_t pid; };   /* pattern "": all; pid 0: all */
struct wmk_ctl_apps { struct wmk_list apps; };
struct wmk_ctl_list_kernel {
	struct wmk_list patterns;    /* of const char *, as of rules of kernel channels; empty: all */
	bool fields;                 /* tell the events' fields */
	bool lacks;                  /* find out what the kernel lacks */
};
struct wmk_ctl_kernel {
	/*
	 * of struct wmk_ctl_event: provider is the kernel's subsystem, the name that in traces; a system call is
	 * "syscall", its name
	 */
	struct wmk_list events;
	struct wmk_list lacks;       /* of const char *: sentences */
	const char *clock;           /* that stamps records, as the kernel calls it; "": none that is the daemon's */
};
/*
 * A channel that exists is enabled again; options that differ from what it has are refused. Its rules and contexts are
 * added.
 */
struct wmk_ctl_enable_channel { const char *session; struct wmk_ctl_channel channel; };
struct wmk_ctl_disable_channel { const char *session, *channel; struct wmk_ctl_domain domain; };
/* channel "": the only one of the domain, or "channel0", made if need be. */
struct wmk_ctl_enable_event { const char *session, *channel; struct wmk_ctl_domain domain; struct wmk_list rules; };
/* empty: all */
struct wmk_ctl_disable_event { const char *session, *channel; struct wmk_ctl_domain domain; struct wmk_list patterns; };
struct wmk_ctl_add_context { const char *session, *channel; struct wmk_ctl_domain domain; struct wmk_list contexts; };
enum wmk_ctl_track_kind { WMK_TRACK_PID, WMK_TRACK_UID, WMK_TRACK_GID, WMK_TRACK_KERNEL_PID, WMK_TRACK_KINDS };
struct wmk_ctl_track { const char *session; uint32_t kind; bool all; struct wmk_list ids; };   /* TRACK, UNTRACK */
enum wmk_ctl_regenerate_what { WMK_REGENERATE_METADATA, WMK_REGENERATE_STATEDUMP };
struct wmk_ctl_regenerate { const char *session; uint32_t what; };

extern const struct wmk_request_type wmk_ctl_requests[];
extern const unsigned wmk_ctl_n_requests;
const struct wmk_request_type *wmk_ctl_request_find(uint16_t type);

/*
 * CREATE, DESTROY, START, STOP, *_CHANNEL, *_EVENT, ADD_CONTEXT, TRACK, UNTRACK, CLEAR, REGENERATE reply
 * wmk_ctl_outcome_object.
 */
extern const struct wmk_object wmk_ctl_settings_object;
extern const struct wmk_object wmk_ctl_session_object, wmk_ctl_channel_object, wmk_ctl_rule_object, wmk_ctl_app_object,
	wmk_ctl_event_object, wmk_ctl_outcome_object, wmk_ctl_sessions_object, wmk_ctl_apps_object,
	wmk_ctl_kernel_object, wmk_ctl_version_reply_object, wmk_ctl_unrecorded_object,
	wmk_ctl_counts_object, wmk_ctl_domain_object, wmk_ctl_trackers_object;

#endif
