/* SPDX-License-Identifier: MIT */
/*
 * handshake.h - connections to waymark-consumerd's socket that have not sent HELLO yet.
 *
 *     accept ──► wait for HELLO ──┬─ HELLO of a session daemon ──► replaces the connection that is served
 *                                 └─ anything else, its end, or 5 s without HELLO ──► closed, without an answer
 */
#ifndef WMK_CONSUMER_HANDSHAKE_H
#define WMK_CONSUMER_HANDSHAKE_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/consumerd.h"

#define WMK_SERVER_HANDSHAKES_MAX 8u

struct wmk_consumer_server;

struct wmk_server_handshake {
	int connection;
	int64_t until;                   /* ms */
	struct wmk_consumerd_in in;
};

/*
 * Add a new connection of this user. If the user has too many connections, the function closes the oldest connection.
 */
void wmk_server_handshake_add(struct wmk_consumer_server *server, int connection);
/* Fill server->n_handshakes elements of `fds` for poll(). Returns the time limit of poll() in ms; -1: no limit. */
int wmk_server_handshakes_poll(const struct wmk_consumer_server *server, struct pollfd *fds);
/*
 * Read from the first `n` connections in `fds`. Returns true if one connection is from a session daemon: the caller
 * then owns *daemon, and daemon->in has the data that followed the HELLO message. *refused: number of connections that
 * were closed.
 */
bool wmk_server_handshakes_receive(struct wmk_consumer_server *server, const struct pollfd *fds, unsigned n,
				   struct wmk_server_handshake *daemon, unsigned *refused);
void wmk_server_handshakes_close(struct wmk_consumer_server *server);

#endif
