/* SPDX-License-Identifier: MIT */
/*
 * senders.h - the senders (sender/sender.h) of a consumer daemon, one for each spool. A sender continues after the end
 * of the session's traces, until the relay has all data of the traces. All functions of senders.h run in the server's
 * thread.
 *
 *     output ──join──► sender ──leave──► sends the rest ──done, wake──► reap: freed
 */
#ifndef WMK_CONSUMER_SENDERS_H
#define WMK_CONSUMER_SENDERS_H

#include "consumer/server_state.h"
#include "sender/sender.h"

/* Start senders of the spools that earlier processes left in the home directory, or in the given directory. */
void wmk_server_senders_begin(struct wmk_consumer_server *server);
void wmk_server_senders_of_user(struct wmk_consumer_server *server, const char *directory, uint64_t uid, uint64_t gid);
/* Start senders of the spools in the directory that contains the spool `path`. */
void wmk_server_senders_beside(struct wmk_consumer_server *server, const char *path, uint64_t uid, uint64_t gid);
/*
 * Start the sender of the spool of this trace, or continue an existing sender that is about to end. 0 or -errno with a
 * cause chain.
 */
int wmk_server_sender_join(struct wmk_consumer_server *server, const struct wmk_consumerd_trace *is,
			   struct wmk_sender **sender);
/* Called when all traces of the spool are closed: the sender sends the rest and ends. */
void wmk_server_sender_leave(struct wmk_consumer_server *server, struct wmk_sender *sender);
/* Reply to the request SENDERS with the state of each sender. 0 or -errno with a cause chain. */
int wmk_server_senders_list(struct wmk_consumer_server *server, uint32_t request);
/* Free the senders that have ended. */
void wmk_server_senders_reap(struct wmk_consumer_server *server);
/*
 * Called at the end of the server: give each connected sender 2 s to send the rest, then stop the sender. Spools with
 * unsent data stay.
 */
void wmk_server_senders_stop(struct wmk_consumer_server *server);

#endif
