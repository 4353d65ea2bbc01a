/* SPDX-License-Identifier: MIT */
/*
 * apps.h - the application-facing half of a session: listens, admits applications, gives ids to their events, tells
 * them what to record.
 *
 *     application ──HELLO, EVENT──►┌──────────┐ on_event_class(channel, id, class)  ┌──────────────────┐
 *                 ◄─CHANNEL,ENABLE─┤ wmk_apps ├────────────────────────────────────►│ metadata (store) │   first,
 *                                  └──────────┘ then ENABLE goes out                └──────────────────┘
 *
 * The channels (ring sets) belong to the caller. Each distinct class (provider, name, fields) gets an id per channel,
 * 0, 1, ... in the order of enabling; the same class in another application gets the same id. Death is what the pidfd
 * says: then the claims of the application are freed in every channel's set. Nothing here blocks on an application,
 * and none can harm another: what each may send, keep and leave unread is bounded.
 *
 * One thread uses a wmk_apps, for all calls; callbacks run in it, from within wmk_apps_run_once() and the commands.
 * Errors are -errno with a cause chain (base/error.h).
 */
#ifndef WMK_SESSION_APPS_H
#define WMK_SESSION_APPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <waymark/ring.h>

#include "schema/schema.h"
#include "wire/wire.h"

struct wmk_apps;

struct wmk_apps_channel {
	struct waymark_ring_set *set;       /* borrowed; must outlive the wmk_apps */
	uint32_t field_limit;               /* bytes; longer strings and sequences are cut by the application */
	uint32_t n_contexts;
	uint8_t contexts[WMK_WIRE_CONTEXTS_MAX];   /* enum wmk_context, in the order of the stream's event context */
	/*
	 * Globs on `provider:name` (* ? [a-z] [!a-z], \ before a character that is meant); one without ':' is also
	 * held against the provider alone. '!' in front excludes. An event is in when it matches one that includes
	 * (or there is none that includes) and none that excludes. None at all: every event. Copied. An event goes to
	 * the first channel that wants it.
	 */
	const char *const *patterns;
	unsigned n_patterns;
	/* Also the tracer's own events (WMK_STATEDUMP_PROVIDER, WMK_LIBRARY_PROVIDER), whatever the patterns say. */
	bool statedump;
};

/* What is known of an application. Strings are valid until wmk_apps_close(). */
struct wmk_app_info {
	pid_t pid;                          /* the kernel's word (SO_PEERCRED), as this process sees it */
	uid_t uid;
	const char *name;                   /* from HELLO, non-printable bytes replaced */
	uint32_t events;                    /* registered now or ever */
	uint32_t enabled;                   /* of these, enabled in some channel now or ever */
	bool connected;                     /* its socket is open */
	bool alive; /* the pidfd has not fired; false too for the refused, and after exec for the program before */
	int error; /* 0, or why it was refused or dropped, or what it complained of: a positive errno ... */
	const char *why;                    /* ... in words, else NULL */
	bool complained;                    /* the error is what the application said itself; it goes on */
};

struct wmk_apps_ops {
	/*
	 * A class is about to be enabled for the first time in `channel` (index in options.channels): declare it in
	 * the metadata. Non-zero: it is not enabled, for anyone, and asked again for the next application that has
	 * it.
	 */
	int (*on_event_class)(void *data, unsigned channel, uint32_t id, const struct wmk_event_class *event);
	/*
	 * Optional. An application was admitted, refused, dropped, closed its socket, or died: look at info. Of those that
	 * are not kept (past the first 4096) it tells pid, uid, connected and alive.
	 */
	void (*on_app)(void *data, const struct wmk_app_info *info);
	void *data;
};

struct wmk_apps_options {
	size_t size;                        /* sizeof(struct wmk_apps_options) */
	const char *rundir;                 /* made 0700 if absent; refused if another's or open to others */
	const struct wmk_apps_channel *channels;
	unsigned n_channels;                /* 1 .. 32 */
	/*
	 * Name of the clock that records carry: an application that announces another clock plug-in than this is
	 * refused in words. NULL or "": the machine's clock, no plug-in.
	 */
	const char *clock;
	/* Limits; 0: the default in parentheses. */
	unsigned max_apps;                  /* connected or alive at a time (1024) */
	unsigned max_events;                /* of one application (65536) */
	size_t max_bytes; /* of event classes that one application may register in its life (64 MiB) */
	size_t max_queue;                   /* bytes queued for one application (8 MiB) */
	unsigned hello_ms;                  /* a connection that has not said HELLO by then is closed (5000) */
	struct wmk_apps_ops ops;
};

/*
 * Listen on <rundir>/app.sock. A socket left by a process that is gone is replaced; -EADDRINUSE when somebody answers
 * there.
 */
int wmk_apps_open(const struct wmk_apps_options *options, struct wmk_apps **apps);
/* Closes connections, removes the socket (not the directory, unless wmk_apps_open() made it). Sets are untouched. */
void wmk_apps_close(struct wmk_apps *apps);
/* An epoll descriptor: readable when wmk_apps_run_once() has something to do. Owned by `apps`. */
int wmk_apps_fd(const struct wmk_apps *apps);
/*
 * Deal with what is there, waiting `timeout_ms` at most (0: not at all, -1: for ever). Number of events dealt with,
 * or -errno.
 */
int wmk_apps_run_once(struct wmk_apps *apps, int timeout_ms);

/*
 * Enable or disable all that a channel wants, in all applications, present and future (on at first). Queued, never
 * waits.
 */
int wmk_apps_channel_switch(struct wmk_apps *apps, unsigned channel, bool on);
/*
 * Ask every connected application to confirm that the commands so far are in force, and run the loop until all did or
 * `timeout_ms` is over. Returns how many have not answered (info of these: wmk_apps_unanswered()), or -errno.
 */
int wmk_apps_sync(struct wmk_apps *apps, int timeout_ms);
/* The i-th application that has not answered the latest SYNC; false past the end. */
bool wmk_apps_unanswered(const struct wmk_apps *apps, unsigned i, struct wmk_app_info *info);

/* ── accounting ──────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_apps_stats {
	uint64_t apps_seen;                 /* said a HELLO that was accepted */
	uint64_t apps_connected, apps_alive;
	uint64_t apps_refused;              /* other version, other clock, too many */
	uint64_t turned_away;               /* of these, without a word: there was no descriptor to hear them with */
	uint64_t apps_dropped;              /* broke the protocol or a limit */
	uint64_t apps_dead;                 /* the pidfd says so, or another program runs in the process (exec) */
	uint64_t claims_freed;
	uint64_t events_seen; /* distinct provider:name with distinct fields, the tracer's own not counted */
	uint64_t classes_enabled;           /* ids given, in all channels, the tracer's own not counted */
};
void wmk_apps_stats(const struct wmk_apps *apps, struct wmk_apps_stats *stats);
/* The i-th application seen (the first 4096 are kept), in the order of arrival; false past the end. */
bool wmk_apps_get(const struct wmk_apps *apps, unsigned i, struct wmk_app_info *info);
/* How many distinct classes the channel's i-th pattern has matched; NULL past the end. */
const char *wmk_apps_pattern(const struct wmk_apps *apps, unsigned channel, unsigned i, uint64_t *matched);
/*
 * The `provider:name` that were seen and are nearest to `pattern`, best first; returns how many (<= max), strings
 * owned by apps.
 */
unsigned wmk_apps_nearest(const struct wmk_apps *apps, const char *pattern, const char **names, unsigned max);
/* -EINVAL with words when `pattern` cannot be one (empty, too long, unclosed '['). */
int wmk_apps_pattern_check(const char *pattern);
/* Does `pattern` (without '!') match provider:name? */
bool wmk_apps_pattern_match(const char *pattern, const char *provider, const char *name);

#endif
