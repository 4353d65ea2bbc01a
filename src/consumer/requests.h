/* SPDX-License-Identifier: MIT */
/*
 * requests.h - requests of the session daemon. The server's thread; nothing waits.
 */
#ifndef WMK_CONSUMER_REQUESTS_H
#define WMK_CONSUMER_REQUESTS_H

#include "consumer/work.h"

void wmk_server_request(struct wmk_consumer_server *server, const struct wmk_frame *frame, const void *body, size_t len,
			int fd);
/* A work item that is done: answer its request, free it. */
void wmk_server_work_done(struct wmk_server_work *work);
/* Removes all traces; the server ends when the last one is gone. */
void wmk_server_end(struct wmk_consumer_server *server);

#endif
