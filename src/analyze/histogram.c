/* SPDX-License-Identifier: MIT */
/*
 * histogram.c - a log-linear histogram (see histogram.h).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/histogram.h"
#include "base/error.h"

#define BITS 6u                        /* 1 << BITS is WMK_HISTOGRAM_BUCKETS */

static unsigned power_of(uint64_t value)
{
	return value < WMK_HISTOGRAM_BUCKETS ? 0 : 64 - BITS - (unsigned)__builtin_clzll(value);
}

static unsigned bucket_of(uint64_t value, unsigned power)
{
	return (unsigned)(power ? value >> (power - 1) : value) & (WMK_HISTOGRAM_BUCKETS - 1);
}

static uint64_t middle_of(unsigned power, unsigned bucket)
{
	if (power < 2)
		return power * WMK_HISTOGRAM_BUCKETS + bucket;
	return ((uint64_t)(WMK_HISTOGRAM_BUCKETS + bucket) << (power - 1)) + ((uint64_t)1 << (power - 2));
}

static int no_memory(void)
{
	return wmk_error(-ENOMEM, "no memory for a histogram");
}

static int count(struct wmk_histogram *histogram, uint64_t value, uint64_t times)
{
	const unsigned power = power_of(value);

	if (!histogram->powers[power])
		histogram->powers[power] = calloc(WMK_HISTOGRAM_BUCKETS, sizeof(uint64_t));
	if (!histogram->powers[power])
		return no_memory();
	histogram->powers[power][bucket_of(value, power)] += times;
	return 0;
}

/* Replace the exact values by buckets. */
static int use_buckets(struct wmk_histogram *histogram)
{
	const uint64_t n = histogram->values ? histogram->n : 0;
	int err = 0;

	histogram->powers = calloc(WMK_HISTOGRAM_POWERS, sizeof(*histogram->powers));
	if (!histogram->powers)
		return no_memory();
	for (uint64_t i = 0; i < n && err >= 0; i++)
		err = count(histogram, histogram->values[i], 1);
	free(histogram->values);
	histogram->values = NULL;
	return err;
}

static int keep(struct wmk_histogram *histogram, uint64_t value)
{
	if (histogram->n == histogram->cap) {
		const uint32_t cap = histogram->cap ? 2 * histogram->cap : 4;
		uint64_t *more = reallocarray(histogram->values, cap, sizeof(*more));

		if (!more)
			return no_memory();
		histogram->values = more;
		histogram->cap = cap;
	}
	histogram->values[histogram->n] = value;
	return 0;
}

int wmk_histogram_add(struct wmk_histogram *histogram, uint64_t value)
{
	int err = 0;

	if (!histogram->powers && histogram->n < WMK_HISTOGRAM_EXACT)
		err = keep(histogram, value);
	else if (!histogram->powers)
		err = use_buckets(histogram);
	if (err >= 0 && histogram->powers)
		err = count(histogram, value, 1);
	if (err < 0)
		return err;
	if (!histogram->n || value < histogram->least)
		histogram->least = value;
	if (value > histogram->most)
		histogram->most = value;
	histogram->sum += value;
	histogram->n++;
	return 0;
}

int wmk_histogram_merge(struct wmk_histogram *histogram, const struct wmk_histogram *other)
{
	int err = 0;

	if (!other->powers) {
		for (uint64_t i = 0; i < other->n && err >= 0; i++)
			err = wmk_histogram_add(histogram, other->values[i]);
		return err;
	}
	if (!histogram->powers)
		err = use_buckets(histogram);
	for (unsigned power = 0; power < WMK_HISTOGRAM_POWERS; power++)
		for (unsigned i = 0; other->powers[power] && i < WMK_HISTOGRAM_BUCKETS && err >= 0; i++)
			if (other->powers[power][i])
				err = count(histogram, middle_of(power, i), other->powers[power][i]);
	if (err < 0)
		return err;
	if (!histogram->n || other->least < histogram->least)
		histogram->least = other->least;
	if (other->most > histogram->most)
		histogram->most = other->most;
	histogram->sum += other->sum;
	histogram->n += other->n;
	return 0;
}

static int by_value(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

/*
 * The middle of a bucket can be outside the range of the counted values, so the result is limited to the least and
 * greatest value.
 */
static uint64_t within(const struct wmk_histogram *histogram, uint64_t value)
{
	return value < histogram->least ? histogram->least : value > histogram->most ? histogram->most : value;
}

uint64_t wmk_histogram_quantile(const struct wmk_histogram *histogram, double part)
{
	return wmk_histogram_at_rank(histogram, (uint64_t)ceil(part * (double)histogram->n));
}

uint64_t wmk_histogram_at_rank(const struct wmk_histogram *histogram, uint64_t rank)
{
	uint64_t sorted[WMK_HISTOGRAM_EXACT], seen = 0;

	if (!histogram->n)
		return 0;
	rank = rank < 1 ? 1 : rank > histogram->n ? histogram->n : rank;
	if (!histogram->powers) {
		memcpy(sorted, histogram->values, histogram->n * sizeof(*sorted));
		qsort(sorted, histogram->n, sizeof(*sorted), by_value);
		return sorted[rank - 1];
	}
	for (unsigned power = 0; power < WMK_HISTOGRAM_POWERS; power++)
		for (unsigned i = 0; histogram->powers[power] && i < WMK_HISTOGRAM_BUCKETS; i++) {
			seen += histogram->powers[power][i];
			if (seen >= rank)
				return within(histogram, middle_of(power, i));
		}
	return histogram->most;
}

void wmk_histogram_free(struct wmk_histogram *histogram)
{
	for (unsigned power = 0; histogram->powers && power < WMK_HISTOGRAM_POWERS; power++)
		free(histogram->powers[power]);
	free(histogram->powers);
	free(histogram->values);
	*histogram = (struct wmk_histogram){ 0 };
}
