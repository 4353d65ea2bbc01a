/* SPDX-License-Identifier: MIT */
/* relay_conn.c - connections over TCP, and the buffers of their messages (see relay_conn.h). */
#include "wire/relay_conn.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"

#define BROKEN_MS 30000              /* a network that delivers nothing for this time is broken */
#define KEEPALIVE_S 10

/* ── TCP ─────────────────────────────────────────────────────────────────────────────────────────────── */

static ssize_t tcp_read(struct wmk_relay_conn *conn, void *bytes, size_t size)
{
	ssize_t n;

	do {
		n = recv(conn->fd, bytes, size, MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	conn->wants = POLLIN;
	return n < 0 ? -errno : n;
}

static ssize_t tcp_write(struct wmk_relay_conn *conn, const struct iovec *iov, int n)
{
	const struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)n };
	ssize_t sent;

	do {
		sent = sendmsg(conn->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	conn->wants = POLLOUT;
	return sent < 0 ? -errno : sent;
}

static void tcp_close(struct wmk_relay_conn *conn)
{
	close(conn->fd);
	free(conn);
}

static const struct wmk_relay_conn_ops tcp_ops = { .read = tcp_read, .write = tcp_write, .close = tcp_close };

static void set_option(int fd, int level, int option, int value)
{
	/* Without the option, the connection only ends later. Sockets of other families lack the options. */
	setsockopt(fd, level, option, &value, sizeof(value));
}

int wmk_relay_conn_tcp(int fd, struct wmk_relay_conn **conn)
{
	struct wmk_relay_conn *made = calloc(1, sizeof(*made));

	if (!made)
		return wmk_error(-ENOMEM, "no memory for a connection");
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 2);
	set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, BROKEN_MS);
	made->ops = &tcp_ops;
	made->fd = fd;
	made->wants = POLLIN;
	*conn = made;
	return 0;
}

static bool is_loopback(const struct sockaddr *address)
{
	static const uint8_t mapped[13] = { [10] = 0xff, [11] = 0xff, [12] = 127 };

	if (address->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == 127;
	if (address->sa_family != AF_INET6)
		return false;
	const struct in6_addr *is = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;

	return IN6_IS_ADDR_LOOPBACK(is) || memcmp(is, mapped, sizeof(mapped)) == 0;
}

static int connect_within(int fd, const struct addrinfo *to, int timeout_ms)
{
	struct pollfd poller = { .fd = fd, .events = POLLOUT };
	socklen_t size = sizeof(int);
	int err, n;

	if (connect(fd, to->ai_addr, to->ai_addrlen) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	do {
		n = poll(&poller, 1, timeout_ms);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? -errno : -ETIMEDOUT;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) < 0 ? -errno : -err;
}

int wmk_relay_dial(const char *address, uint16_t port, int timeout_ms, int *fd, bool *loopback)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	char service[8];
	int err;

	snprintf(service, sizeof(service), "%u", port);
	err = getaddrinfo(address, service, &hints, &found);
	if (err)
		return wmk_error(-EHOSTUNREACH, "cannot find the relay \"%.200s\": %s", address, gai_strerror(err));
	err = -EHOSTUNREACH;
	for (const struct addrinfo *to = found; to && err < 0; to = to->ai_next) {
		const int made = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		err = made < 0 ? -errno : connect_within(made, to, timeout_ms);
		if (err < 0 && made >= 0)
			close(made);
		if (err < 0)
			continue;
		*fd = made;
		*loopback = is_loopback(to->ai_addr);
	}
	freeaddrinfo(found);
	return err < 0 ? wmk_error(err, "cannot connect to the relay at %.200s port %u: %s", address, port,
				   strerror(-err)) : 0;
}

int wmk_relay_conn_wait(const struct wmk_relay_conn *conn, bool write, int also, int timeout_ms)
{
	struct pollfd pollers[2] = {
		{ .fd = conn->fd, .events = (short)(POLLIN | (write ? POLLOUT : 0)) }, { .fd = also, .events = POLLIN }
	};
	int n;

	if (conn->ops->has_input && conn->ops->has_input(conn))
		return 1;
	n = poll(pollers, 2, timeout_ms);
	if (n < 0 && errno != EINTR)
		return -errno;
	return n <= 0 ? 0 : pollers[0].revents ? 1 : 2;
}

/* ── output ──────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_relay_out_bytes(struct wmk_relay_out *out, const void *bytes, size_t len)
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
	if (len)
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
	err = wmk_relay_out_bytes(out, bytes, (size_t)len);
	free(bytes);
	return err;
}

int wmk_relay_out_send(struct wmk_relay_out *out, struct wmk_relay_conn *conn)
{
	while (out->sent < out->len) {
		const struct iovec iov = { out->buf + out->sent, out->len - out->sent };
		const ssize_t n = conn->ops->write(conn, &iov, 1);

		if (n < 0)
			return n == -EAGAIN ? 0 : (int)n;
		out->sent += (size_t)n;
	}
	out->len = out->sent = 0;
	if (out->cap > WMK_RELAY_IN_KEEP)
		wmk_relay_out_free(out);
	return 1;
}

void wmk_relay_out_free(struct wmk_relay_out *out)
{
	free(out->buf);
	memset(out, 0, sizeof(*out));
}

/* ── input ───────────────────────────────────────────────────────────────────────────────────────────── */

/* Make room for the rest of the current message, but for no more than twice the received bytes. */
static int in_reserve(struct wmk_relay_in *in)
{
	struct wmk_relay_frame frame;
	size_t want = WMK_RELAY_IN_KEEP;

	if (in->next) {
		memmove(in->buf, in->buf + in->next, in->len - in->next);
		in->len -= in->next;
		in->next = 0;
	}
	if (in->len >= WMK_RELAY_HEAD) {
		if (wmk_relay_frame_decode(in->buf, &frame) < 0) {
			wmk_error_clear();
			return -ENOBUFS;
		}
		if (WMK_RELAY_HEAD + frame.length > want)
			want = WMK_RELAY_HEAD + (size_t)frame.length;
		if (want > 2 * in->len && want > WMK_RELAY_IN_KEEP)
			want = 2 * in->len > WMK_RELAY_IN_KEEP ? 2 * in->len : WMK_RELAY_IN_KEEP;
	}
	if (want > in->cap) {
		uint8_t *grown = realloc(in->buf, want);

		if (!grown)
			return wmk_error(-ENOMEM, "no memory for a message");
		in->buf = grown;
		in->cap = want;
	}
	return in->len < in->cap ? 0 : -ENOBUFS;
}

int wmk_relay_in_receive(struct wmk_relay_in *in, struct wmk_relay_conn *conn)
{
	int err = in_reserve(in);
	ssize_t n;

	if (err < 0)
		return err;
	n = conn->ops->read(conn, in->buf + in->len, in->cap - in->len);
	if (n < 0)
		return (int)n;
	in->len += (size_t)n;
	return n > 0;
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
	if (frame->length > have - WMK_RELAY_HEAD)
		return 0;
	*body = in->buf + in->next + WMK_RELAY_HEAD;
	in->next += WMK_RELAY_HEAD + frame->length;
	return 1;
}

void wmk_relay_in_idle(struct wmk_relay_in *in)
{
	if (in->next == in->len && in->cap > WMK_RELAY_IN_KEEP)
		wmk_relay_in_free(in);
}

void wmk_relay_in_free(struct wmk_relay_in *in)
{
	free(in->buf);
	memset(in, 0, sizeof(*in));
}
