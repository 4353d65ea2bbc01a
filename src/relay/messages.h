/* SPDX-License-Identifier: MIT */
/*
 * messages.h - whole messages of the relay's protocol (wire/relay.h) over a link (net/link.h). Never blocks.
 *
 *     link ──wmk_relay_in_receive()──► wmk_relay_in ──wmk_relay_in_message()──► frame, body
 *     object ──wmk_relay_out_message()──► wmk_relay_out ──wmk_relay_out_send()──► link
 */
#ifndef WMK_RELAY_MESSAGES_H
#define WMK_RELAY_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "net/link.h"
#include "wire/relay.h"

#define WMK_RELAY_BUFFER 131072u     /* the size of the buffer that a connection keeps */

/* The messages that are queued for sending. Starts zeroed. */
struct wmk_relay_out {
	uint8_t *buf;
	size_t len, cap, sent;
};
/* Append a message. Sets frame->length. 0 or -errno with a cause chain. */
int wmk_relay_out_message(struct wmk_relay_out *out, struct wmk_relay_frame *frame, const struct wmk_object *is,
			  const void *object);
/* Send as many bytes as the link accepts. 1: all was sent; 0: more bytes wait; -errno with a cause chain. */
int wmk_relay_out_send(struct wmk_relay_out *out, struct wmk_link *link);
void wmk_relay_out_free(struct wmk_relay_out *out);
static inline size_t wmk_relay_out_queued(const struct wmk_relay_out *out)
{
	return out->len - out->sent;
}

/* Received bytes. Starts zeroed. */
struct wmk_relay_in {
	uint8_t *buf;
	size_t len, cap, next;
};
/*
 * Make space in the buffer for incoming bytes, and store the address and size of this space. The buffer grows with the
 * number of received bytes, regardless of the length in the message header. Invalidates bodies. 0; -ENOBUFS: take the
 * complete messages first; -ENOMEM.
 */
int wmk_relay_in_room(struct wmk_relay_in *in, uint8_t **room, size_t *size);
/* Receive once. Returns the number of received bytes; 0 at the end of the stream; -EAGAIN; or -errno. */
int wmk_relay_in_receive(struct wmk_relay_in *in, struct wmk_link *link);
/*
 * Take the next complete message. 1: *frame and *body are set. The header is stored directly before the body, and the
 * caller may overwrite the header and the body. 0: the message is incomplete; -errno of wmk_relay_frame_decode().
 */
int wmk_relay_in_message(struct wmk_relay_in *in, struct wmk_relay_frame *frame, uint8_t **body);
/*
 * Decode the header of the next message, without removing the message from the buffer. 1: *frame is set, and *body has
 * at least `n` bytes. 0: these bytes have not arrived, or the header is invalid.
 */
int wmk_relay_in_head(const struct wmk_relay_in *in, struct wmk_relay_frame *frame, uint8_t **body, size_t n);
/* If all messages were taken, free the buffer memory above WMK_RELAY_BUFFER. Called when a connection becomes idle. */
void wmk_relay_in_idle(struct wmk_relay_in *in);
void wmk_relay_in_free(struct wmk_relay_in *in);

#endif
