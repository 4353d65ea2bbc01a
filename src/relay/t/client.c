/* SPDX-License-Identifier: MIT */
/* client.c - a sender for tests (see client.h). */
#include "relay/t/client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"

static int read_whole(int fd, void *bytes, size_t len)
{
	for (size_t at = 0; at < len;) {
		const ssize_t n = recv(fd, (uint8_t *)bytes + at, len - at, 0);

		if (n <= 0)
			return -EPIPE;
		at += (size_t)n;
	}
	return 0;
}

/* Read one message. */
static int receive(struct client *client)
{
	uint8_t head[WMK_RELAY_HEAD];
	struct wmk_relay_error error;

	if (read_whole(client->fd, head, sizeof(head)) < 0)
		return -EPIPE;
	assert_int_equal(wmk_relay_frame_decode(head, &client->frame), 0);
	assert_in_range(client->frame.length, 0, sizeof(client->body));
	if (read_whole(client->fd, client->body, client->frame.length) < 0)
		return -EPIPE;
	if (client->frame.type == WMK_RELAY_ACK)
		client->acknowledged = client->frame.number;
	if (client->frame.type != WMK_RELAY_ERROR)
		return 0;
	assert_int_equal(wmk_object_decode(&wmk_relay_error_object, client->body, client->frame.length, &error,
					   &client->arena), 0);
	strncpy(client->text, error.text, sizeof(client->text) - 1);
	assert_true(error.err > 0 && error.text[0]);
	return -(int)error.err;
}

int client_answer(struct client *client)
{
	int err;

	do {
		err = receive(client);
	} while (err == 0 && (client->frame.type == WMK_RELAY_ACK || client->frame.type == WMK_RELAY_FOLLOWED));
	return err;
}

int client_acknowledged(struct client *client)
{
	int err = 0;

	while (err == 0 && client->acknowledged < client->data)
		err = receive(client);
	return err;
}

int client_connect(struct client *client, uint16_t port)
{
	const struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct timeval limit = { .tv_sec = 30 };

	memset(client, 0, sizeof(*client));
	client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(client->fd >= 0);
	setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	assert_int_equal(connect(client->fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	return receive(client);
}

void client_open(struct client *client, uint16_t port, const char *host)
{
	const struct wmk_relay_hello hello = { .greeting = WMK_RELAY_SENDER, .version = "test", .host = host };

	assert_int_equal(client_connect(client, port), 0);
	assert_int_equal(client->frame.type, WMK_RELAY_HELLO);
	client_say(client, WMK_RELAY_HELLO, &wmk_relay_hello_object, &hello);
}

void client_close(struct client *client)
{
	close(client->fd);
	wmk_arena_free(&client->arena);
}

void client_bytes(struct client *client, const void *bytes, size_t len)
{
	/* The relay may have refused the connection already. */
	if (send(client->fd, bytes, len, MSG_NOSIGNAL) < 0)
		return;
}

void client_raw(struct client *client, uint16_t type, const void *body, size_t len)
{
	const struct wmk_relay_frame frame = { .type = type, .number = ++client->number, .epoch = client->epoch,
					       .length = (uint32_t)len };
	uint8_t head[WMK_RELAY_HEAD];

	if (type == WMK_RELAY_PACKET || wmk_relay_data_object(type))
		client->data = client->number;
	wmk_relay_frame_encode(head, &frame);
	client_bytes(client, head, sizeof(head));
	if (len)
		client_bytes(client, body, len);
}

void client_say(struct client *client, uint16_t type, const struct wmk_object *is, const void *object)
{
	uint8_t *bytes;
	const long len = wmk_object_encode(is, object, &bytes);

	assert_true(len >= 0);
	client_raw(client, type, bytes, (size_t)len);
	free(bytes);
}

int client_request(struct client *client, uint16_t type, const void *object, void *reply)
{
	const struct wmk_request_type *is = wmk_relay_request_find(type);
	int err;

	client_say(client, type, is->request, object);
	err = client_answer(client);
	if (err < 0)
		return err;
	assert_int_equal(client->frame.type, WMK_RELAY_REPLY);
	assert_int_equal(client->frame.number, client->number);
	if (reply)
		assert_int_equal(wmk_object_decode(is->reply, client->body, client->frame.length, reply,
						   &client->arena), 0);
	return 0;
}

int client_trace(struct client *client, const char *session, struct wmk_relay_trace_reply *reply)
{
	struct wmk_relay_trace_reply own;
	const struct wmk_relay_trace trace = { .session = session, .sub = "ust/uid/1000/64-bit",
					       .mode = WMK_RELAY_UNSURE, .byte_positions = true,
					       .uuid = { 1, 2, 3 } };

	return client_request(client, WMK_RELAY_TRACE, &trace, reply ? reply : &own);
}

int client_stream(struct client *client, uint32_t number, const char *name, struct wmk_relay_stream_reply *reply)
{
	struct wmk_relay_stream_reply own;
	const struct wmk_relay_stream stream = { .stream = number, .name = name, .create = true, .chunk = "" };

	return client_request(client, WMK_RELAY_STREAM, &stream, reply ? reply : &own);
}

void client_packet(struct client *client, uint32_t stream, uint64_t sequence, uint64_t position, uint32_t content)
{
	const struct wmk_relay_packet packet = {
		.stream = stream,
		.packet = { .begin_ts = 1000 + sequence, .end_ts = 2000 + sequence, .content = content,
			    .sequence = sequence, .ring_position = position },
	};
	uint8_t *body = malloc(WMK_RELAY_PACKET_HEAD + content);

	assert_non_null(body);
	wmk_relay_packet_encode(body, &packet);
	memset(body + WMK_RELAY_PACKET_HEAD, 0xab, content);
	client_raw(client, WMK_RELAY_PACKET, body, WMK_RELAY_PACKET_HEAD + content);
	free(body);
}

void client_metadata(struct client *client, uint64_t offset, int replace, const char *text)
{
	const struct wmk_relay_metadata metadata = { .offset = offset, .replace = replace != 0, .text = text };

	client_say(client, WMK_RELAY_METADATA, &wmk_relay_metadata_object, &metadata);
}
