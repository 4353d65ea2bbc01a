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

/* One per CPU, at most WMK_SHARDS_MAX. */
unsigned wmk_shards_default(void);
int wmk_shards_open(struct wmk_tracing *tracing, unsigned n, struct wmk_shards **shards);
/*
 * Accept applications on this non-blocking, borrowed socket; `only`: see struct wmk_accept_options. Call once. -errno
 * with a cause chain.
 */
int wmk_shards_listen(struct wmk_shards *shards, int listener, uid_t only);
/*
 * End the threads and close the connections. Applications continue to record, and register with the next daemon;
 * connections in the queue of the listener wait for it.
 */
void wmk_shards_close(struct wmk_shards *shards);
/* For wmk_accept_options.take, with the struct wmk_shards as `data`. Any thread. */
int wmk_shards_take(void *shards, unsigned shard, const struct wmk_app_conn *conn);

/* Callbacks of the reaper: events that must not be handled in the thread that noticed them. All optional. */
struct wmk_reaper_ops {
	/* The traces of the session with this directory have reached their limit. */
	void (*full)(void *data, const char *path);
	/* The metadata of the session with this directory must be rewritten. */
	void (*stale)(void *data, const char *path);
	/* The clock of the session with this directory has restarted: the counter of the clock has gone back. */
	void (*restarted)(void *data, const char *path);
	/*
	 * A program requests a snapshot of the session, or of the session with this directory (session NULL). Called
	 * also before a session is reaped: an ended process may have left a request in its own rings.
	 */
	void (*requested)(void *data, struct wmk_session *session, const char *path);
	/* Write the last records of a session that has stopped, or was destroyed (`gone`). */
	void (*finish)(void *data, struct wmk_session *session, bool gone);
	void *data;
};
int wmk_reaper_open(const struct wmk_reaper_ops *ops, struct wmk_reaper **reaper);
/* For wmk_tracing_options.on_ended. Any thread; the session may be locked. */
void wmk_reaper_notify(struct wmk_reaper *reaper, struct wmk_session *session);
/* For wmk_consumer_port_options.on_full, on_stale, on_requested and on_restarted. Any thread. */
void wmk_reaper_notify_full(struct wmk_reaper *reaper, const char *path);
void wmk_reaper_notify_stale(struct wmk_reaper *reaper, const char *path);
void wmk_reaper_notify_requested(struct wmk_reaper *reaper, const char *path);
void wmk_reaper_notify_restarted(struct wmk_reaper *reaper, const char *path);
/* For wmk_commands.finish_later. Any thread; the session is not locked. */
void wmk_reaper_notify_finish(struct wmk_reaper *reaper, struct wmk_session *session, bool gone);
/*
 * Start the thread of the reaper. The thread of the reaper also handles items that were queued before the thread
 * started.
 */
int wmk_reaper_start(struct wmk_reaper *reaper);
/*
 * End the thread after it has finished sessions, and drop the other items of its queue. Later notifications are
 * ignored.
 */
void wmk_reaper_end(struct wmk_reaper *reaper);
/* No thread may notify the reaper any more. */
void wmk_reaper_close(struct wmk_reaper *reaper);

#endif
