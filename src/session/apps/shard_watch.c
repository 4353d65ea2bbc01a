/* SPDX-License-Identifier: MIT */
/* shard_watch.c - descriptors that a shard waits on, and jobs of other threads. */
#include "session/apps/shard_watch.h"

#include "base/error.h"
#include "session/apps/deferred_close.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

int wmk_shard_watch(struct wmk_shard *shard, int fd, struct shard_source *source, bool add, bool writing)
{
	struct epoll_event event = { .events = EPOLLIN | (writing ? EPOLLOUT : 0), .data.ptr = source };

	if (epoll_ctl(shard->epoll, add ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) != 0)
		return wmk_error(-errno, "cannot watch a descriptor");
	return 0;
}

void wmk_shard_unwatch(struct wmk_shard *shard, int fd)
{
	epoll_ctl(shard->epoll, EPOLL_CTL_DEL, fd, NULL);
	close(fd);
}

void wmk_shard_unwatch_socket(struct wmk_shard *shard, int fd, uid_t uid)
{
	epoll_ctl(shard->epoll, EPOLL_CTL_DEL, fd, NULL);
	wmk_deferred_close_socket(fd, uid);
}

void wmk_shard_post(struct wmk_shard *shard, struct wmk_shard_job *job)
{
	const uint64_t one = 1;

	cds_wfcq_node_init(&job->node);
	WMK_TSAN_RELEASE(job);
	/* The first job in an empty queue wakes the shard, which then empties the whole queue. */
	if (!cds_wfcq_enqueue(&shard->jobs_head, &shard->jobs_tail, &job->node) &&
	    write(shard->wake, &one, sizeof(one)) < 0)
		abort();                 /* a write to an open eventfd succeeds */
}

void wmk_shard_jobs_run(struct wmk_shard *shard)
{
	struct cds_wfcq_node *node;
	uint64_t count;

	/* clear the eventfd before the queue is read, so that a later job wakes the shard again */
	if (read(shard->wake, &count, sizeof(count)) < 0 && errno != EAGAIN)
		abort();
	while ((node = __cds_wfcq_dequeue_blocking(&shard->jobs_head, &shard->jobs_tail)) != NULL) {
		struct wmk_shard_job *job = wmk_container_of(node, struct wmk_shard_job, node);

		WMK_TSAN_ACQUIRE(job);
		job->run(shard, job);
	}
}
