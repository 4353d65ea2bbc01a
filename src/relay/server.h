/* SPDX-License-Identifier: MIT */
/*
 * server.h - the relay: listens on addresses, and has a thread for each connection (relay/peer.h).
 *
 *     accept ──► thread: link ──► messages ──► ingest ──► files
 *
 * The server uses plain TCP on loopback addresses, and TLS on all other addresses (net/tls.h).
 */
#ifndef WMK_RELAY_SERVER_H
#define WMK_RELAY_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relay/relay_conf.h"

#define WMK_RELAY_LISTEN_MAX 8u

struct wmk_relay_server_options {
	const char *const *listen;           /* ADDR:PORT or [ADDR]:PORT; port 0: any free port */
	size_t n_listen;                     /* from 1 to WMK_RELAY_LISTEN_MAX */
	const char *output;                  /* the directory that contains the directories of all hosts */
	const char *certificates;            /* the directory of the relay's certificates (net/certificates.h) */
	bool tls;                            /* use TLS on loopback addresses, too */
	const struct wmk_relay_conf *conf;   /* must outlive the server */
	const char *version;
	void (*log)(const char *text);
};

struct sockaddr;
#define WMK_RELAY_ADDRESS_MAX 64u
/*
 * Split ADDR:PORT into address and port; the brackets of an IPv6 address are removed. 0 or -EINVAL without a cause
 * chain.
 */
int wmk_relay_address_split(const char *text, char address[WMK_RELAY_ADDRESS_MAX], const char **port);
bool wmk_relay_address_is_loopback(const struct sockaddr *address);

struct wmk_relay_server;
/* Listen on all addresses. -EACCES: an address needs certificates. -EADDRINUSE, -errno with a cause chain. */
int wmk_relay_server_open(const struct wmk_relay_server_options *options, struct wmk_relay_server **server);
/* Return the port of the listening address with index `i`. */
uint16_t wmk_relay_server_port(const struct wmk_relay_server *server, size_t i);
/* Serve until wmk_relay_server_stop(). 0 or -errno. */
int wmk_relay_server_run(struct wmk_relay_server *server);
/* Async-signal-safe. */
void wmk_relay_server_stop(struct wmk_relay_server *server);
/* Close the server. Ends all connections. */
void wmk_relay_server_close(struct wmk_relay_server *server);

#endif
