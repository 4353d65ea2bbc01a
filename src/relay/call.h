/* SPDX-License-Identifier: MIT */
/* call.h - a client of the relay that sends requests and waits for each reply. Errors have a cause chain. */
#ifndef WMK_RELAY_CALL_H
#define WMK_RELAY_CALL_H

#include "relay/messages.h"

struct wmk_tls;

struct wmk_relay_call {
	struct wmk_link *link;
	struct wmk_relay_in in;
	struct wmk_relay_out out;
	uint32_t number;
};

/*
 * Take ownership of the connected socket, and exchange HELLO messages. `tls`, `server`: as in wmk_link_open(). 0 or
 * -errno. Call wmk_relay_call_end() in both cases.
 */
int wmk_relay_call_begin(struct wmk_relay_call *call, int socket, struct wmk_tls *tls, const char *server);
/* Send a request, and decode the reply into *reply and the arena. 0; -errno, also if the relay replies an error. */
int wmk_relay_call(struct wmk_relay_call *call, uint16_t type, const void *request, void *reply,
		   struct wmk_arena *arena);
void wmk_relay_call_end(struct wmk_relay_call *call);

#endif
