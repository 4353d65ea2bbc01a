/* SPDX-License-Identifier: MIT */
/*
 * connection.h - messages to the connected session daemon, and to the log. All functions of this header belong to the
 * server's thread, unless stated otherwise.
 */
#ifndef WMK_CONSUMER_CONNECTION_H
#define WMK_CONSUMER_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "consumer/server_state.h"

/* Pass a message to `options.log`. Any thread. */
void wmk_server_log(struct wmk_consumer_server *server, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Wake the server's thread. Any thread; async-signal-safe. */
void wmk_server_wake(struct wmk_consumer_server *server);
/*
 * Answer a request of the connection with number `connection`. If the connection has ended, the function does nothing.
 */
void wmk_server_reply(struct wmk_consumer_server *server, uint64_t connection, uint32_t request,
		      const struct wmk_object *is, const void *object);
void wmk_server_refuse(struct wmk_consumer_server *server, uint64_t connection, uint32_t request, int err,
		       const char *words);
/* Reply with an empty object. */
void wmk_server_reply_done(struct wmk_consumer_server *server, uint64_t connection, uint32_t request);
/* Send a message that answers no request. Returns false if no session daemon is connected. */
bool wmk_server_send(struct wmk_consumer_server *server, uint16_t type, const struct wmk_object *is,
		     const void *object);

#endif
