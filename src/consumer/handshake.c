/* SPDX-License-Identifier: MIT */
/*
 * handshake.c - see handshake.h.
 *
 * Any process of this user can connect, but a new connection must not disturb the connected session daemon. Only a
 * process that sends the greeting of a session daemon replaces the connected session daemon.
 */
#include "consumer/handshake.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "consumer/server_state.h"

#define HANDSHAKE_MS 5000
#define HELLO_BYTES_MAX 1024u

static void drop(struct wmk_consumer_server *server, unsigned i)
{
	struct wmk_server_handshake *handshake = &server->handshakes[i];

	if (handshake->connection >= 0)
		close(handshake->connection);
	wmk_consumerd_in_free(&handshake->in);
	memmove(handshake, handshake + 1, (--server->n_handshakes - i) * sizeof(*handshake));
}

void wmk_server_handshakes_close(struct wmk_consumer_server *server)
{
	while (server->n_handshakes)
		drop(server, server->n_handshakes - 1);
}

void wmk_server_handshake_add(struct wmk_consumer_server *server, int connection)
{
	/* the oldest connection has had the most time to send its greeting */
	if (server->n_handshakes == WMK_SERVER_HANDSHAKES_MAX)
		drop(server, 0);
	server->handshakes[server->n_handshakes++] =
		(struct wmk_server_handshake){ .connection = connection, .until = wmk_clock_ms() + HANDSHAKE_MS };
}

int wmk_server_handshakes_poll(const struct wmk_consumer_server *server, struct pollfd *fds)
{
	int64_t left = -1;

	for (unsigned i = 0; i < server->n_handshakes; i++)
		fds[i] = (struct pollfd){ .fd = server->handshakes[i].connection, .events = POLLIN };
	/* sorted by age: the first one has the earliest deadline */
	if (server->n_handshakes) {
		left = server->handshakes[0].until - wmk_clock_ms();
		left = left < 0 ? 0 : left;
	}
	return (int)left;
}

/* 1: it is a session daemon; 0: not known yet; -errno: it is not. */
static int receive(struct wmk_server_handshake *handshake)
{
	struct wmk_arena arena = { 0 };
	struct wmk_consumerd_hello hello;
	struct wmk_frame frame;
	const void *body;
	int fd, err, got = wmk_in_receive(&handshake->in.frames, handshake->connection);

	if (got == -EAGAIN)
		return 0;
	if (got < 0)
		return got;
	err = wmk_in_frame(&handshake->in.frames, &frame, &body, &fd);
	if (err == 0)
		return got == 0 || handshake->in.frames.len > HELLO_BYTES_MAX ? -EPIPE : 0;
	if (err == 1 && fd >= 0)
		close(fd);
	if (err < 0 || frame.type != WMK_CONSUMERD_HELLO || fd >= 0)
		return -EPROTO;
	err = wmk_object_decode(&wmk_consumerd_hello_object, body, frame.length, &hello, &arena);
	if (err >= 0)
		err = strcmp(hello.version, WMK_CONSUMERD_GREETING) == 0 ? 1 : -EPROTO;
	wmk_arena_free(&arena);
	return err;
}

bool wmk_server_handshakes_receive(struct wmk_consumer_server *server, const struct pollfd *fds, unsigned n,
			      struct wmk_server_handshake *daemon, unsigned *refused)
{
	const int64_t now = wmk_clock_ms();

	*refused = 0;
	/* backwards: drop() moves only connections that have been checked */
	for (unsigned i = n; i-- > 0;) {
		struct wmk_server_handshake *handshake = &server->handshakes[i];
		int rc = fds[i].revents ? receive(handshake) : 0;

		wmk_error_clear();
		if (rc > 0) {
			*daemon = *handshake;
			*handshake = (struct wmk_server_handshake){ .connection = -1 };
			drop(server, i);
			return true;
		}
		if (rc < 0 || now >= handshake->until) {
			++*refused;
			drop(server, i);
		}
	}
	return false;
}
