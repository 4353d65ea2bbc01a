/* SPDX-License-Identifier: MIT */
/*
 * relay_url.h - the URL of a relay (docs/relay.md), as the output of a session:
 *
 *     tls://RELAY[:PORT]                TLS. HOST is the name in the certificate of this machine
 *     tcp://127.0.0.1[:PORT][/HOST]     plain TCP, for loopback addresses only: 127.x.x.x, [::1], localhost
 *
 * The relay stores the traces of this machine under the name HOST. With tcp://, HOST is the host name of this machine
 * by default.
 */
#ifndef WMK_WIRE_RELAY_URL_H
#define WMK_WIRE_RELAY_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/peer_name.h"

#define WMK_RELAY_URL_MAX 320u
#define WMK_RELAY_SPOOLS ".local/state/waymark/spool"      /* directory of all spools, in the home directory */
/* limits of a spool, in bytes: the default of --spool-size, and the minimum */
#define WMK_RELAY_SPOOL_DEFAULT (1ull << 30)
#define WMK_RELAY_SPOOL_MIN (256u << 10)

struct wmk_relay_url {
	char address[256];         /* name or address of the relay, without brackets */
	uint16_t port;
	bool tls;                  /* tls://: the certificate of this machine names its HOST */
	char host[WMK_PEER_NAME_MAX];   /* HOST; "": not in the URL */
};

/* 0, or -EINVAL with a cause chain that states the allowed forms. */
int wmk_relay_url_parse(const char *text, struct wmk_relay_url *url);
/*
 * Convert the host name of this machine to a valid HOST. Each invalid character becomes '-'. "localhost": no valid
 * name.
 */
void wmk_relay_own_name(char name[WMK_PEER_NAME_MAX]);

#endif
