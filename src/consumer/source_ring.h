/* SPDX-License-Identifier: MIT */
/*
 * source_ring.h - a ring as a source of packets.
 */
#ifndef WMK_CONSUMER_SOURCE_RING_H
#define WMK_CONSUMER_SOURCE_RING_H

#include <stdint.h>

struct waymark_ring_set;
struct wmk_source;

/* 0 or -errno with a cause chain. The set must outlive *source. */
int wmk_source_ring_open(struct waymark_ring_set *set, uint32_t ring, struct wmk_source **source);

#endif
