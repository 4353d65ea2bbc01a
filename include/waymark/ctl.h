/* SPDX-License-Identifier: MIT */
/*
 * ctl.h - control tracing from a program: sessions, channels, events, as the command `waymark` does (libwaymark-ctl).
 *
 *     struct waymark_ctl *ctl;
 *     struct waymark_ctl_rule rule = { .size = sizeof(rule), .pattern = "shop:*" };
 *     struct waymark_ctl_create_options create = { .size = sizeof(create), .name = "mine" };
 *     struct waymark_ctl_events_options events = { .size = sizeof(events), .session = "mine", .rules = &rule, .n_rules = 1 };
 *
 *     waymark_ctl_connect(NULL, &ctl)                             to the session daemon, which is started if there is none
 *     waymark_ctl_create(ctl, &create, NULL)
 *     waymark_ctl_enable_event(ctl, &events, NULL)
 *     waymark_ctl_start(ctl, "mine", NULL) ... waymark_ctl_stop(ctl, "mine", &result)
 *
 * Functions return 0 or a negative errno; why is then told by waymark_ctl_error_text(), for each thread by itself. Nothing here prints,
 * exits or keeps global state but that text. A handle is used by one thread at a time; different handles by different threads. No function
 * may be called from a signal handler. A handle does not survive fork(): the child may only close it.
 *
 * Structures that the caller fills begin with their size, sizeof(the structure), and what is left zero has a default; an array of them
 * has elements of the size that its first one says. What is asked of the library, the library owns: structures come by pointer and may
 * have more members in a later version. Strings and arrays that go in are not kept.
 */
#ifndef WAYMARK_CTL_H
#define WAYMARK_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct waymark_ctl;                  /* a connection */
struct waymark_ctl_result;           /* what a request answered */

/* ── errors ──────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Why the calling thread's latest failed call failed: one sentence for each layer, 0 the outermost, NULL past the end. Valid until the
 * thread's next call.
 */
const char *waymark_ctl_error(unsigned index);
/* All in one line, outermost first, cut to `size` bytes; "" when nothing failed. Returns `buf`. */
const char *waymark_ctl_error_text(char *buf, size_t size);

/* ── the connection ──────────────────────────────────────────────────────────────────────────────────── */

enum waymark_ctl_start {
	WAYMARK_CTL_START_IF_NONE = 0,   /* a daemon is started when none runs */
	WAYMARK_CTL_START_NEVER = 1,
};

struct waymark_ctl_connect_options {
	size_t size;
	/*
	 * Where the daemon is. NULL: $WAYMARK_RUNDIR, else root's daemon where it lets us in (root, members of the group `tracing`), else
	 * the user's own; see waymark_ctl_rundir().
	 */
	const char *rundir;
	uint32_t start;              /* enum waymark_ctl_start */
	/* The daemon's program. NULL: $WAYMARK_SESSIOND, else `waymark-sessiond` beside the running executable, else the one in PATH. */
	const char *program;
	/* For connecting, and for each request; 0: 30000, -1: for ever. Longer than the daemon's own deadlines, which are 10 s at most. */
	int timeout_ms;
};

/*
 * Connect; options NULL: all defaults. *ctl is the caller's, waymark_ctl_close() frees it. -ENOENT, -ECONNREFUSED: no daemon runs, and none
 * was to be started; -EACCES: it is not ours to control; -ETIMEDOUT; -EPROTO: it is not a session daemon of this version.
 */
int waymark_ctl_connect(const struct waymark_ctl_connect_options *options, struct waymark_ctl **ctl);
/* NULL is allowed. Sessions go on. */
void waymark_ctl_close(struct waymark_ctl *ctl);
/* The runtime directory of the daemon, as connected to. Valid until waymark_ctl_close(). */
const char *waymark_ctl_rundir(const struct waymark_ctl *ctl);
/* Whether waymark_ctl_connect() started the daemon. */
bool waymark_ctl_started(const struct waymark_ctl *ctl);
void waymark_ctl_set_timeout(struct waymark_ctl *ctl, int timeout_ms);

/* ── what there is ───────────────────────────────────────────────────────────────────────────────────── */

enum waymark_ctl_domain_kind { WAYMARK_CTL_USER = 0, WAYMARK_CTL_PID = 1, WAYMARK_CTL_EXEC = 2 };
enum waymark_ctl_mode { WAYMARK_CTL_DISCARD = 0, WAYMARK_CTL_OVERWRITE = 1 };
enum waymark_ctl_buffers { WAYMARK_CTL_PER_UID = 0, WAYMARK_CTL_PER_PID = 1 };
enum waymark_ctl_level_op {
	WAYMARK_CTL_ANY_LEVEL = 0, WAYMARK_CTL_AT_LEAST = 1 /* as severe or more */, WAYMARK_CTL_EXACTLY = 2, WAYMARK_CTL_BETWEEN = 3,
};
/* Log levels are those of enum waymark_level, 0 (emerg) to 14 (debug); kinds of events those of enum waymark_kind. */
#define WAYMARK_CTL_LEVELS 15
/* "emerg", ... "debug"; NULL for what is none. */
const char *waymark_ctl_level_name(uint32_t level);

/* What became of records so far. */
struct waymark_ctl_counts {
	uint64_t records;            /* recorded */
	uint64_t lost;               /* the sum of the four causes: */
	uint64_t lost_full, lost_memory, lost_size, lost_retry;
	uint64_t overwritten;        /* sub-buffers' records given up for newer ones, as asked for */
	uint64_t unwritten;          /* recorded, but the trace could not be written */
	uint64_t cut;                /* with a field that was cut to the limit */
	uint64_t bytes;              /* of the trace */
};

struct waymark_ctl_rule_info {
	const char *pattern;
	const char *const *exclusions;
	unsigned n_exclusions;
	uint32_t level_op;           /* enum waymark_ctl_level_op */
	uint32_t level, level_to;
	bool enabled;
	uint64_t matched;            /* distinct events seen so far */
};

struct waymark_ctl_channel_info {
	const char *name;
	uint32_t domain;             /* enum waymark_ctl_domain_kind, and what goes with it: */
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
};

/* A list narrows a session when its flag is set, also when it is empty: then nothing of that kind is traced. */
struct waymark_ctl_trackers {
	bool pid, uid, gid;
	const uint64_t *pids, *uids, *gids;
	unsigned n_pids, n_uids, n_gids;
};

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
	const struct waymark_ctl_counts *counts;     /* of all channels together */
};

struct waymark_ctl_field_info {
	const char *name;
	const char *type;            /* in words: "u32", "string", "enum color", "u8[16]" */
	const char *unit;            /* "" if none */
};

struct waymark_ctl_event_info {
	const char *provider, *name;
	uint32_t kind;               /* enum waymark_kind */
	uint32_t level;              /* enum waymark_level */
	const char *file;
	uint32_t line;
	bool enabled;                /* in a session that records */
	const struct waymark_ctl_field_info *const *fields;
	unsigned n_fields;
};

struct waymark_ctl_app_info {
	uint64_t pid, uid, gid;
	const char *name, *exe;
	bool connected;
	unsigned n_known;            /* events that it has, also when they were not asked for */
	const char *why;             /* what is wrong with it, "" if nothing */
	const struct waymark_ctl_event_info *const *events;
	unsigned n_events;
};

struct waymark_ctl_version_info {
	const char *version;         /* of the daemon; that of the library is waymark_ctl_library_version() */
	uint64_t pid, uid;
	uint64_t started;            /* seconds since 1970 */
	const char *rundir;
};

const char *waymark_ctl_library_version(void);

/* ── results ─────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * A request that is given a `struct waymark_ctl_result **` puts there what came of it when it returns 0, and NULL when it fails; the caller
 * frees it. NULL in its place: the caller does not want to know. All that these functions return belongs to the result, and is valid until
 * that is freed. The result does not need the connection.
 */
void waymark_ctl_result_free(struct waymark_ctl_result *result);     /* NULL is allowed */
/* Sessions that were listed, or that a command was about, as they are now (after DESTROY: as they were at last). Returns how many. */
unsigned waymark_ctl_result_sessions(const struct waymark_ctl_result *result, const struct waymark_ctl_session_info *const **sessions);
/* Programs that were listed. */
unsigned waymark_ctl_result_apps(const struct waymark_ctl_result *result, const struct waymark_ctl_app_info *const **apps);
/* Programs that have not confirmed in time what a command changed, without their events; they will when they can. */
unsigned waymark_ctl_result_unanswered(const struct waymark_ctl_result *result, const struct waymark_ctl_app_info *const **apps);
/* Sentences for people. */
unsigned waymark_ctl_result_warnings(const struct waymark_ctl_result *result, const char *const **warnings);
/* Files that waymark_ctl_save() wrote or waymark_ctl_load() read. */
unsigned waymark_ctl_result_files(const struct waymark_ctl_result *result, const char *const **files);
/* NULL when the request was not waymark_ctl_version(). */
const struct waymark_ctl_version_info *waymark_ctl_result_version(const struct waymark_ctl_result *result);
/* The whole result as JSON, indented, ending in a newline. *text is the caller's, to free(). */
int waymark_ctl_result_json(const struct waymark_ctl_result *result, char **text);

/* ── sessions ────────────────────────────────────────────────────────────────────────────────────────── */

struct waymark_ctl_create_options {
	size_t size;
	const char *name;            /* NULL or "": made from the time; see the result's session */
	const char *path;            /* of the trace, absolute; NULL or "": the default place below ... */
	const char *home;            /* ... this directory; NULL: $HOME, else the user's home */
};
int waymark_ctl_create(struct waymark_ctl *ctl, const struct waymark_ctl_create_options *options, struct waymark_ctl_result **result);
/* `session` NULL or "": all sessions of the user. */
int waymark_ctl_destroy(struct waymark_ctl *ctl, const char *session, struct waymark_ctl_result **result);
int waymark_ctl_start(struct waymark_ctl *ctl, const char *session, struct waymark_ctl_result **result);
/* `session` NULL or "": all sessions of the user. */
int waymark_ctl_stop(struct waymark_ctl *ctl, const char *session, struct waymark_ctl_result **result);
/* Forget what was recorded so far. */
int waymark_ctl_clear(struct waymark_ctl *ctl, const char *session, struct waymark_ctl_result **result);
/* `session` NULL or "": all that the user may see. -ENOENT when there is none of that name. */
int waymark_ctl_list_sessions(struct waymark_ctl *ctl, const char *session, struct waymark_ctl_result **result);

enum waymark_ctl_regenerate_what { WAYMARK_CTL_METADATA = 0, WAYMARK_CTL_STATEDUMP = 1 };
int waymark_ctl_regenerate(struct waymark_ctl *ctl, const char *session, uint32_t what, struct waymark_ctl_result **result);

enum waymark_ctl_track_kind { WAYMARK_CTL_TRACK_PID = 0, WAYMARK_CTL_TRACK_UID = 1, WAYMARK_CTL_TRACK_GID = 2 };
struct waymark_ctl_track_options {
	size_t size;
	const char *session;
	uint32_t kind;               /* enum waymark_ctl_track_kind */
	bool all;                    /* every one of the kind: tracked, the list ends; untracked, it is empty */
	const uint64_t *ids;
	unsigned n_ids;
};
int waymark_ctl_track(struct waymark_ctl *ctl, const struct waymark_ctl_track_options *options, struct waymark_ctl_result **result);
int waymark_ctl_untrack(struct waymark_ctl *ctl, const struct waymark_ctl_track_options *options, struct waymark_ctl_result **result);

/* ── channels and events ─────────────────────────────────────────────────────────────────────────────── */

/* Which programs. NULL where one may be given: all of the user domain. */
struct waymark_ctl_domain {
	size_t size;
	uint32_t kind;               /* enum waymark_ctl_domain_kind */
	bool follow;                 /* PID, EXEC: descendants too */
	uint64_t pid;                /* PID */
	const char *exec;            /* EXEC: base name, or path when it holds a '/' */
};

/* Events that match the pattern, none of the exclusions, and the level. */
struct waymark_ctl_rule {
	size_t size;
	const char *pattern;         /* glob on provider:name, or on the provider alone when it has no ':' */
	const char *const *exclusions;       /* globs likewise */
	unsigned n_exclusions;
	uint32_t level_op;           /* enum waymark_ctl_level_op */
	uint32_t level;              /* enum waymark_level; BETWEEN: one end ... */
	uint32_t level_to;           /* ... and the other; both are in */
};

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
	const char *const *contexts;
	unsigned n_contexts;
};
/* Make it, or enable it again: options that differ from what it has are refused. */
int waymark_ctl_enable_channel(struct waymark_ctl *ctl, const struct waymark_ctl_channel_options *options,
			       struct waymark_ctl_result **result);

/* What commands on events and contexts say. */
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
/* `rules`, `patterns`, `contexts` are not looked at. */
int waymark_ctl_disable_channel(struct waymark_ctl *ctl, const struct waymark_ctl_events_options *options,
				 struct waymark_ctl_result **result);
/* When it returns, every program that answered records the events by its next call. */
int waymark_ctl_enable_event(struct waymark_ctl *ctl, const struct waymark_ctl_events_options *options,
			     struct waymark_ctl_result **result);
int waymark_ctl_disable_event(struct waymark_ctl *ctl, const struct waymark_ctl_events_options *options,
			      struct waymark_ctl_result **result);
int waymark_ctl_add_context(struct waymark_ctl *ctl, const struct waymark_ctl_events_options *options,
			    struct waymark_ctl_result **result);

/* ── programs, the daemon ────────────────────────────────────────────────────────────────────────────── */

struct waymark_ctl_apps_options {
	size_t size;
	bool events;                 /* list their events too, with the fields */
	const char *pattern;         /* of events; NULL or "": all */
	uint64_t pid;                /* 0: all */
};
/* options NULL: all programs, without events. */
int waymark_ctl_list_apps(struct waymark_ctl *ctl, const struct waymark_ctl_apps_options *options, struct waymark_ctl_result **result);
int waymark_ctl_version(struct waymark_ctl *ctl, struct waymark_ctl_result **result);
/* Ends the daemon. */
int waymark_ctl_shutdown(struct waymark_ctl *ctl);

/* ── saved sessions ──────────────────────────────────────────────────────────────────────────────────── */

/*
 * A saved session is a JSON file: the same members as in waymark_ctl_result_json(), without what became of records. It says what the
 * session is, not whether it records.
 */
struct waymark_ctl_save_options {
	size_t size;
	const char *session;         /* NULL or "": all of the user's */
	const char *path;            /* a file when it ends in .json (one session), else a directory; NULL: $HOME/.waymark/sessions */
	bool replace;                /* a file that is there; else -EEXIST */
};
/* Files are written whole or not at all, 0600; no symbolic link is followed at the last name. See the result's files. */
int waymark_ctl_save(struct waymark_ctl *ctl, const struct waymark_ctl_save_options *options, struct waymark_ctl_result **result);

struct waymark_ctl_load_options {
	size_t size;
	const char *session;         /* NULL or "": all that the file or directory holds */
	const char *path;            /* a file, or a directory of them; NULL: $HOME/.waymark/sessions */
	bool replace;                /* a session of that name is destroyed first; else -EEXIST */
	const char *name;            /* with one session: another name for it */
	const char *output;          /* with one session: another path for the trace, absolute */
	bool default_output;         /* traces go to the default place, whatever the files say */
};
/*
 * Make the sessions; none is started. A trace that is there already is not written into: then the session's goes to the default place,
 * which a warning says. A session that cannot be made whole is not left half made; those before it stay.
 */
int waymark_ctl_load(struct waymark_ctl *ctl, const struct waymark_ctl_load_options *options, struct waymark_ctl_result **result);

#ifdef __cplusplus
}
#endif

#endif
