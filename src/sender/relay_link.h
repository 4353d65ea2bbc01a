/* SPDX-License-Identifier: MIT */
/*
 * relay_link.h - a connection to the relay (wire/relay.h). Functions wait for the relay, but only until its time limit,
 * or until *stop is set. After an error, close the connection. Errors are -errno with a cause chain.
 */
#ifndef WMK_SENDER_RELAY_LINK_H
#define WMK_SENDER_RELAY_LINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/relay.h"
#include "wire/relay_url.h"

struct wmk_relay_link;

/* Connect and exchange HELLO. `host`: the name of this machine for the relay. */
int wmk_relay_link_open(const struct wmk_relay_url *url, const char *host, const atomic_bool *stop,
			struct wmk_relay_link **link);
void wmk_relay_link_close(struct wmk_relay_link *link);
/* The socket, for poll(). */
int wmk_relay_link_socket(const struct wmk_relay_link *link);

/* The epoch of the following data and requests. */
void wmk_relay_link_set_epoch(struct wmk_relay_link *link, uint32_t epoch);
uint32_t wmk_relay_link_epoch(const struct wmk_relay_link *link);
/*
 * Send a request and wait for its reply, which is decoded to *reply. Its texts are valid until the next request.
 * An error of the relay is returned with the relay's sentence; the connection then stays usable.
 */
int wmk_relay_link_request(struct wmk_relay_link *link, uint16_t type, const void *object, void *reply);
/* Send a data frame other than PACKET. */
int wmk_relay_link_data(struct wmk_relay_link *link, uint16_t type, const void *object);
/* Send a packet. Its records begin at this offset of the file. */
int wmk_relay_link_packet(struct wmk_relay_link *link, uint32_t stream, const struct wmk_ctf_packet *packet, int file,
			  uint64_t offset);
/* Read what has arrived: acknowledgements, errors. Does not wait. */
int wmk_relay_link_receive(struct wmk_relay_link *link);
/* Numbers of the last frame that was sent, and of the last data that the relay has on its disk. */
uint32_t wmk_relay_link_sent(const struct wmk_relay_link *link);
uint32_t wmk_relay_link_acknowledged(const struct wmk_relay_link *link);
/* True if a live reader reads the trace at the relay. */
bool wmk_relay_link_is_followed(const struct wmk_relay_link *link);

#endif
