/* SPDX-License-Identifier: MIT */
/*
 * relay_link.c - a connection to the relay (see relay_link.h).
 */
#include "sender/relay_link.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "net/certificates.h"
#include "net/link.h"
#include "net/tls.h"

#define WAIT_NS 30000000000u       /* longest time without a byte from or to the relay */
#define CONNECT_NS 5000000000u
#define SLICE_MS 100               /* interval at which *stop is read */
#define BUFFER (256u << 10)
#define IN_ROOM 4096u

struct wmk_relay_link {
	struct wmk_link *link;
	struct wmk_tls *tls;       /* NULL: plain TCP */
	const atomic_bool *stop;
	uint32_t number, acknowledged, epoch;
	uint32_t data;             /* number of the last data frame */
	bool followed;
	/* the reply to the latest request */
	uint32_t answered;
	uint16_t answer;
	struct wmk_arena arena;
	uint8_t *body;
	uint32_t body_len;
	/* the message that is being received */
	uint8_t *in;
	size_t in_len, in_room;
	uint8_t buffer[BUFFER];
};

/* ── bytes ───────────────────────────────────────────────────────────────────────────────────────────── */

/* Wait up to SLICE_MS until poll() reports the socket as ready. since: time of the last transferred byte. */
static int wait_link(struct wmk_relay_link *link, short events, uint64_t since, uint64_t limit_ns)
{
	struct pollfd fd = { .fd = wmk_link_socket(link->link), .events = events };

	if (atomic_load_explicit(link->stop, memory_order_relaxed))
		return wmk_error(-ECANCELED, "the sender ends");
	if (wmk_clock_monotonic() - since > limit_ns)
		return wmk_error(-ETIMEDOUT, "the relay does not answer");
	poll(&fd, 1, SLICE_MS);
	return 0;
}

static int write_all(struct wmk_relay_link *link, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	uint64_t since = wmk_clock_monotonic();

	while (len) {
		const ssize_t n = wmk_link_write(link->link, at, len);
		int err = 0;

		if (n == -EAGAIN) {
			const short events = wmk_link_events(link->link);

			/*
			 * Receive acknowledgements while sending, because the relay stops reading if the sender does
			 * not read the acknowledgements.
			 */
			err = wmk_relay_link_receive(link);
			if (err >= 0)
				err = wait_link(link, (short)(events | POLLIN), since, WAIT_NS);
		} else if (n < 0) {
			/*
			 * Read what the relay has sent, because the relay may have sent the reason before it closed the
			 * connection.
			 */
			struct wmk_error_chain *cause = wmk_error_take();

			err = wmk_relay_link_receive(link);
			if (err >= 0) {
				wmk_error_give(cause);
				err = (int)n;
			} else {
				wmk_error_drop(cause);
			}
		} else {
			at += n;
			len -= (size_t)n;
			since = wmk_clock_monotonic();
		}
		if (err < 0)
			return err;
	}
	return 0;
}

/*
 * Receive bytes until link->in has at least `len` bytes. The buffer grows with the number of received bytes. Returns 0,
 * or -EAGAIN without a cause chain if not enough bytes have arrived.
 */
static int fill(struct wmk_relay_link *link, size_t len)
{
	while (link->in_len < len) {
		if (link->in_len == link->in_room) {
			const size_t room = link->in_room ? 2 * link->in_room : IN_ROOM;
			uint8_t *grown = realloc(link->in, room);

			if (!grown)
				return wmk_error(-ENOMEM, "no memory for a message of the relay");
			link->in = grown;
			link->in_room = room;
		}
		const size_t most = link->in_room < len ? link->in_room : len;
		const ssize_t n = wmk_link_read(link->link, link->in + link->in_len, most - link->in_len);

		if (n == 0)
			return wmk_error(-ECONNRESET, "the relay has closed the connection");
		if (n < 0)
			return (int)n;
		link->in_len += (size_t)n;
	}
	return 0;
}

/* ── messages ────────────────────────────────────────────────────────────────────────────────────────── */

static int relay_error(const uint8_t *body, uint32_t len)
{
	struct wmk_relay_error error;
	struct wmk_arena arena = { 0 };
	int err = wmk_object_decode(&wmk_relay_error_object, body, len, &error, &arena);

	if (err >= 0)
		err = error.err && error.err < 4096 ? wmk_errorx(-(int)error.err, "%.500s", error.text)
						    : wmk_error(-EPROTO, "the relay has sent an invalid error");
	wmk_arena_free(&arena);
	return err;
}

static int take_followed(struct wmk_relay_link *link, const uint8_t *body, uint32_t len)
{
	struct wmk_relay_followed is;
	struct wmk_arena arena = { 0 };
	int err = wmk_object_decode(&wmk_relay_followed_object, body, len, &is, &arena);

	wmk_arena_free(&arena);
	if (err >= 0)
		link->followed = is.followed;
	return err;
}

/* The reply to a request is stored in link->body until wmk_relay_link_request() decodes the reply. */
static int take_answer(struct wmk_relay_link *link, const struct wmk_relay_frame *frame, const uint8_t *body)
{
	free(link->body);
	link->body = malloc(frame->length + 1u);
	if (!link->body)
		return wmk_error(-ENOMEM, "no memory for a message of the relay");
	memcpy(link->body, body, frame->length);
	link->body_len = frame->length;
	link->answered = frame->number;
	link->answer = frame->type;
	return 0;
}

static int handle(struct wmk_relay_link *link, const struct wmk_relay_frame *frame, const uint8_t *body)
{
	switch (frame->type) {
	case WMK_RELAY_ACK:
		link->acknowledged = frame->number;
		return 0;
	case WMK_RELAY_FOLLOWED:
		return take_followed(link, body, frame->length);
	case WMK_RELAY_HELLO:
	case WMK_RELAY_REPLY:
		return take_answer(link, frame, body);
	case WMK_RELAY_ERROR:
		/* If the relay answers a request with an error, the connection remains usable. */
		return frame->number && frame->number == link->answered ? take_answer(link, frame, body)
									: relay_error(body, frame->length);
	default:
		return wmk_error(-EPROTO, "the relay has sent a message of type 0x%x", frame->type);
	}
}

int wmk_relay_link_receive(struct wmk_relay_link *link)
{
	struct wmk_relay_frame frame;
	int err;

	for (;;) {
		err = fill(link, WMK_RELAY_HEAD);
		if (err == 0)
			err = wmk_relay_frame_decode(link->in, &frame);
		/* The relay sends no records. */
		if (err == 0 && frame.length > WMK_RELAY_BODY_MAX)
			err = wmk_error(-EPROTO, "a message of the relay is too long");
		if (err == 0)
			err = fill(link, WMK_RELAY_HEAD + frame.length);
		if (err == 0) {
			link->in_len = 0;
			err = handle(link, &frame, link->in + WMK_RELAY_HEAD);
		}
		if (err < 0)
			return err == -EAGAIN ? 0 : err;
	}
}

static int send_object(struct wmk_relay_link *link, uint16_t type, const struct wmk_object *is, const void *object)
{
	struct wmk_relay_frame frame = { .type = type, .number = ++link->number,
					 .epoch = link->epoch };
	uint8_t *bytes;
	const long len = wmk_relay_message_encode(&frame, is, object, &bytes);
	int err;

	if (len < 0)
		return (int)len;
	err = write_all(link, bytes, (size_t)len);
	free(bytes);
	return err;
}

static int await(struct wmk_relay_link *link, uint64_t limit_ns)
{
	const uint64_t since = wmk_clock_monotonic();
	int err = 0;

	link->answer = 0;
	while (err >= 0 && !link->answer) {
		err = wmk_relay_link_receive(link);
		if (err >= 0 && !link->answer)
			err = wait_link(link, POLLIN, since, limit_ns);
	}
	return err;
}

int wmk_relay_link_request(struct wmk_relay_link *link, uint16_t type, const void *object, void *reply)
{
	static const struct wmk_empty nothing;
	const struct wmk_request_type *request = wmk_relay_request_find(type);
	int err;

	link->answered = link->number + 1;
	err = send_object(link, type, request->request, object ? object : &nothing);
	if (err >= 0)
		err = await(link, WAIT_NS);
	if (err < 0)
		return err;
	if (link->answer == WMK_RELAY_ERROR)
		return relay_error(link->body, link->body_len);
	wmk_arena_free(&link->arena);
	return !reply ? 0 : wmk_object_decode(request->reply, link->body, link->body_len, reply, &link->arena);
}

int wmk_relay_link_settle(struct wmk_relay_link *link)
{
	const uint64_t since = wmk_clock_monotonic();
	int err = wmk_relay_link_receive(link);

	while (err >= 0 && (int32_t)(link->acknowledged - link->data) < 0) {
		err = wait_link(link, POLLIN, since, WAIT_NS);
		if (err >= 0)
			err = wmk_relay_link_receive(link);
	}
	return err;
}

int wmk_relay_link_data(struct wmk_relay_link *link, uint16_t type, const void *object)
{
	link->data = link->number + 1;
	return send_object(link, type, wmk_relay_data_object(type), object);
}

int wmk_relay_link_packet(struct wmk_relay_link *link, uint32_t stream, const struct wmk_ctf_packet *packet, int file,
			  uint64_t offset)
{
	const struct wmk_relay_packet is = { .stream = stream, .packet = *packet };
	const struct wmk_relay_frame frame = { .length = (uint32_t)(WMK_RELAY_PACKET_HEAD + packet->content),
					       .type = WMK_RELAY_PACKET, .number = ++link->number,
					       .epoch = link->epoch };
	size_t len = WMK_RELAY_HEAD + WMK_RELAY_PACKET_HEAD;
	uint64_t left = packet->content;
	int err = 0;

	link->data = frame.number;
	wmk_relay_frame_encode(link->buffer, &frame);
	wmk_relay_packet_encode(link->buffer + WMK_RELAY_HEAD, &is);
	do {
		const size_t part = left < BUFFER - len ? (size_t)left : BUFFER - len;
		const ssize_t n = part ? pread(file, link->buffer + len, part, (off_t)offset) : 0;

		if (n < 0 || (size_t)n != part)
			return wmk_error(n < 0 ? -errno : -EIO, "cannot read the spool");
		err = write_all(link, link->buffer, len + part);
		offset += part;
		left -= part;
		len = 0;
	} while (err >= 0 && left);
	return err;
}

/* ── the connection ──────────────────────────────────────────────────────────────────────────────────── */

/* A name such as localhost may resolve to an address that is not a loopback address. */
static bool is_loopback(const struct addrinfo *to)
{
	const struct sockaddr_in *ip4 = (const struct sockaddr_in *)(const void *)to->ai_addr;
	const struct sockaddr_in6 *ip6 = (const struct sockaddr_in6 *)(const void *)to->ai_addr;

	return to->ai_family == AF_INET    ? ntohl(ip4->sin_addr.s_addr) >> 24 == 127
	       : to->ai_family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&ip6->sin6_addr)
					   : false;
}

static int connect_one(struct wmk_relay_link *link, const struct addrinfo *to, uint64_t since)
{
	const bool is_allowed = link->tls || is_loopback(to);
	int fd = is_allowed ? socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, to->ai_protocol) : -1;
	struct pollfd wait = { .fd = fd, .events = POLLOUT };
	int err = 0;
	socklen_t size = sizeof(err);

	if (fd < 0)
		return is_allowed ? -errno : -EPERM;
	if (connect(fd, to->ai_addr, to->ai_addrlen) < 0 && errno != EINPROGRESS)
		err = errno;
	while (err == 0 && poll(&wait, 1, SLICE_MS) == 0) {
		if (atomic_load_explicit(link->stop, memory_order_relaxed))
			err = ECANCELED;
		else if (wmk_clock_monotonic() - since > CONNECT_NS)
			err = ETIMEDOUT;
	}
	if (err == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) < 0)
		err = errno;
	if (err) {
		close(fd);
		return -err;
	}
	return fd;
}

/* If the network fails, the kernel closes the connection within 30 s, even while the sender is idle. */
static void keep_alive(int fd)
{
	const int yes = 1, seconds = 10, probes = 2;
	const unsigned limit_ms = 30000;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof(limit_ms));
}

static int dial(struct wmk_relay_link *link, const struct wmk_relay_url *url)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
	const uint64_t since = wmk_clock_monotonic();
	struct addrinfo *found = NULL;
	char port[8];
	int fd = -EHOSTUNREACH, err;

	snprintf(port, sizeof(port), "%u", url->port);
	err = getaddrinfo(url->address, port, &hints, &found);
	if (err)
		return wmk_errorx(-EHOSTUNREACH, "cannot find the address of the relay %.100s: %s", url->address,
				  gai_strerror(err));
	for (const struct addrinfo *to = found; to && fd < 0; to = to->ai_next)
		fd = connect_one(link, to, since);
	freeaddrinfo(found);
	if (fd < 0)
		return wmk_error(fd, "cannot connect to the relay %.100s, port %s", url->address, port);
	keep_alive(fd);
	return fd;
}

/* Read the certificate file of this machine. The name in the certificate is the HOST. */
static int open_tls(struct wmk_relay_link *link)
{
	char path[PATH_MAX];
	int err = wmk_peer_file(path, sizeof(path));

	return err < 0 ? err : wmk_tls_open_client(path, &link->tls);
}

static int shake_hands(struct wmk_relay_link *link)
{
	const uint64_t since = wmk_clock_monotonic();
	int err;

	while ((err = wmk_link_handshake(link->link)) == -EAGAIN) {
		err = wait_link(link, wmk_link_events(link->link), since, CONNECT_NS);
		if (err < 0)
			break;
	}
	return err;
}

static int greet(struct wmk_relay_link *link, const char *host)
{
	const struct wmk_relay_hello own = { .greeting = WMK_RELAY_SENDER, .version = WMK_VERSION, .host = host };
	struct wmk_relay_hello hello;
	int err = await(link, CONNECT_NS);

	if (err >= 0)
		err = wmk_object_decode(&wmk_relay_hello_object, link->body, link->body_len, &hello, &link->arena);
	if (err >= 0 && (link->answer != WMK_RELAY_HELLO || strcmp(hello.greeting, WMK_RELAY_GREETING) != 0))
		err = wmk_error(-EPROTO, "the peer is not waymark-relayd");
	return err < 0 ? err : send_object(link, WMK_RELAY_HELLO, &wmk_relay_hello_object, &own);
}

int wmk_relay_link_open(const struct wmk_relay_url *url, const char *host, const atomic_bool *stop,
			struct wmk_relay_link **result)
{
	struct wmk_relay_link *link = calloc(1, sizeof(*link));
	int fd, err;

	if (!link)
		return wmk_error(-ENOMEM, "no memory for a connection");
	link->stop = stop;
	err = url->tls ? open_tls(link) : 0;
	fd = err < 0 ? err : dial(link, url);
	err = fd < 0 ? fd : wmk_link_open(fd, link->tls, url->address, &link->link);
	if (err >= 0)
		err = shake_hands(link);
	if (err >= 0)
		err = greet(link, link->tls ? wmk_tls_own_name(link->tls) : host);
	if (err < 0) {
		wmk_relay_link_close(link);
		return err;
	}
	*result = link;
	return 0;
}

void wmk_relay_link_close(struct wmk_relay_link *link)
{
	if (!link)
		return;
	wmk_link_close(link->link);
	wmk_tls_close(link->tls);
	wmk_arena_free(&link->arena);
	free(link->body);
	free(link->in);
	free(link);
}

int wmk_relay_link_socket(const struct wmk_relay_link *link)
{
	return wmk_link_socket(link->link);
}

void wmk_relay_link_set_epoch(struct wmk_relay_link *link, uint32_t epoch)
{
	link->epoch = epoch;
}

uint32_t wmk_relay_link_epoch(const struct wmk_relay_link *link)
{
	return link->epoch;
}

uint32_t wmk_relay_link_sent(const struct wmk_relay_link *link)
{
	return link->number;
}

uint32_t wmk_relay_link_acknowledged(const struct wmk_relay_link *link)
{
	return link->acknowledged;
}

bool wmk_relay_link_is_followed(const struct wmk_relay_link *link)
{
	return link->followed;
}
