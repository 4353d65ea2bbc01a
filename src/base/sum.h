/* SPDX-License-Identifier: MIT */
/*
 * sum.h - saturating sums of counts from untrusted sources: a sum that wraps around would look small.
 */
#ifndef WMK_BASE_SUM_H
#define WMK_BASE_SUM_H

#include <stdint.h>

/* Add `more` to *sum, up to UINT64_MAX. Any thread, async-signal-safe. */
static inline void wmk_sum_add(uint64_t *sum, uint64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum))
		*sum = UINT64_MAX;
}

#endif
