/* SPDX-License-Identifier: MIT */
/*
 * connection.c - messages to the connected session daemon, and to the log.
 */
#include "consumer/connection.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"

void wmk_server_log(struct wmk_consumer_server *server, const char *format, ...)
{
	char words[600];
	va_list args;

	if (!server->options.log)
		return;
	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	server->options.log(words);
}

void wmk_server_wake(struct wmk_consumer_server *server)
{
	const uint64_t one = 1;

	/* EAGAIN: the eventfd's counter is at its maximum, so the descriptor is readable already. */
	if (write(server->wake, &one, sizeof(one)) < 0)
		return;
}

/* End the connection if a message could not be queued, or if the session daemon has stopped reading. */
static void queue_or_disconnect(struct wmk_consumer_server *server, int err)
{
	char words[300];

	if (err >= 0 && wmk_out_queued(&server->out) <= WMK_SERVER_QUEUE_MAX)
		return;
	wmk_server_log(server, "closing the connection of the session daemon: %s",
		       err < 0 ? wmk_error_text(words, sizeof(words)) : "it does not read");
	wmk_error_clear();
	/*
	 * The loop of the server closes the connection later, because callers of this function still use the message.
	 */
	shutdown(server->connection, SHUT_RDWR);
}

void wmk_server_reply(struct wmk_consumer_server *server, uint64_t connection, uint32_t request,
		      const struct wmk_object *is, const void *object)
{
	if (server->connection < 0 || connection != server->connections)
		return;
	queue_or_disconnect(server, wmk_consumerd_send(&server->out, WMK_CONSUMERD_REPLY, request, is, object, -1));
}

void wmk_server_refuse(struct wmk_consumer_server *server, uint64_t connection, uint32_t request, int err,
		       const char *words)
{
	if (server->connection < 0 || connection != server->connections)
		return;
	queue_or_disconnect(server,
			    wmk_out_error(&server->out, (enum wmk_msg)WMK_CONSUMERD_ERROR, request, err, words));
}

bool wmk_server_send(struct wmk_consumer_server *server, uint16_t type, const struct wmk_object *is, const void *object)
{
	if (server->connection < 0)
		return false;
	queue_or_disconnect(server, wmk_consumerd_send(&server->out, type, 0, is, object, -1));
	return true;
}

void wmk_server_reply_done(struct wmk_consumer_server *server, uint64_t connection, uint32_t request)
{
	static const struct wmk_empty nothing;

	wmk_server_reply(server, connection, request, &wmk_empty_object, &nothing);
}
