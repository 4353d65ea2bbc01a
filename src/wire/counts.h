/* SPDX-License-Identifier: MIT */
/*
 * counts.h - counts of records (counts.def): one structure for streams, channels, sessions and totals. All components
 * between the consumer daemon and the client use struct wmk_counts.
 *
 * The counts come from other processes, so sums saturate instead of overflowing. Any thread may call any function of
 * this header.
 */
#ifndef WMK_WIRE_COUNTS_H
#define WMK_WIRE_COUNTS_H

#include <stdint.h>

#include <waymark/ring.h>

#include "base/sum.h"

struct wmk_counts {
#define WMK_COUNT(name) uint64_t name;
#define WMK_COUNT_INTERNAL(name) uint64_t name;
#include "wire/counts.def"
};

static inline void wmk_counts_add(struct wmk_counts *sum, const struct wmk_counts *more)
{
#define WMK_COUNT(name) wmk_sum_add(&sum->name, more->name);
#define WMK_COUNT_INTERNAL(name) wmk_sum_add(&sum->name, more->name);
#include "wire/counts.def"
}

/* Replace the part `old` of the sum by `now`. */
static inline void wmk_counts_replace(struct wmk_counts *sum, const struct wmk_counts *old,
				      const struct wmk_counts *now)
{
#define WMK_COUNT(name) sum->name -= old->name < sum->name ? old->name : sum->name;
#define WMK_COUNT_INTERNAL(name) sum->name -= old->name < sum->name ? old->name : sum->name;
#include "wire/counts.def"
	wmk_counts_add(sum, now);
}

#endif
