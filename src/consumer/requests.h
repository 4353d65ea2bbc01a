/* SPDX-License-Identifier: MIT */
/* requests.h - requests of the session daemon. The functions belong to the server's thread, and no function waits. */
#ifndef WMK_CONSUMER_REQUESTS_H
#define WMK_CONSUMER_REQUESTS_H

#include "consumer/work.h"

/* Carry out a request, or queue the request for the thread of its trace. The caller owns `fd`. */
void wmk_server_request(struct wmk_consumer_server *server, const struct wmk_frame *frame, const void *body, size_t len,
			int fd);
/* Reply to the request of a finished work item, and free the work item. */
void wmk_server_work_done(struct wmk_server_work *work);
/* Remove all traces. The server ends when the last trace is removed. */
void wmk_server_end(struct wmk_consumer_server *server);

#endif
