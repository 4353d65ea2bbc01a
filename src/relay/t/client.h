/* SPDX-License-Identifier: MIT */
/* client.h - a sender for tests: sends valid and invalid messages of the relay's protocol over a blocking socket. */
#ifndef WMK_RELAY_T_CLIENT_H
#define WMK_RELAY_T_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "wire/relay.h"

struct client {
	int fd;
	uint32_t number, epoch;              /* of the last message; of the next messages */
	uint32_t data, acknowledged;         /* number of the last data message; number in the latest ACK */
	/* the latest message of the relay that was not an ACK */
	struct wmk_relay_frame frame;
	uint8_t body[65536];
	char text[WMK_RELAY_MESSAGE_MAX + 1];        /* the text of an ERROR */
	struct wmk_arena arena;
};

/* Connect, and read the relay's first message: HELLO, or ERROR, which is returned as -errno. */
int client_connect(struct client *client, uint16_t port);
/* As client_connect(), then send HELLO for this host. */
void client_open(struct client *client, uint16_t port, const char *host);
void client_close(struct client *client);

/* Send bytes; a message with any body; a message with an object. */
void client_bytes(struct client *client, const void *bytes, size_t len);
void client_raw(struct client *client, uint16_t type, const void *body, size_t len);
void client_say(struct client *client, uint16_t type, const struct wmk_object *is, const void *object);
/* Read the next message, except ACK and FOLLOWED. 0: REPLY; -errno of an ERROR; -EPIPE: the end of the stream. */
int client_answer(struct client *client);
/* Send a request, read the answer, and decode the answer to `reply` (may be NULL). */
int client_request(struct client *client, uint16_t type, const void *object, void *reply);
/* Wait until all sent data is acknowledged. 0; -errno of an ERROR, or -EPIPE. */
int client_acknowledged(struct client *client);

/* Requests with usual values. The trace is `sub` in the session: ust/uid/1000/64-bit. */
int client_trace(struct client *client, const char *session, struct wmk_relay_trace_reply *reply);
int client_stream(struct client *client, uint32_t number, const char *name, struct wmk_relay_stream_reply *reply);
/* A packet with `content` bytes of 0xab. */
void client_packet(struct client *client, uint32_t stream, uint64_t sequence, uint64_t position, uint32_t content);
void client_metadata(struct client *client, uint64_t offset, int replace, const char *text);

#endif
