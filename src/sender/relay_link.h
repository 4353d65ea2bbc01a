/* SPDX-License-Identifier: MIT */
/*
 * relay_link.h - a connection to the relay (wire/relay.h). A function that waits for the relay returns if the relay
 * sends nothing for 30 s, or if *stop is set. After an error, the caller must close the connection. Errors are -errno
 * with a cause chain.
 */
#ifndef WMK_SENDER_RELAY_LINK_H
#define WMK_SENDER_RELAY_LINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/relay.h"
#include "wire/relay_url.h"

struct wmk_relay_link;

/* Connect and exchange HELLO. `host` is the name of this machine at the relay (HOST). */
int wmk_relay_link_open(const struct wmk_relay_url *url, const char *host, const atomic_bool *stop,
			struct wmk_relay_link **link);
void wmk_relay_link_close(struct wmk_relay_link *link);
/* The socket, for poll(). */
int wmk_relay_link_socket(const struct wmk_relay_link *link);

/* Set the epoch of all data and requests that are sent later. */
void wmk_relay_link_set_epoch(struct wmk_relay_link *link, uint32_t epoch);
uint32_t wmk_relay_link_epoch(const struct wmk_relay_link *link);
/*
 * Send a request, wait for the reply, and decode the reply into *reply. Strings in *reply are valid until the next
 * request. If the relay answers with an error, the function returns this error with the relay's message. The connection
 * remains usable after an error that the relay has sent.
 */
int wmk_relay_link_request(struct wmk_relay_link *link, uint16_t type, const void *object, void *reply);
/* Send a data frame of a type other than PACKET. */
int wmk_relay_link_data(struct wmk_relay_link *link, uint16_t type, const void *object);
/* Send a packet. The records of the packet begin at `offset` in `file`. */
int wmk_relay_link_packet(struct wmk_relay_link *link, uint32_t stream, const struct wmk_ctf_packet *packet, int file,
			  uint64_t offset);
/* Wait until the relay has acknowledged all sent data. */
int wmk_relay_link_settle(struct wmk_relay_link *link);
/* Read the messages that have arrived, which are acknowledgements and errors. Does not wait. */
int wmk_relay_link_receive(struct wmk_relay_link *link);
/*
 * wmk_relay_link_sent() returns the number of the last frame that was sent. wmk_relay_link_acknowledged() returns the
 * number of the last frame that the relay has acknowledged.
 */
uint32_t wmk_relay_link_sent(const struct wmk_relay_link *link);
uint32_t wmk_relay_link_acknowledged(const struct wmk_relay_link *link);
/* True if a live reader at the relay reads the trace. */
bool wmk_relay_link_is_followed(const struct wmk_relay_link *link);

#endif
