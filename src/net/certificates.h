/* SPDX-License-Identifier: MIT */
/*
 * certificates.h - the certificate authority of a relay, as `waymark relay init, enroll, revoke` use it.
 *
 *     ca.crt, ca.key           the authority of this relay
 *     server.crt, server.key   the relay itself, for its names and addresses
 *     peers/NAME.crt           the certificate that was made for a peer; the relay has no copy of the peer's key
 *     revoked.crl              revoked certificates
 *
 * Files that contain a private key have mode 0600. Private keys are on the elliptic curve P-256. All functions return
 * 0, or -errno with a cause chain.
 */
#ifndef WMK_NET_CERTIFICATES_H
#define WMK_NET_CERTIFICATES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/peer_name.h"

enum wmk_peer_role { WMK_PEER_SENDER, WMK_PEER_VIEWER };

/*
 * Return the directory of the relay's certificates: $WAYMARK_RELAY_DIR, else /etc/waymark/relay (root), else
 * ~/.config/waymark/relay.
 */
int wmk_relay_dir(char *path, size_t size);
/*
 * Return the certificate file of a peer: $WAYMARK_RELAY_PEM, else /etc/waymark/relay.pem (root), else
 * ~/.config/waymark/relay.pem.
 */
int wmk_peer_file(char *path, size_t size);

/*
 * Create the directory, the certificate authority and the certificate of the relay. The certificate contains the `n`
 * given names or addresses. -EEXIST: the directory has an authority already.
 */
int wmk_certificates_init(const char *directory, const char *const names[], size_t n);
/*
 * Create a key and a certificate for a peer. Write the key, the certificate and the authority's certificate to the new
 * file `output`. The certificate is valid for `days` from now; a negative value makes an expired certificate, for
 * tests. -EEXIST: a valid certificate has this name, or the file exists.
 */
int wmk_certificates_enroll(const char *directory, const char *name, enum wmk_peer_role role, int days,
			    const char *output);
/*
 * Add the certificate of a peer to revoked.crl. The name of the peer can then be enrolled again. -ENOENT: no such peer.
 */
int wmk_certificates_revoke(const char *directory, const char *name);

struct wmk_peer_certificate {
	char name[WMK_PEER_NAME_MAX];
	enum wmk_peer_role role;
	time_t not_after;
};
/* Call `one` for each certificate in peers/, sorted by name, until `one` returns a value other than 0. */
int wmk_certificates_each(const char *directory, int (*one)(void *data, const struct wmk_peer_certificate *peer),
			  void *data);

#endif
