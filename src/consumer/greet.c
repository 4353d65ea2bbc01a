/* SPDX-License-Identifier: MIT */
/*
 * greet.c - connections to waymark-consumerd's socket that have not greeted yet.
 *
 *     accept ──► wait for HELLO ──┬─ HELLO of a session daemon ──► replaces the connection that is served
 *                                 └─ anything else, its end, or 5 s without it ──► closed, without an answer
 *
 * Any process of this user can connect. What it sends must not disturb the session daemon that is served: that one is
 * replaced only by a process that greets as a session daemon does.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "consumer/server_inside.h"

#define GREET_MS 5000
#define GREETING_BYTES_MAX 1024u

static void drop(struct wmk_consumer_server *server, unsigned i)
{
	struct wmk_server_greeter *greeter = &server->greeters[i];

	if (greeter->connection >= 0)
		close(greeter->connection);
	wmk_consumerd_in_free(&greeter->in);
	memmove(greeter, greeter + 1, (--server->n_greeters - i) * sizeof(*greeter));
}

void wmk_server_greeters_drop(struct wmk_consumer_server *server)
{
	while (server->n_greeters)
		drop(server, server->n_greeters - 1);
}

void wmk_server_greeter_add(struct wmk_consumer_server *server, int connection)
{
	/* the oldest one has had the most time */
	if (server->n_greeters == WMK_SERVER_GREETERS_MAX)
		drop(server, 0);
	server->greeters[server->n_greeters++] =
		(struct wmk_server_greeter){ .connection = connection, .until = wmk_clock_ms() + GREET_MS };
}

int wmk_server_greeters_poll(const struct wmk_consumer_server *server, struct pollfd *fds)
{
	int64_t left = -1;

	for (unsigned i = 0; i < server->n_greeters; i++)
		fds[i] = (struct pollfd){ .fd = server->greeters[i].connection, .events = POLLIN };
	/* in the order in which they came */
	if (server->n_greeters) {
		left = server->greeters[0].until - wmk_clock_ms();
		left = left < 0 ? 0 : left;
	}
	return (int)left;
}

/* 1: it is a session daemon; 0: not known yet; -errno: it is not. */
static int hear(struct wmk_server_greeter *greeter)
{
	struct wmk_arena arena = { 0 };
	struct wmk_consumerd_hello hello;
	struct wmk_frame frame;
	const void *body;
	int fd, err, got = wmk_in_receive(&greeter->in.frames, greeter->connection);

	if (got == -EAGAIN)
		return 0;
	if (got < 0)
		return got;
	err = wmk_in_frame(&greeter->in.frames, &frame, &body, &fd);
	if (err == 0)
		return got == 0 || greeter->in.frames.len > GREETING_BYTES_MAX ? -EPIPE : 0;
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

bool wmk_server_greeters_hear(struct wmk_consumer_server *server, const struct pollfd *fds, unsigned n,
			      struct wmk_server_greeter *daemon, unsigned *refused)
{
	const int64_t now = wmk_clock_ms();

	*refused = 0;
	/* backwards: those that go do not move those that are still to be looked at */
	for (unsigned i = n; i-- > 0;) {
		struct wmk_server_greeter *greeter = &server->greeters[i];
		int rc = fds[i].revents ? hear(greeter) : 0;

		wmk_error_clear();
		if (rc > 0) {
			*daemon = *greeter;
			*greeter = (struct wmk_server_greeter){ .connection = -1 };
			drop(server, i);
			return true;
		}
		if (rc < 0 || now >= greeter->until) {
			++*refused;
			drop(server, i);
		}
	}
	return false;
}
