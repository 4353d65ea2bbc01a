/* SPDX-License-Identifier: MIT */
/*
 * handmade.h - compose records by hand, to test readers.
 */
#ifndef WMK_STORE_HANDMADE_H
#define WMK_STORE_HANDMADE_H

#include "store/store.h"

struct handmade {
	uint8_t bytes[65536];      /* header room, then records */
	size_t len;                /* of records */
	struct wmk_ctf_packet head;
};

extern const uint8_t handmade_uuid[16];

/* A clock of 2.5 GHz. */
void handmade_clock(struct wmk_clock *clock);
/* Metadata: trace and stream 0 with the given contexts (numbers, ended by 0). */
void handmade_start(struct wmk_store *store, const unsigned *contexts);
void handmade_event(struct wmk_store *store, uint32_t id, const struct wmk_event_class *event);

void handmade_packet(struct handmade *packet, uint64_t begin_ts);
/* The three record headers. */
void handmade_compact(struct handmade *packet, uint32_t id, uint64_t ts);
void handmade_medium(struct handmade *packet, uint32_t id, uint64_t ts);
void handmade_extended(struct handmade *packet, uint32_t id, uint64_t ts);
void handmade_put(struct handmade *packet, const void *bytes, size_t len);
/* Append it; end_ts is the time of the last record. */
int handmade_append(struct wmk_store_stream *stream, struct handmade *packet, uint64_t lost);

#endif
