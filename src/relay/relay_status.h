/* SPDX-License-Identifier: MIT */
/* relay_status.h - the reply to STATUS. */
#ifndef WMK_RELAY_RELAY_STATUS_H
#define WMK_RELAY_RELAY_STATUS_H

#include "relay/ingest.h"

/*
 * The status of all hosts. If the peer has a certificate, the status contains only the peer's own host. 0 or -errno
 * with a cause chain.
 */
int wmk_relay_status_collect(const struct wmk_ingest *ingest, struct wmk_arena *arena,
			     struct wmk_relay_status *status);

#endif
