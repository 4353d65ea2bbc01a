/* SPDX-License-Identifier: MIT */
/*
 * link.h - the byte stream between a relay and its peer: TCP, or TLS 1.3 over TCP. Both never block.
 *
 *     connect() or accept() ──► wmk_link_open() ──► wmk_link_handshake() until 0 ──► read, write ──► close
 *
 * A function that cannot proceed returns -EAGAIN. The caller then polls the socket for wmk_link_events() and calls the
 * function again. A link belongs to one thread at a time. The process ignores SIGPIPE.
 *
 * In TLS 1.3, the client finishes its handshake before the server can report a refused certificate. So the relay
 * accepts each certificate in the handshake. If wmk_link_verify() then refuses the peer, the relay sends the reason and
 * closes the connection.
 */
#ifndef WMK_NET_LINK_H
#define WMK_NET_LINK_H

#include <stddef.h>
#include <sys/types.h>

struct wmk_tls;                    /* net/tls.h */
struct wmk_link;

/*
 * Take ownership of a connected socket and set O_NONBLOCK and TCP_NODELAY. `tls` is NULL for plain TCP; otherwise it
 * must outlive the link. `server` is the name or address in the URL, which the certificate of the relay must have; NULL
 * at the relay. 0, or -errno with a cause chain, and the socket is closed.
 */
int wmk_link_open(int socket, struct wmk_tls *tls, const char *server, struct wmk_link **link);
/*
 * 0: the handshake is complete (without TLS: at once). -EAGAIN. Other -errno with a cause chain, for example if the
 * certificate of the relay has another name.
 */
int wmk_link_handshake(struct wmk_link *link);
/* The number of bytes that were read; 0: the peer has ended the stream; -EAGAIN; other -errno with a cause chain. */
ssize_t wmk_link_read(struct wmk_link *link, void *data, size_t size);
/* As wmk_link_read(). After -EAGAIN, the next call must begin with the same bytes. `size` is above 0. */
ssize_t wmk_link_write(struct wmk_link *link, const void *data, size_t size);
/* The events that poll() must wait for after -EAGAIN. */
short wmk_link_events(const struct wmk_link *link);
/* The socket, for poll() only. TLS may hold decrypted bytes, which poll() does not report. So read until -EAGAIN. */
int wmk_link_socket(const struct wmk_link *link);
/* Verify the peer's certificate against the current files of the relay. 0, or -EACCES with one message. Relay only. */
int wmk_link_verify(struct wmk_link *link);
/* The CN of the peer's certificate, a valid directory name, after wmk_link_verify() returned 0. NULL without TLS. */
const char *wmk_link_peer(const struct wmk_link *link);
/* The OU of the peer's certificate, "sender" or "viewer". "" if the certificate has none. Call as wmk_link_peer(). */
const char *wmk_link_role(const struct wmk_link *link);
/* Close the stream and the socket. NULL does nothing. */
void wmk_link_close(struct wmk_link *link);

#endif
