/* SPDX-License-Identifier: MIT */
/*
 * shards.h - the threads of a session daemon's registry: one per shard of applications (shard.h), and the reaper, which
 * cleans up after processes with their own rings.
 */
#ifndef WMK_SESSIOND_SHARDS_H
#define WMK_SESSIOND_SHARDS_H

#include "session/apps/app_accept.h"
#include "session/tracing.h"

#define WMK_SHARDS_MAX 8u

struct wmk_shards;
struct wmk_reaper;

/* The default number of shards: one for each CPU, but at most WMK_SHARDS_MAX. */
unsigned wmk_shards_default(void);
int wmk_shards_open(struct wmk_tracing *tracing, unsigned n, struct wmk_shards **shards);
/*
 * Accept applications on the non-blocking socket `listener`, which the caller keeps. `only`: see struct
 * wmk_accept_options. Call once. -errno with a cause chain.
 */
int wmk_shards_listen(struct wmk_shards *shards, int listener, uid_t only);
/*
 * End the threads of the shards, and close the connections. Applications continue to record, and register with the next
 * daemon. Connections that were not accepted also wait for the next daemon.
 */
void wmk_shards_close(struct wmk_shards *shards);
/* A function for wmk_accept_options.take; `data` is the struct wmk_shards. Any thread. */
int wmk_shards_take(void *shards, unsigned shard, const struct wmk_app_conn *conn);

/* Callbacks of the reaper thread, for events that must not be handled in the thread that detects them. All optional. */
struct wmk_reaper_ops {
	/* The traces of the session with the directory `path` have reached their limit. */
	void (*full)(void *data, const char *path);
	/* The metadata of the session with the directory `path` must be rewritten. */
	void (*stale)(void *data, const char *path);
	/* The clock counter of the session with the directory `path` has restarted from a lower value. */
	void (*restarted)(void *data, const char *path);
	/*
	 * A program requests a snapshot of `session` or, if `session` is NULL, of the session with the directory
	 * `path`. Also called before a session is reaped, because an ended process may have left a request in its own
	 * rings.
	 */
	void (*requested)(void *data, struct wmk_session *session, const char *path);
	/* Write the last records of a session that was stopped, or was destroyed (`gone`). */
	void (*finish)(void *data, struct wmk_session *session, bool gone);
	void *data;
};
int wmk_reaper_open(const struct wmk_reaper_ops *ops, struct wmk_reaper **reaper);
/* For wmk_tracing_options.on_ended. Any thread may call this function, even with the session locked. */
void wmk_reaper_notify(struct wmk_reaper *reaper, struct wmk_session *session);
/* Functions for wmk_consumer_port_options.on_full, on_stale, on_requested and on_restarted. Any thread. */
void wmk_reaper_notify_full(struct wmk_reaper *reaper, const char *path);
void wmk_reaper_notify_stale(struct wmk_reaper *reaper, const char *path);
void wmk_reaper_notify_requested(struct wmk_reaper *reaper, const char *path);
void wmk_reaper_notify_restarted(struct wmk_reaper *reaper, const char *path);
/* For wmk_commands.finish_later. Any thread may call this function; the session must not be locked. */
void wmk_reaper_notify_finish(struct wmk_reaper *reaper, struct wmk_session *session, bool gone);
/* Start the reaper thread. The reaper thread also handles items that were queued before the thread started. */
int wmk_reaper_start(struct wmk_reaper *reaper);
/*
 * End the reaper thread after it has finished stopped and destroyed sessions; it discards the other items of its queue.
 * Later notifications are ignored.
 */
void wmk_reaper_end(struct wmk_reaper *reaper);
/* When this function is called, no other thread may use the reaper. */
void wmk_reaper_close(struct wmk_reaper *reaper);

#endif
