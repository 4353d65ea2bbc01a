/* SPDX-License-Identifier: MIT */
/* shard_watch.h - descriptors and jobs of a shard. */
#ifndef WMK_SESSION_SHARD_WATCH_H
#define WMK_SESSION_SHARD_WATCH_H

#include "session/apps/app.h"

int wmk_shard_watch(struct wmk_shard *shard, int fd, struct shard_source *source, bool add, bool writing);
/*
 * Remove a descriptor from epoll, and close it. A plain close() is not sufficient: the descriptor stays in epoll while
 * a child of posix_spawn() holds a copy, until the child executes its program.
 */
void wmk_shard_unwatch(struct wmk_shard *shard, int fd);
/* Like wmk_shard_unwatch(), but close the socket of a connection by wmk_deferred_close_socket(). */
void wmk_shard_unwatch_socket(struct wmk_shard *shard, int fd, uid_t uid);
/* Run a job in the thread of the shard, in order; the caller owns `job` until the job has run. Any thread. */
struct wmk_shard_job {
	struct cds_wfcq_node node;
	void (*run)(struct wmk_shard *shard, struct wmk_shard_job *job);
};
void wmk_shard_post(struct wmk_shard *shard, struct wmk_shard_job *job);
void wmk_shard_jobs_run(struct wmk_shard *shard);

#endif
