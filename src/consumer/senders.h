/* SPDX-License-Identifier: MIT */
/*
 * senders.h - the senders (sender/sender.h) of a consumer daemon, one for each spool. A sender outlives the traces of
 * its session, until the relay has all of their data. All functions run in the server's thread.
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
/* Start the sender of the spool of this trace, or continue a sender that ends. 0 or -errno with a cause chain. */
int wmk_server_sender_join(struct wmk_consumer_server *server, const struct wmk_consumerd_trace *is,
			   struct wmk_sender **sender);
/* All traces of the spool are closed: the sender sends the rest and ends. */
void wmk_server_sender_leave(struct wmk_consumer_server *server, struct wmk_sender *sender);
/* Reply to SENDERS: the state of each sender. 0 or -errno with a cause chain. */
int wmk_server_senders_list(struct wmk_consumer_server *server, uint32_t request);
/* Free the senders that have ended. */
void wmk_server_senders_reap(struct wmk_consumer_server *server);
/* The server ends: give each connected sender 2 s to send the rest, and stop it. Spools with unsent data stay. */
void wmk_server_senders_stop(struct wmk_consumer_server *server);

#endif
