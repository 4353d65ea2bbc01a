/* SPDX-License-Identifier: MIT */
/*
 * relay_conn.h - a connection of the relay's protocol: bytes in both directions, without blocking, and whole messages.
 * Sender, relay and clients of the relay use it.
 *
 *     messages ──wmk_relay_out──► conn ──write()──► TCP, or TLS over TCP
 *     messages ◄──wmk_relay_in─── conn ◄──read()─── TCP, or TLS over TCP
 *
 * A transport is a table of functions, so that TLS has the place of plain TCP. One thread at a time per connection.
 */
#ifndef WMK_WIRE_RELAY_CONN_H
#define WMK_WIRE_RELAY_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "wire/relay.h"

struct wmk_relay_conn;
struct wmk_relay_conn_ops {
	/* Returns bytes; 0: end of file; -EAGAIN: wait until conn->wants is ready; -errno. */
	ssize_t (*read)(struct wmk_relay_conn *conn, void *bytes, size_t size);
	/* Returns the number of bytes that were written, maybe fewer than all; errors as read(). */
	ssize_t (*write)(struct wmk_relay_conn *conn, const struct iovec *iov, int n);
	/* True if read() has bytes that poll() does not report. NULL: never. */
	bool (*has_input)(const struct wmk_relay_conn *conn);
	/* Close and free the connection. */
	void (*close)(struct wmk_relay_conn *conn);
};
struct wmk_relay_conn {
	const struct wmk_relay_conn_ops *ops;
	int fd;                      /* for poll(); non-blocking */
	short wants;                 /* after -EAGAIN: POLLIN or POLLOUT, which may differ from the direction */
};

/*
 * Plain TCP over a connected socket, which the connection then owns. Also sets TCP_NODELAY and keep-alive, and a
 * limit for unacknowledged data, so that a broken network ends the connection within 30 s. -ENOMEM.
 */
int wmk_relay_conn_tcp(int fd, struct wmk_relay_conn **conn);
/*
 * Connect to `address` (a name or a number) and `port`, at most timeout_ms. Name resolution can take longer. Stores a
 * connected, non-blocking socket in *fd, and in *loopback whether the peer's address is a loopback address. 0 or -errno
 * with a cause chain.
 */
int wmk_relay_dial(const char *address, uint16_t port, int timeout_ms, int *fd, bool *loopback);
/*
 * Wait until the connection is readable, or also writable with `write`. `also`: another descriptor, readable; -1: none.
 * 1: the connection is ready; 2: only `also` is; 0: timeout_ms is over; -errno.
 */
int wmk_relay_conn_wait(const struct wmk_relay_conn *conn, bool write, int also, int timeout_ms);

/* Messages that wait to be sent. Starts zeroed. */
struct wmk_relay_out {
	uint8_t *buf;
	size_t len, cap, sent;
};
/* Append a message. Sets frame->length. 0 or -errno with a cause chain. */
int wmk_relay_out_message(struct wmk_relay_out *out, struct wmk_relay_frame *frame, const struct wmk_object *is,
			  const void *object);
/* Append bytes, such as a header and the records of a packet. 0 or -ENOMEM. */
int wmk_relay_out_bytes(struct wmk_relay_out *out, const void *bytes, size_t len);
/* Send as much as the connection accepts. 1: all sent; 0: more to send; -errno. */
int wmk_relay_out_send(struct wmk_relay_out *out, struct wmk_relay_conn *conn);
void wmk_relay_out_free(struct wmk_relay_out *out);

/* Received bytes. Starts zeroed. */
struct wmk_relay_in {
	uint8_t *buf;
	size_t len, cap, next;
};
#define WMK_RELAY_IN_KEEP 65536u
/*
 * Receive once. 1: received bytes; 0: end of file; -EAGAIN; -errno. Memory grows with the received bytes, not with the
 * length that a header claims. Invalidates bodies. Takes complete messages first: -ENOBUFS otherwise.
 */
int wmk_relay_in_receive(struct wmk_relay_in *in, struct wmk_relay_conn *conn);
/*
 * Take the next whole message. 1: *frame and *body are set; the header is directly before the body, and the receiver
 * may overwrite both. 0: incomplete; -errno of wmk_relay_frame_decode().
 */
int wmk_relay_in_message(struct wmk_relay_in *in, struct wmk_relay_frame *frame, uint8_t **body);
/* Free memory above WMK_RELAY_IN_KEEP if all messages were taken. For connections that are idle for a while. */
void wmk_relay_in_idle(struct wmk_relay_in *in);
void wmk_relay_in_free(struct wmk_relay_in *in);

#endif
