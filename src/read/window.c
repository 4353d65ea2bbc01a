/* SPDX-License-Identifier: MIT */
/*
 * window.c - the bytes of a stream file that are in memory (see window.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "read/window.h"

ssize_t wmk_read_window_get(struct wmk_read_stream *s, void *to, size_t len, uint64_t at)
{
	ssize_t n;

	if (s->frames) {
		n = wmk_ctf_frames_read(s->frames, to, len, at);
		return n < 0 ? wmk_error_add((int)n, "'%.60s'", s->file) : n;
	}
	do
		n = pread(s->fd, to, len, (off_t)at);
	while (n < 0 && errno == EINTR);
	return n < 0 ? wmk_error(-errno, "cannot read '%.240s' at byte %" PRIu64, s->file, at) : n;
}

int wmk_read_window_damage(struct wmk_read_stream *s)
{
	const int err = s->frames ? wmk_ctf_frames_take_damage(s->frames) : 0;

	return err < 0 ? wmk_error_add(err, "'%.60s'", s->file) : 0;
}

/* Fill the rest of the window with bytes of the file. Returns their number. */
static ssize_t fill(struct wmk_read_stream *s)
{
	size_t before = s->len;

	while (s->len < s->cap) {
		const ssize_t n = wmk_read_window_get(s, s->buffer + s->len, s->cap - s->len, s->buffer_at + s->len);

		/* (a packet does not continue in the next frame, so all of its bytes were read) */
		if (n < 0 && s->frames && s->len > before) {
			wmk_error_clear();
			break;
		}
		if (n < 0)
			return n;
		if (n == 0)
			break;
		s->len += (size_t)n;
	}
	return (ssize_t)(s->len - before);
}

ssize_t wmk_read_window_move(struct wmk_read_stream *s, uint64_t at)
{
	uint64_t skip = at - s->buffer_at;

	if (skip < s->len) {
		memmove(s->buffer, s->buffer + skip, s->len - skip);
		s->len -= skip;
	} else {
		s->len = 0;
	}
	s->buffer_at = at;
	return fill(s);
}

int wmk_read_window_more(struct wmk_read_stream *s, uint64_t from)
{
	ssize_t n;

	if (from == s->buffer_at && s->len == s->cap) {
		uint8_t *larger = s->cap < WMK_READ_RECORD_MAX ? realloc(s->buffer, 2 * s->cap) : NULL;

		if (!larger)
			return wmk_error(-E2BIG, "'%.60s', byte %" PRIu64 ": the record exceeds %u MiB, or no memory "
						 "is free",
					 s->file, from, WMK_READ_RECORD_MAX >> 20);
		s->buffer = larger;
		s->cap *= 2;
		n = fill(s);
	} else {
		n = wmk_read_window_move(s, from);
	}
	return n < 0 ? (int)n : n > 0;
}

void wmk_read_window_show(struct wmk_read_stream *s)
{
	uint64_t behind = s->buffer_at + s->len - s->packet.at;

	/*
	 * The address of the packet's first byte may precede the window, but the decoder reads nothing before the
	 * window.
	 */
	s->bytes.bytes = (const uint8_t *)((uintptr_t)s->buffer + (uintptr_t)(s->packet.at - s->buffer_at));
	s->bytes.from = (s->buffer_at > s->packet.at ? s->buffer_at - s->packet.at : 0) * 8;
	/* (if the content ends within a byte, the whole byte must be present) */
	s->bytes.end = behind < s->packet.content / 8 + (s->packet.content % 8 != 0) ? behind * 8 : s->packet.content;
}
