/* SPDX-License-Identifier: MIT */
/*
 * sum.h - sums of counts that come from outside: they saturate, as a sum that wraps is taken for a small one.
 */
#ifndef WMK_BASE_SUM_H
#define WMK_BASE_SUM_H

#include <stdint.h>

/* Add to *sum, to UINT64_MAX at most. Any thread, async-signal-safe. */
static inline void wmk_sum_add(uint64_t *sum, uint64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum))
		*sum = UINT64_MAX;
}

#endif
