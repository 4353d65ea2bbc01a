/* SPDX-License-Identifier: MIT */
/*
 * list_reply.h - the answer to LIST: all traces and rings, for a session daemon that has just connected and adopts
 * them.
 */
#ifndef WMK_CONSUMER_LIST_REPLY_H
#define WMK_CONSUMER_LIST_REPLY_H

#include "consumer/server_state.h"

/* Begin to answer LIST. 0 or -errno with a cause chain. */
int wmk_server_list(struct wmk_consumer_server *server, uint32_t request);
/* More of the answer, as much as there is room for in `out`. */
void wmk_server_list_more(struct wmk_consumer_server *server);
/* The connection has ended: drop the rest. */
void wmk_server_list_drop(struct wmk_consumer_server *server);

#endif
