/* SPDX-License-Identifier: MIT */
/*
 * ingest_view.h - the requests of a viewer, which copies the files of a session (mirror.h). On a TLS connection, a
 * viewer may view the hosts that relay.conf allows, and a sender may view its own host.
 */
#ifndef WMK_RELAY_INGEST_VIEW_H
#define WMK_RELAY_INGEST_VIEW_H

#include "relay/ingest.h"

/* VIEW_LIST and VIEW_READ. 0 or -errno with a cause chain. */
int wmk_ingest_view_list(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, const void *request,
			 struct wmk_arena *arena);
int wmk_ingest_view_read(struct wmk_ingest *ingest, const struct wmk_relay_frame *frame, const void *request,
			 struct wmk_arena *arena);
/* Unlock all `.live` files, because the connection ends. */
void wmk_ingest_view_end(struct wmk_ingest *ingest);

#endif
