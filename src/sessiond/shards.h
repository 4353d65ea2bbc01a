/* SPDX-License-Identifier: MIT */
/*
 * shards.h - the threads of a session daemon's registry: one for each shard of applications (shard.h), and one that
 * clears up after processes that had rings of their own and ended.
 */
#ifndef WMK_SESSIOND_SHARDS_H
#define WMK_SESSIOND_SHARDS_H

#include "session/apps/app_accept.h"
#include "session/tracing.h"

#define WMK_SHARDS_MAX 8u

struct wmk_shards;
struct wmk_reaper;

/* As many as there are CPUs, WMK_SHARDS_MAX at most. */
unsigned wmk_shards_default(void);
int wmk_shards_open(struct wmk_tracing *tracing, unsigned n, struct wmk_shards **shards);
/*
 * Programs come in by this socket from now on, non-blocking and the caller's; `only`: as in struct wmk_accept_options.
 * Once. -errno with a cause chain.
 */
int wmk_shards_listen(struct wmk_shards *shards, int listener, uid_t only);
/*
 * Ends the threads, closes the connections: programs record on, and register with the next daemon, which those who wait
 * in the listener's queue meet.
 */
void wmk_shards_close(struct wmk_shards *shards);
/* As wmk_accept_options.take, with the struct wmk_shards as `data`. Any thread. */
int wmk_shards_take(void *shards, unsigned shard, const struct wmk_app_conn *guest);

/*
 * What happened by itself is looked after elsewhere than where it was noticed. All optional, from the reaper's thread.
 */
struct wmk_reaper_ops {
	/* A session's directory has what it may have. */
	void (*full)(void *data, const char *path);
	/* Its disk answers again. */
	void (*stale)(void *data, const char *path);
	void *data;
};
int wmk_reaper_open(const struct wmk_reaper_ops *ops, struct wmk_reaper **reaper);
/* As wmk_tracing_options.on_ended. Any thread, the session may be locked. */
void wmk_reaper_notify(struct wmk_reaper *reaper, struct wmk_session *session);
/* As wmk_consumer_port_options.on_full and on_stale. Any thread. */
void wmk_reaper_notify_full(struct wmk_reaper *reaper, const char *path);
void wmk_reaper_notify_stale(struct wmk_reaper *reaper, const char *path);
/* Begins: what was told before is looked at, too. */
int wmk_reaper_start(struct wmk_reaper *reaper);
/* Ends the thread, and lets go of what was told; what is told from here on is not heard. */
void wmk_reaper_end(struct wmk_reaper *reaper);
/* Nobody tells any more. */
void wmk_reaper_close(struct wmk_reaper *reaper);

#endif
