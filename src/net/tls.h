/* SPDX-License-Identifier: MIT */
/*
 * tls.h - the key, the certificate and the trusted authorities of one end of a link, for TLS 1.3 (OpenSSL).
 *
 *     relay:  ca.crt, server.crt, server.key, revoked.crl in its directory (certificates.h)
 *     peer:   one PEM file with key, certificate and authority, made by `waymark relay enroll`
 *
 * Several links may use an object at a time, in any threads.
 */
#ifndef WMK_NET_TLS_H
#define WMK_NET_TLS_H

struct wmk_tls;

/* Read the files of the relay. -ENOENT: no such file; other -errno with a cause chain. */
int wmk_tls_open_server(const char *directory, struct wmk_tls **tls);
/* Read the file of a peer. Other users must not be able to read the file. */
int wmk_tls_open_client(const char *file, struct wmk_tls **tls);
/*
 * Read ca.crt and revoked.crl of a server again, if one of them has changed. 1: changed, so each link must be verified
 * again; 0: not changed; -errno with a cause chain: the former files stay in use.
 */
int wmk_tls_reload(struct wmk_tls *tls);
/* The CN of the own certificate, the name of this machine or user; "" if it has none. Valid until the close. */
const char *wmk_tls_own_name(const struct wmk_tls *tls);
/* All links that use the object must be closed. NULL does nothing. */
void wmk_tls_close(struct wmk_tls *tls);

#endif
