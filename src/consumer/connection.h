/* SPDX-License-Identifier: MIT */
/*
 * connection.h - messages to the session daemon that is connected, and to the log. The server's
 * thread, except where said.
 */
#ifndef WMK_CONSUMER_CONNECTION_H
#define WMK_CONSUMER_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "consumer/server_state.h"

/* To `options.log`. Any thread. */
void wmk_server_log(struct wmk_consumer_server *server, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Makes the server's loop run. Any thread; async-signal-safe. */
void wmk_server_wake(struct wmk_consumer_server *server);
/* Answer a request of connection number `connection`; nothing if that one has ended. */
void wmk_server_reply(struct wmk_consumer_server *server, uint64_t connection, uint32_t request,
		      const struct wmk_object *is, const void *object);
void wmk_server_refuse(struct wmk_consumer_server *server, uint64_t connection, uint32_t request, int err,
		       const char *words);
/* The request is done, and has no other answer. */
void wmk_server_reply_done(struct wmk_consumer_server *server, uint64_t connection, uint32_t request);
/* A message that answers no request; false: no session daemon is connected. */
bool wmk_server_send(struct wmk_consumer_server *server, uint16_t type, const struct wmk_object *is,
		     const void *object);

#endif
