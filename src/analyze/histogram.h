/* SPDX-License-Identifier: MIT */
/*
 * histogram.h - quantiles of durations and sizes, which differ by at most 1 % from the sorted values. The memory use
 * does not grow with the number of values.
 *
 * Up to WMK_HISTOGRAM_EXACT values are kept as they are. Further values are counted in buckets. Each power of two has
 * 64 buckets of equal width, which are allocated for the first value of that power. A quantile is the middle of its
 * bucket, so its error is at most 1/128 of the value. The sum, the least value and the greatest value are exact.
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
 * Return the quantile `part` (0 to 1): the smallest value that is greater than or equal to this part of all values.
 * With 100 sorted values, a `part` of 0.99 gives the 99th value. 0 without values.
 */
uint64_t wmk_histogram_quantile(const struct wmk_histogram *histogram, double part);
/*
 * Return the value with this rank in the sorted values: rank 1 is the least value, rank n the greatest. A rank outside
 * 1 to n is limited to this range.
 */
uint64_t wmk_histogram_at_rank(const struct wmk_histogram *histogram, uint64_t rank);
void wmk_histogram_free(struct wmk_histogram *histogram);

#endif
