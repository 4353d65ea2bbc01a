/* SPDX-License-Identifier: MIT */
/* ingest_requests.h - the requests of a sender, which the relay answers at once (wire/relay_requests.def). */
#ifndef WMK_RELAY_INGEST_REQUESTS_H
#define WMK_RELAY_INGEST_REQUESTS_H

#include "relay/ingest.h"

/*
 * Run a request. If the request fails, the error is sent as the reply, and the function returns 0. -errno: the body
 * cannot be decoded, and the connection must end.
 */
int wmk_ingest_request(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame,
		       const struct wmk_request_type *type, const uint8_t *body);

#endif
