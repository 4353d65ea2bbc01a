/* SPDX-License-Identifier: MIT */
/* peer.c - see peer.h. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/t/peer.h"
#include "wire/wire.h"

static bool frame_send(int sock, const struct wmk_frame *frame, const uint8_t *body, int fd)
{
	struct wmk_out out = { 0 };
	const bool sent =
		wmk_out_frame(&out, (enum wmk_msg)frame->type, frame->request, body, frame->length, fd) == 0 &&
		wmk_out_send(&out, sock) == 1;

	wmk_out_free(&out);
	return sent;
}

size_t peer_send(int sock, const uint8_t *data, size_t size, const int *fds, unsigned n_fds)
{
	struct wmk_frame frame;
	size_t len = size;

	if (size >= sizeof(frame)) {
		memcpy(&frame, data, sizeof(frame));
		const int fd = fds[frame.request % n_fds];

		if (frame.length <= size - sizeof(frame))
			len = sizeof(frame) + frame.length;
		if (frame.flags == WMK_FRAME_FD && frame.version == WMK_WIRE_VERSION &&
		    frame.length == len - sizeof(frame) && fd >= 0)
			return frame_send(sock, &frame, data + sizeof(frame), fd) ? len : size;
	}
	return send(sock, data, len, MSG_NOSIGNAL) == (ssize_t)len ? len : size;
}

/*
 * Compare the lowest free number with that of the first call: it differs if a descriptor is left open, or if one too
 * many was closed.
 */
void peer_count_descriptors(void)
{
	static int free_before = -1;
	const int now = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (free_before < 0)
		free_before = now;
	if (now < 0 || now != free_before)
		abort();
	close(now);
}
