/* SPDX-License-Identifier: MIT */
/* status_query.c - a client of the relay that sends one request (see status_query.h). */
#include "relay/status_query.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "relay/messages.h"
#include "relay/server.h"

#define WAIT_MS 5000                 /* maximum time to wait for a message of the relay */

struct query {
	struct wmk_link *link;
	struct wmk_relay_in in;
	struct wmk_relay_out out;
};

static int dial(const char *at)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM };
	struct addrinfo *to = NULL;
	const char *port;
	char address[WMK_RELAY_ADDRESS_MAX];
	int fd, err;

	if (wmk_relay_address_split(at, address, &port) < 0 || getaddrinfo(address, port, &hints, &to) != 0)
		return wmk_error_said(-EINVAL, "invalid address '%.80s' of a relay: the form is ADDR:PORT, such as "
				      WMK_RELAY_STATUS_DEFAULT, at);
	if (!wmk_relay_address_is_loopback(to->ai_addr)) {
		freeaddrinfo(to);
		return wmk_error_said(-EINVAL, "cannot query the relay at %.80s: only loopback addresses give the "
				      "status", at);
	}
	fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	err = fd < 0 || connect(fd, to->ai_addr, to->ai_addrlen) < 0 ? -errno : 0;
	freeaddrinfo(to);
	if (err == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return wmk_error(err, "cannot connect to the relay at %.80s: %s", at, strerror(-err));
}

static int await(const struct query *query)
{
	struct pollfd poller = { .fd = wmk_link_socket(query->link), .events = wmk_link_events(query->link) };

	return poll(&poller, 1, WAIT_MS) == 1 ? 0 : wmk_error(-ETIMEDOUT, "the relay does not answer");
}

static int send_message(struct query *query, uint32_t number, uint16_t type, const struct wmk_object *is,
			const void *object)
{
	struct wmk_relay_frame frame = { .type = type, .number = number };
	int err = wmk_relay_out_message(&query->out, &frame, is, object);

	while (err == 0 && (err = wmk_relay_out_send(&query->out, query->link)) == 0)
		err = await(query);
	return err < 0 ? err : 0;
}

static int refused(const struct wmk_relay_frame *frame, const uint8_t *body)
{
	struct wmk_arena arena = { 0 };
	struct wmk_relay_error error;
	int err = wmk_object_decode(&wmk_relay_error_object, body, frame->length, &error, &arena);

	if (err == 0)
		err = wmk_error(error.err > 0 && error.err < 4096 ? -(int)error.err : -EPROTO,
				"the relay refused the request: %s", error.text);
	wmk_arena_free(&arena);
	return err;
}

/* Receive a message of this type, and decode its object. */
static int receive(struct query *query, uint16_t type, const struct wmk_object *is, void *object,
		   struct wmk_arena *arena)
{
	struct wmk_relay_frame frame;
	uint8_t *body;
	int got;

	while ((got = wmk_relay_in_message(&query->in, &frame, &body)) == 0) {
		got = wmk_relay_in_receive(&query->in, query->link);
		if (got == -EAGAIN)
			got = await(query);
		else if (got == 0)
			got = wmk_error(-EPIPE, "the relay has closed the connection");
		if (got < 0)
			return got;
	}
	if (got < 0)
		return got;
	if (frame.type == WMK_RELAY_ERROR)
		return refused(&frame, body);
	if (frame.type != type)
		return wmk_error(-EPROTO, "the relay sent a message of type 0x%x", frame.type);
	return wmk_object_decode(is, body, frame.length, object, arena);
}

static int ask(struct query *query, struct wmk_arena *arena, struct wmk_relay_status *status)
{
	const struct wmk_relay_hello own = { .greeting = WMK_RELAY_SENDER, .version = "", .host = "" };
	const struct wmk_empty none = { 0 };
	struct wmk_relay_hello hello;
	int err = receive(query, WMK_RELAY_HELLO, &wmk_relay_hello_object, &hello, arena);

	if (err == 0 && strcmp(hello.greeting, WMK_RELAY_GREETING) != 0)
		err = wmk_error(-EPROTO, "the greeting is \"%s\", not that of a relay", hello.greeting);
	if (err == 0)
		err = send_message(query, 1, WMK_RELAY_HELLO, &wmk_relay_hello_object, &own);
	if (err == 0)
		err = send_message(query, 2, WMK_RELAY_STATUS, &wmk_empty_object, &none);
	return err < 0 ? err : receive(query, WMK_RELAY_REPLY, &wmk_relay_status_object, status, arena);
}

int wmk_relay_status_query(const char *at, struct wmk_arena *arena, struct wmk_relay_status *status)
{
	struct query query = { 0 };
	const int fd = dial(at);
	int err = fd < 0 ? fd : wmk_link_open(fd, NULL, NULL, &query.link);

	if (err < 0)
		return err;
	err = ask(&query, arena, status);
	wmk_link_close(query.link);
	wmk_relay_in_free(&query.in);
	wmk_relay_out_free(&query.out);
	return err < 0 ? wmk_error_add(err, "cannot query the relay at %.80s", at) : 0;
}
