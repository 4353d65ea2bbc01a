/* SPDX-License-Identifier: MIT */
/* status_query.h - query the status of a running relay, over plain TCP on a loopback address. */
#ifndef WMK_RELAY_STATUS_QUERY_H
#define WMK_RELAY_STATUS_QUERY_H

#include "wire/relay.h"

#define WMK_RELAY_STATUS_DEFAULT "127.0.0.1:5850"

/*
 * `at` is ADDR:PORT with a numeric loopback address. The status is allocated in the arena, which the caller frees.
 * -ECONNREFUSED: no relay listens at this address. Other errors are -errno with a cause chain; if the relay refuses the
 * request, the chain contains the relay's error message.
 */
int wmk_relay_status_query(const char *at, struct wmk_arena *arena, struct wmk_relay_status *status);

#endif
