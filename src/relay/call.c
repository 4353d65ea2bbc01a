/* SPDX-License-Identifier: MIT */
/* call.c - a client of the relay that waits for each reply (see call.h). */
#include "relay/call.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/error.h"

#define WAIT_MS 5000                 /* longest wait for one message of the relay */

static int await(const struct wmk_relay_call *call)
{
	struct pollfd poller = { .fd = wmk_link_socket(call->link), .events = wmk_link_events(call->link) };

	return poll(&poller, 1, WAIT_MS) == 1 ? 0 : wmk_error(-ETIMEDOUT, "the relay does not answer");
}

static int send_message(struct wmk_relay_call *call, uint16_t type, const struct wmk_object *is, const void *object)
{
	struct wmk_relay_frame frame = { .type = type, .number = ++call->number };
	int err = wmk_relay_out_message(&call->out, &frame, is, object);

	while (err == 0 && (err = wmk_relay_out_send(&call->out, call->link)) == 0)
		err = await(call);
	return err < 0 ? err : 0;
}

static int refused(const struct wmk_relay_frame *frame, const uint8_t *body)
{
	struct wmk_arena arena = { 0 };
	struct wmk_relay_error error;
	int err = wmk_object_decode(&wmk_relay_error_object, body, frame->length, &error, &arena);

	if (err == 0)
		err = wmk_error(error.err > 0 && error.err < 4096 ? -(int)error.err : -EPROTO, "the relay refused the "
				"request: %s", error.text);
	wmk_arena_free(&arena);
	return err;
}

/* Receive a message of the given type, and decode its object. */
static int receive(struct wmk_relay_call *call, uint16_t type, const struct wmk_object *is, void *object,
		   struct wmk_arena *arena)
{
	struct wmk_relay_frame frame;
	uint8_t *body;
	int got;

	while ((got = wmk_relay_in_message(&call->in, &frame, &body)) == 0) {
		got = wmk_relay_in_receive(&call->in, call->link);
		if (got == -EAGAIN)
			got = await(call);
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

int wmk_relay_call_begin(struct wmk_relay_call *call, int socket, struct wmk_tls *tls, const char *server)
{
	const struct wmk_relay_hello own = { .greeting = WMK_RELAY_SENDER, .version = "", .host = "" };
	struct wmk_relay_hello hello;
	struct wmk_arena arena = { 0 };
	int err;

	memset(call, 0, sizeof(*call));
	err = wmk_link_open(socket, tls, server, &call->link);
	if (err < 0) {
		call->link = NULL;
		return err;
	}
	while ((err = wmk_link_handshake(call->link)) == -EAGAIN)
		if ((err = await(call)) < 0)
			break;
	if (err == 0)
		err = receive(call, WMK_RELAY_HELLO, &wmk_relay_hello_object, &hello, &arena);
	if (err == 0 && strcmp(hello.greeting, WMK_RELAY_GREETING) != 0)
		err = wmk_error(-EPROTO, "the greeting is \"%s\", not that of a relay", hello.greeting);
	wmk_arena_free(&arena);
	return err < 0 ? err : send_message(call, WMK_RELAY_HELLO, &wmk_relay_hello_object, &own);
}

int wmk_relay_call(struct wmk_relay_call *call, uint16_t type, const void *request, void *reply,
		   struct wmk_arena *arena)
{
	const struct wmk_request_type *is = wmk_relay_request_find(type);
	int err = send_message(call, type, is->request, request);

	if (err == 0)
		err = receive(call, WMK_RELAY_REPLY, is->reply, reply, arena);
	wmk_relay_in_idle(&call->in);
	return err;
}

void wmk_relay_call_end(struct wmk_relay_call *call)
{
	wmk_link_close(call->link);
	wmk_relay_in_free(&call->in);
	wmk_relay_out_free(&call->out);
}
