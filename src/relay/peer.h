/* SPDX-License-Identifier: MIT */
/*
 * peer.h - a connection of the relay, in a thread of its own: link, messages, ingest, and the times of its commits.
 *
 * The thread needs at most 256 kB, plus the memory of a message that must be held completely (docs/relay.md).
 */
#ifndef WMK_RELAY_PEER_H
#define WMK_RELAY_PEER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "net/tls.h"
#include "relay/ingest.h"

#define WMK_PEER_HELLO_MS 5000       /* for the TLS handshake and HELLO */

/* The state that all connections of a server share. */
struct wmk_peers {
	struct wmk_ingest_relay relay;
	struct wmk_tls *tls;                 /* NULL: none */
	void (*log)(const char *text);
	pthread_mutex_t lock;
	pthread_cond_t ended;
	struct wmk_relay_peer *first;
	unsigned n, n_greeting;              /* number of connections; number of connections without a complete HELLO */
	/* raised when a certificate was revoked; relaxed, because each thread checks it periodically */
	_Atomic unsigned certificates;
};

/* Start a thread for a connected socket. The thread owns the socket. -errno: the socket is closed. */
int wmk_peer_start(struct wmk_peers *peers, int socket, bool tls);
/* End all connections, and wait until the threads of the connections have ended. */
void wmk_peers_end(struct wmk_peers *peers);

#endif
