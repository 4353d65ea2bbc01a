/* SPDX-License-Identifier: MIT */
/*
 * work.c - the results of work items: from the thread of a trace to the server's thread.
 */
#include "consumer/work.h"

#include "base/error.h"
#include "consumer/connection.h"

/* Keep the first error of a work item, with its text. */
void wmk_server_work_error(struct wmk_server_work *work, int err)
{
	if (err >= 0 || work->err < 0)
		return;
	work->err = err;
	wmk_error_text(work->words, sizeof(work->words));
	wmk_error_clear();
}

/* The server's thread replies to the request, and frees the work item. */
void wmk_server_work_finish(struct wmk_server_work *work, int err)
{
	struct wmk_consumer_server *server = work->trace->server;

	wmk_server_work_error(work, err);
	work->next = NULL;
	pthread_mutex_lock(&server->lock_done);
	*server->done_end = work;
	server->done_end = &work->next;
	pthread_mutex_unlock(&server->lock_done);
	wmk_server_wake(server);
}
