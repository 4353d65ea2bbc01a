/* SPDX-License-Identifier: MIT */
/*
 * live_server.h - the LTTng-live server: viewers such as babeltrace2 read the traces below a directory HOST/SESSION
 * while they grow.
 *
 *     babeltrace2 --input-format=lttng-live net://localhost/host/HOST/SESSION
 *
 * One thread accepts connections. Each viewer has its own thread, so that a slow viewer does not delay the other
 * viewers. The protocol has no authentication, so the server listens only on loopback addresses.
 */
#ifndef WMK_RELAY_LIVE_SERVER_H
#define WMK_RELAY_LIVE_SERVER_H

#include <stdint.h>

#define WMK_LTTNG_LIVE_PORT 5344u  /* the port of lttng-relayd, which viewers use if the URL has no port */

struct wmk_lttng_live;

/*
 * Serve the directory `root` on this port of 127.0.0.1, in new threads. `port` 0: any free port. 0, or -errno with a
 * cause chain.
 */
int wmk_lttng_live_open(const char *root, uint16_t port, struct wmk_lttng_live **server);
/* Return the port on which the server listens. */
uint16_t wmk_lttng_live_port(const struct wmk_lttng_live *server);
/* Close all connections and join all threads. NULL does nothing. */
void wmk_lttng_live_close(struct wmk_lttng_live *server);

#endif
