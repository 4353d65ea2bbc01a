/* SPDX-License-Identifier: MIT */
/*
 * histogram.h - quantiles of durations and sizes, which differ by at most 1 % from the sorted values. The memory does
 * not depend on the number of values.
 *
 * Up to WMK_HISTOGRAM_EXACT values are kept as they are. More values are counted in buckets: each power of two has 64
 * buckets of equal width, which are allocated with the first value of that power. A quantile is the middle of its
 * bucket, which differs from each value of the bucket by at most 1/128. Sum, least and greatest value are exact.
 *
 * Initialize a histogram with zeros. One thread.
 */
#ifndef WMK_ANALYZE_HISTOGRAM_H
#define WMK_ANALYZE_HISTOGRAM_H

#include <stdint.h>

#define WMK_HISTOGRAM_EXACT 32u
#define WMK_HISTOGRAM_BUCKETS 64u      /* of one power of two */
#define WMK_HISTOGRAM_POWERS 59u       /* the first power has the values below 64, and one bucket for each */

struct wmk_histogram {
	uint64_t n, sum, least, most;
	uint64_t *values;              /* the first values; NULL if buckets are used */
	uint32_t cap;                  /* the capacity of `values` */
	/* NULL, or WMK_HISTOGRAM_POWERS pointers; each points to the buckets of one power, or is NULL */
	uint64_t **powers;
};

/* -ENOMEM with a cause chain. */
int wmk_histogram_add(struct wmk_histogram *histogram, uint64_t value);
/* Add all values of `other`. -ENOMEM with a cause chain. */
int wmk_histogram_merge(struct wmk_histogram *histogram, const struct wmk_histogram *other);
/*
 * The smallest value that is not less than `part` (0 to 1) of all values. For 100 sorted values, 0.99 gives the 99th. 0
 * without values.
 */
uint64_t wmk_histogram_quantile(const struct wmk_histogram *histogram, double part);
/* The value at `rank` of the sorted values: 1 is the least, n the greatest. A rank outside is limited to this range. */
uint64_t wmk_histogram_at_rank(const struct wmk_histogram *histogram, uint64_t rank);
void wmk_histogram_free(struct wmk_histogram *histogram);

#endif
