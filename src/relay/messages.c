/* SPDX-License-Identifier: MIT */
/* messages.c - the buffers of a connection to the relay (see messages.h). */
#include "relay/messages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* ── output ──────────────────────────────────────────────────────────────────────────────────────────── */

static int out_bytes(struct wmk_relay_out *out, const void *bytes, size_t len)
{
	size_t cap = out->cap ? out->cap : 4096;
	uint8_t *grown;

	if (out->sent) {
		memmove(out->buf, out->buf + out->sent, out->len - out->sent);
		out->len -= out->sent;
		out->sent = 0;
	}
	while (cap - out->len < len)
		cap *= 2;
	if (cap != out->cap) {
		grown = realloc(out->buf, cap);
		if (!grown)
			return wmk_error(-ENOMEM, "no memory for a message");
		out->buf = grown;
		out->cap = cap;
	}
	memcpy(out->buf + out->len, bytes, len);
	out->len += len;
	return 0;
}

int wmk_relay_out_message(struct wmk_relay_out *out, struct wmk_relay_frame *frame, const struct wmk_object *is,
			  const void *object)
{
	uint8_t *bytes;
	const long len = wmk_relay_message_encode(frame, is, object, &bytes);
	int err;

	if (len < 0)
		return (int)len;
	err = out_bytes(out, bytes, (size_t)len);
	free(bytes);
	return err;
}

int wmk_relay_out_send(struct wmk_relay_out *out, struct wmk_link *link)
{
	while (out->sent < out->len) {
		const ssize_t n = wmk_link_write(link, out->buf + out->sent, out->len - out->sent);

		if (n <= 0)
			return n == -EAGAIN ? 0 : n == 0 ? wmk_error(-EPIPE, "the peer has ended the stream") : (int)n;
		out->sent += (size_t)n;
	}
	out->len = out->sent = 0;
	if (out->cap > WMK_RELAY_BUFFER)
		wmk_relay_out_free(out);
	return 1;
}

void wmk_relay_out_free(struct wmk_relay_out *out)
{
	free(out->buf);
	memset(out, 0, sizeof(*out));
}

/* ── input ───────────────────────────────────────────────────────────────────────────────────────────── */

/* Return the required buffer size for the current message: at most twice the number of received bytes. */
static size_t wanted(const struct wmk_relay_in *in)
{
	size_t want = WMK_RELAY_BUFFER;
	struct wmk_relay_frame frame;

	if (in->len < WMK_RELAY_HEAD)
		return want;
	memcpy(&frame, in->buf, sizeof(frame));
	if (WMK_RELAY_HEAD + (size_t)frame.length > want)
		want = WMK_RELAY_HEAD + (size_t)frame.length;
	if (want > WMK_RELAY_BUFFER && want > 2 * in->len)
		want = 2 * in->len > WMK_RELAY_BUFFER ? 2 * in->len : WMK_RELAY_BUFFER;
	return want;
}

int wmk_relay_in_room(struct wmk_relay_in *in, uint8_t **room, size_t *size)
{
	if (in->next) {
		memmove(in->buf, in->buf + in->next, in->len - in->next);
		in->len -= in->next;
		in->next = 0;
	}
	const size_t want = wanted(in);

	if (want > in->cap) {
		uint8_t *grown = realloc(in->buf, want);

		if (!grown)
			return wmk_error(-ENOMEM, "no memory for a message");
		in->buf = grown;
		in->cap = want;
	}
	if (in->len == in->cap)
		return -ENOBUFS;
	*room = in->buf + in->len;
	*size = in->cap - in->len;
	return 0;
}

int wmk_relay_in_receive(struct wmk_relay_in *in, struct wmk_link *link)
{
	uint8_t *room = NULL;
	size_t size = 0;
	int err = wmk_relay_in_room(in, &room, &size);
	ssize_t n;

	if (err < 0)
		return err;
	n = wmk_link_read(link, room, size);
	if (n < 0)
		return (int)n;
	in->len += (size_t)n;
	return (int)n;
}

int wmk_relay_in_message(struct wmk_relay_in *in, struct wmk_relay_frame *frame, uint8_t **body)
{
	const size_t have = in->len - in->next;
	int err;

	if (have < WMK_RELAY_HEAD)
		return 0;
	err = wmk_relay_frame_decode(in->buf + in->next, frame);
	if (err < 0)
		return err;
#ifndef WMK_PLANTED_BUG_INGEST               /* planted bug that the fuzzer must find */
	if (frame->length > have - WMK_RELAY_HEAD)
		return 0;
#endif
	*body = in->buf + in->next + WMK_RELAY_HEAD;
	in->next += WMK_RELAY_HEAD + frame->length;
	return 1;
}

int wmk_relay_in_head(const struct wmk_relay_in *in, struct wmk_relay_frame *frame, uint8_t **body, size_t n)
{
	if (in->len - in->next < WMK_RELAY_HEAD + n || wmk_relay_frame_decode(in->buf + in->next, frame) < 0)
		return 0;
	*body = in->buf + in->next + WMK_RELAY_HEAD;
	return 1;
}

void wmk_relay_in_idle(struct wmk_relay_in *in)
{
	if (in->next == in->len && in->cap > WMK_RELAY_BUFFER)
		wmk_relay_in_free(in);
}

void wmk_relay_in_free(struct wmk_relay_in *in)
{
	free(in->buf);
	memset(in, 0, sizeof(*in));
}
