/* SPDX-License-Identifier: MIT */
/*
 * frame.c - frames over a stream socket, and the descriptors that travel with them (see wire.h).
 *
 * A piece is the data that one sendmsg() sends. The kernel delivers the descriptors of a piece with the first byte of
 * this piece, or earlier. The sender attaches a descriptor to a piece that starts at the first byte of the descriptor's
 * frame, or earlier. When a frame with WMK_FRAME_FD is complete, its descriptor has therefore arrived. Descriptors are
 * assigned to frames in order. Several short frames are sent in one piece, with or without descriptors, so that a reply
 * wakes the receiver only once.
 */
#include "wire/wire.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define IN_START 16384u
/*
 * The maximum number of descriptors in one message on Linux (SCM_MAX_FD). If the receiver had space for fewer
 * descriptors, recvmsg() would close the other descriptors, and closing a descriptor can block.
 */
#define FDS_OF_A_MESSAGE 253u
/* maximum bytes of a piece with several descriptors: the smallest socket buffer accepts so many at once */
#define SHARED_PIECE_BYTES 2048u

/* ── output ──────────────────────────────────────────────────────────────────────────────────────────── */

static void out_compact(struct wmk_out *out)
{
	memmove(out->buf, out->buf + out->sent, out->len - out->sent);
	for (unsigned i = 0; i < out->n_fds; i++)
		out->fds[i].at -= out->sent;
	out->len -= out->sent;
	out->sent = 0;
}

static int out_reserve(struct wmk_out *out, size_t need)
{
	if (out->sent && need > out->cap - out->len)
		out_compact(out);
	if (need <= out->cap - out->len)
		return 0;
	size_t cap = out->cap ? out->cap : 4096;
	while (cap - out->len < need)
		cap *= 2;
	uint8_t *buf = realloc(out->buf, cap);
	if (!buf)
		return wmk_error(-ENOMEM, "no memory for a message");
	out->buf = buf;
	out->cap = cap;
	return 0;
}

static void out_append(struct wmk_out *out, const void *data, size_t len)
{
	if (len)
		memcpy(out->buf + out->len, data, len);
	out->len += len;
}

static int out_fd(struct wmk_out *out, int fd)
{
	if (out->n_fds == WMK_WIRE_FDS)
		return wmk_error(-EAGAIN, "%u descriptors are queued", WMK_WIRE_FDS);
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (copy < 0)
		return wmk_error(-errno, "cannot duplicate a descriptor");
	out->fds[out->n_fds].at = out->len;
	out->fds[out->n_fds++].fd = copy;
	return 0;
}

/* Append a frame with a body that consists of `a` followed by `b`. */
static int frame_append(struct wmk_out *out, struct wmk_frame *frame, const void *a, size_t a_len, const void *b,
			size_t b_len, int fd)
{
	if (a_len > WMK_FRAME_MAX || b_len > WMK_FRAME_MAX - a_len)
		return wmk_error(-EMSGSIZE, "a message of %zu bytes exceeds the limit of %u", a_len + b_len,
				 WMK_FRAME_MAX);
	frame->length = (uint32_t)(a_len + b_len);
	frame->version = WMK_WIRE_VERSION;
	int err = out_reserve(out, sizeof(*frame) + a_len + b_len);
	if (err == 0 && fd >= 0) {
		frame->flags = WMK_FRAME_FD;
		err = out_fd(out, fd);
	}
	if (err < 0)
		return err;
	out_append(out, frame, sizeof(*frame));
	out_append(out, a, a_len);
	out_append(out, b, b_len);
	return 0;
}

int wmk_out_frame(struct wmk_out *out, enum wmk_msg type, uint32_t request, const void *body, size_t length, int fd)
{
	struct wmk_frame frame = { .type = (uint16_t)type, .request = request };

	return frame_append(out, &frame, body, length, NULL, 0, fd);
}

int wmk_out_frame_parts(struct wmk_out *out, enum wmk_msg type, const void *a, size_t a_len, const void *b,
			size_t b_len)
{
	struct wmk_frame frame = { .type = (uint16_t)type };

	return frame_append(out, &frame, a, a_len, b, b_len, -1);
}

struct frame_piece {
	size_t end;
	/* descriptors of the piece: the descriptors of all frames that begin in the piece */
	unsigned n_fds;
};

static struct frame_piece piece_next(const struct wmk_out *out)
{
	struct frame_piece piece = { .end = out->len };

	if (out->n_fds == 0)
		return piece;
	while (piece.n_fds < out->n_fds && piece.n_fds < WMK_WIRE_FDS_AT_ONCE &&
	       out->fds[piece.n_fds].at < out->sent + SHARED_PIECE_BYTES)
		piece.n_fds++;
	/* a piece with a single descriptor may have any length if the descriptor's frame begins the piece */
	if (piece.n_fds > 1 || (piece.n_fds == 1 && out->fds[0].at > out->sent))
		piece.end = out->len < out->sent + SHARED_PIECE_BYTES ? out->len : out->sent + SHARED_PIECE_BYTES;
	if (piece.n_fds < out->n_fds && out->fds[piece.n_fds].at < piece.end)
		piece.end = out->fds[piece.n_fds].at;
	return piece;
}

/* One sendmsg(). */
static ssize_t send_piece(struct wmk_out *out, int sock)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(WMK_WIRE_FDS_AT_ONCE * sizeof(int))];
	} control;
	const struct frame_piece piece = piece_next(out);
	struct iovec iov = { out->buf + out->sent, piece.end - out->sent };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (piece.n_fds) {
		memset(&control, 0, sizeof(control));
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(piece.n_fds * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(piece.n_fds * sizeof(int));
		for (unsigned i = 0; i < piece.n_fds; i++)
			memcpy(CMSG_DATA(c) + i * sizeof(int), &out->fds[i].fd, sizeof(int));
	}
	ssize_t n;
	do {
		n = sendmsg(sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n > 0 && piece.n_fds) {
		for (unsigned i = 0; i < piece.n_fds; i++)
			close(out->fds[i].fd);
		out->n_fds -= piece.n_fds;
		memmove(&out->fds[0], &out->fds[piece.n_fds], out->n_fds * sizeof(out->fds[0]));
	}
	return n;
}

int wmk_out_send(struct wmk_out *out, int sock)
{
	while (out->sent < out->len) {
		ssize_t n = send_piece(out, sock);

		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		out->sent += (size_t)n;
	}
	out->sent = out->len = 0;
	if (out->cap > WMK_WIRE_KEEP) {
		free(out->buf);
		out->buf = NULL;
		out->cap = 0;
	}
	return 1;
}

void wmk_out_idle(struct wmk_out *out)
{
	if (out->sent < out->len)
		return;
	free(out->buf);
	out->buf = NULL;
	out->cap = out->len = out->sent = 0;
}

void wmk_out_free(struct wmk_out *out)
{
	for (unsigned i = 0; i < out->n_fds; i++)
		close(out->fds[i].fd);
	free(out->buf);
	memset(out, 0, sizeof(*out));
}

/* ── input ───────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Make space in the buffer for the rest of the current frame, but for no more than twice the number of received bytes.
 */
static int in_reserve(struct wmk_in *in)
{
	struct wmk_frame frame;
	size_t want = IN_START;

	if (in->next) {
		memmove(in->buf, in->buf + in->next, in->len - in->next);
		in->len -= in->next;
		in->next = 0;
	}
	if (in->len >= sizeof(frame)) {
		memcpy(&frame, in->buf, sizeof(frame));
		size_t whole = sizeof(frame) + (frame.length < WMK_FRAME_MAX ? frame.length : WMK_FRAME_MAX);

		if (whole > want)
			want = whole < 2 * in->len ? whole : 2 * in->len;
	}
	if (want > in->cap || (in->len == 0 && in->cap > WMK_WIRE_KEEP)) {
		uint8_t *buf = realloc(in->buf, want < IN_START ? IN_START : want);

		if (!buf)
			return wmk_error(-ENOMEM, "no memory for a message");
		in->buf = buf;
		in->cap = want < IN_START ? IN_START : want;
	}
	return in->len < in->cap ? 0 : wmk_error(-ENOBUFS, "the buffer is full of complete messages");
}

static void close_unclaimed(const struct wmk_in *in, int fd)
{
	if (in->close_fd)
		in->close_fd(fd, in->sender_uid);
	else
		close(fd);
}

/* Store the descriptors that were received, and return how many there were. */
static size_t fds_take(struct wmk_in *in, struct msghdr *msg)
{
	size_t came = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++, came++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (in->n_fds < WMK_WIRE_FDS)
				in->fds[in->n_fds++] = fd;
			else
				close_unclaimed(in, fd);
		}
	}
	return came;
}

int wmk_in_receive(struct wmk_in *in, int sock)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(FDS_OF_A_MESSAGE * sizeof(int))];
	} control;
	int err = in_reserve(in);

	if (err < 0)
		return err;
	struct iovec iov = { in->buf + in->len, in->cap - in->len };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)
	};
	ssize_t n;
	do {
		n = recvmsg(sock, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	const size_t came = fds_take(in, &msg);

	in->len += (size_t)n;
	/* after a lost descriptor, later frames would get the wrong descriptors */
	if (came > WMK_WIRE_FDS_AT_ONCE || msg.msg_flags & MSG_CTRUNC)
		return wmk_error(-EMFILE,
				 "received descriptors were lost: too many are open, or more than %u arrived at once",
				 WMK_WIRE_FDS_AT_ONCE);
	return n > 0;
}

static void fds_close(struct wmk_in *in)
{
	while (in->n_fds)
		close_unclaimed(in, in->fds[--in->n_fds]);
}

int wmk_in_frame(struct wmk_in *in, struct wmk_frame *frame, const void **body, int *fd)
{
	size_t have = in->len - in->next;

	*fd = -1;
	if (have == 0 && in->len < in->cap)
		/* descriptors without a frame (a full buffer may end before the frames of its descriptors) */
		fds_close(in);
	if (have < sizeof(*frame))
		return 0;
	memcpy(frame, in->buf + in->next, sizeof(*frame));
	if (frame->version != WMK_WIRE_VERSION)
		return wmk_error(-EPROTONOSUPPORT, "unsupported version %u of the protocol: this side has version %u",
				 frame->version, WMK_WIRE_VERSION);
	if (frame->flags & ~WMK_FRAME_FD)
		return wmk_error(-EPROTO, "a message has unknown flags 0x%x", frame->flags);
#ifdef WMK_PLANTED_BUG                       /* a planted bug that the fuzzer must find */
	if ((uint32_t)(frame->length + sizeof(*frame)) > have)
		return 0;
#else
	if (frame->length > WMK_FRAME_MAX)
		return wmk_error(-EPROTO, "a message of %u bytes exceeds the limit of %u", frame->length,
				 WMK_FRAME_MAX);
	if (frame->length > have - sizeof(*frame))
		return 0;
#endif
	if (frame->flags & WMK_FRAME_FD) {
		if (in->n_fds == 0)
			return wmk_error(-EPROTO, "a message lacks its descriptor");
		*fd = in->fds[0];
		memmove(&in->fds[0], &in->fds[1], --in->n_fds * sizeof(in->fds[0]));
	}
	*body = in->buf + in->next + sizeof(*frame);
	in->next += sizeof(*frame) + frame->length;
	return 1;
}

void wmk_in_idle(struct wmk_in *in)
{
	if (in->next < in->len || in->n_fds)
		return;
	free(in->buf);
	in->buf = NULL;
	in->cap = in->len = in->next = 0;
}

void wmk_in_free(struct wmk_in *in)
{
	fds_close(in);
	free(in->buf);
	memset(in, 0, sizeof(*in));
}
