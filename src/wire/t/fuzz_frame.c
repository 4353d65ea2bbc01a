/* SPDX-License-Identifier: MIT */
/*
 * fuzz_frame.c - any bytes on a connection, in pieces of any size, with descriptors at any place. The receiver returns
 * frames or an error, and every descriptor is taken or closed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sum;

/* Take all complete frames. Returns false after an error. */
static int drain(struct wmk_in *in, int sock)
{
	struct wmk_frame frame;
	const void *body;
	int fd, err, came;

	do {
		came = wmk_in_receive(in, sock);
		while ((err = wmk_in_frame(in, &frame, &body, &fd)) == 1) {
			for (uint32_t i = 0; i < frame.length; i++)
				sum += ((const uint8_t *)body)[i];
			if (fd >= 0)
				close(fd);
		}
	} while (came == 1 && err == 0);
	return err == 0 && (came == -EAGAIN || came == 1);
}

static void send_with_fd(int sock, const uint8_t *data, size_t len, int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec iov = { (void *)(uintptr_t)data, len };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	sendmsg(sock, &msg, MSG_DONTWAIT);
}

/*
 * The first byte selects how the other bytes are split: into pieces of 1 to 64 bytes, with a descriptor at every 2nd,
 * 3rd, ... piece.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int lowest = -1;
	struct wmk_in in = { 0 };
	int pair[2];
	size_t piece, every;

	if (size < 1)
		return 0;
	piece = data[0] % 64 * 8 + 1;
	every = data[0] / 64;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		abort();
	for (size_t at = 1, n = 0; at < size; at += piece, n++) {
		size_t len = size - at < piece ? size - at : piece;

		if (every && n % every == 0)
			send_with_fd(pair[0], data + at, len, pair[0]);
		else
			send(pair[0], data + at, len, MSG_DONTWAIT);
		if (!drain(&in, pair[1]))
			break;
	}
	wmk_in_free(&in);
	close(pair[0]);
	close(pair[1]);
	/* No descriptor is left open: the next descriptor that is opened has the same number as the first one. */
	int fd = dup(0);
	if (lowest < 0)
		lowest = fd;
	if (fd != lowest)
		abort();
	close(fd);
	return 0;
}
