/* SPDX-License-Identifier: MIT */
/*
 * list_reply.h - the reply to LIST: all traces and rings, for a session daemon that has just connected and adopts them.
 */
#ifndef WMK_CONSUMER_LIST_REPLY_H
#define WMK_CONSUMER_LIST_REPLY_H

#include "consumer/server_state.h"

/* Start the reply to LIST. 0 or -errno with a cause chain. */
int wmk_server_list(struct wmk_consumer_server *server, uint32_t request);
/* Queue as much of the reply as `out` has room for. */
void wmk_server_list_more(struct wmk_consumer_server *server);
/* Called when the connection has ended: free the rest of the reply. */
void wmk_server_list_drop(struct wmk_consumer_server *server);

#endif
