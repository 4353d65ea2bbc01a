/* SPDX-License-Identifier: MIT */
/*
 * link.h - the byte stream between a relay and its peer: TCP, or TLS 1.3 over TCP. Both never block.
 *
 *     connect() or accept() ──► wmk_link_open() ──► wmk_link_handshake() until 0 ──► read, write ──► close
 *
 * A function that would block returns -EAGAIN. After -EAGAIN, the caller polls the socket for wmk_link_events() and
 * then calls the function again. A link belongs to one thread at a time. The process ignores SIGPIPE.
 *
 * In TLS 1.3, the client completes its handshake before the server can report that it refuses the client's certificate.
 * The relay therefore accepts every certificate during the handshake. If wmk_link_verify() refuses the peer afterwards,
 * the relay sends the reason and closes the connection.
 */
#ifndef WMK_NET_LINK_H
#define WMK_NET_LINK_H

#include <stddef.h>
#include <sys/types.h>

struct wmk_tls;                    /* net/tls.h */
struct wmk_link;

/*
 * Take ownership of a connected socket and set O_NONBLOCK and TCP_NODELAY. `tls` is NULL for plain TCP; otherwise it
 * must outlive the link. `server` is the name or address in the URL, which the relay's certificate must contain; it is
 * NULL in the relay. 0, or -errno with a cause chain, and the socket is closed.
 */
int wmk_link_open(int socket, struct wmk_tls *tls, const char *server, struct wmk_link **link);
/*
 * 0: the handshake is complete (without TLS: at once). -EAGAIN. All other errors are -errno with a cause chain, for
 * example if the relay's certificate has another name.
 */
int wmk_link_handshake(struct wmk_link *link);
/*
 * Returns the number of bytes read; 0 if the peer has ended the stream; -EAGAIN; or another -errno with a cause chain.
 */
ssize_t wmk_link_read(struct wmk_link *link, void *data, size_t size);
/*
 * As wmk_link_read(). After -EAGAIN, the next call must pass data that begins with the same bytes. `size` is above 0.
 */
ssize_t wmk_link_write(struct wmk_link *link, const void *data, size_t size);
/* Return the events for which poll() must wait after -EAGAIN. */
short wmk_link_events(const struct wmk_link *link);
/*
 * The socket, for poll() only. The TLS layer may hold decrypted bytes, which poll() does not report. So read until
 * -EAGAIN.
 */
int wmk_link_socket(const struct wmk_link *link);
/*
 * Verify the peer's certificate with the current certificate files of the relay. 0, or -EACCES with one message. Relay
 * only.
 */
int wmk_link_verify(struct wmk_link *link);
/*
 * Return the CN of the peer's certificate, which is a valid directory name after wmk_link_verify() has returned 0. NULL
 * without TLS.
 */
const char *wmk_link_peer(const struct wmk_link *link);
/*
 * Return the OU of the peer's certificate: "sender" or "viewer". "" if the certificate has none. Call as
 * wmk_link_peer().
 */
const char *wmk_link_role(const struct wmk_link *link);
/* End the stream and close the socket. NULL does nothing. */
void wmk_link_close(struct wmk_link *link);

#endif
