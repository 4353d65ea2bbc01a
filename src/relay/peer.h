/* SPDX-License-Identifier: MIT */
/*
 * peer.h - a connection of the relay, in a thread of its own: link, messages, ingest, and the times of its commits.
 *
 * The thread needs at most 256 kB, besides a message that must be whole in memory (docs/relay.md).
 */
#ifndef WMK_RELAY_PEER_H
#define WMK_RELAY_PEER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "net/tls.h"
#include "relay/ingest.h"

#define WMK_PEER_HELLO_MS 5000       /* for TLS and HELLO */

/* What the connections of a server share. */
struct wmk_peers {
	struct wmk_ingest_relay relay;
	struct wmk_tls *tls;                 /* NULL: none */
	void (*log)(const char *text);
	pthread_mutex_t lock;
	pthread_cond_t ended;
	struct wmk_relay_peer *first;
	unsigned n, n_greeting;              /* connections, and those of them without a complete HELLO */
	_Atomic unsigned certificates;       /* raised when a certificate was revoked: relaxed, as threads look often */
};

/* Start the thread of a connected socket, which it then owns. -errno: the socket is closed. */
int wmk_peer_start(struct wmk_peers *peers, int socket, bool tls);
/* End all connections and wait for their threads. */
void wmk_peers_end(struct wmk_peers *peers);

#endif
