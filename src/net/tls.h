/* SPDX-License-Identifier: MIT */
/*
 * tls.h - the key, the certificate and the trusted authorities of one end of a link, for TLS 1.3 (OpenSSL).
 *
 *     relay:  ca.crt, server.crt, server.key, revoked.crl in its directory (certificates.h)
 *     peer:   one PEM file with key, certificate and authority, made by `waymark relay enroll`
 *
 * Several links can use one object at the same time, in any threads.
 */
#ifndef WMK_NET_TLS_H
#define WMK_NET_TLS_H

struct wmk_tls;

/* Read the relay's certificate files. -ENOENT: no such file; other -errno with a cause chain. */
int wmk_tls_open_server(const char *directory, struct wmk_tls **tls);
/* Read the certificate file of a peer. The file must not be readable by other users. */
int wmk_tls_open_client(const char *file, struct wmk_tls **tls);
/*
 * If ca.crt or revoked.crl of the relay has changed, read both files again. 1: changed, so each link must be verified
 * again; 0: not changed; -errno with a cause chain: the former files stay in use.
 */
int wmk_tls_reload(struct wmk_tls *tls);
/*
 * Return the CN of this process's certificate, which is the name of the machine or user; "" if the certificate has no
 * CN. Valid until the close.
 */
const char *wmk_tls_own_name(const struct wmk_tls *tls);
/* All links that use the object must be closed before this call. NULL does nothing. */
void wmk_tls_close(struct wmk_tls *tls);

#endif
