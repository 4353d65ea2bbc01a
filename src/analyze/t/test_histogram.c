/* SPDX-License-Identifier: MIT */
/*
 * test_histogram.c - quantiles of histogram.h differ by at most 1 % from the sorted values, for several distributions.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "analyze/histogram.h"
#include "base/array.h"

static uint64_t seed;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static uint64_t equal(void)
{
	return 12345;
}

static uint64_t small(void)
{
	return any() % 200;
}

static uint64_t even(void)
{
	return any() % 1000000007;
}

static uint64_t skewed(void)
{
	return any() >> any() % 64;
}

static uint64_t greatest(void)
{
	return UINT64_MAX - any() % 3;
}

static int by_value(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static void assert_near(uint64_t value, uint64_t sorted)
{
	const uint64_t distance = value > sorted ? value - sorted : sorted - value;

	if ((double)distance > 0.01 * (double)sorted)
		fail_msg("%lu is not within 1 %% of %lu", (unsigned long)value, (unsigned long)sorted);
}

static void check(const struct wmk_histogram *histogram, uint64_t *values, size_t n)
{
	static const double parts[] = { 0, 0.001, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 1 };

	qsort(values, n, sizeof(*values), by_value);
	assert_int_equal(histogram->n, n);
	assert_true(histogram->least == values[0] && histogram->most == values[n - 1]);
	for (unsigned i = 0; i < WMK_ARRAY_LEN(parts); i++) {
		const size_t rank = (size_t)ceil(parts[i] * (double)n);

		assert_near(wmk_histogram_quantile(histogram, parts[i]), values[rank ? rank - 1 : 0]);
	}
}

static void histogram_quantiles_approximate_those_of_sorted_values(void **state)
{
	static uint64_t (*const makes[])(void) = { equal, small, even, skewed, greatest };
	static const size_t sizes[] = { 1, 2, 31, 32, 33, 1000, 20000 };
	static uint64_t values[20000];

	(void)state;
	for (unsigned m = 0; m < WMK_ARRAY_LEN(makes); m++)
		for (unsigned s = 0; s < WMK_ARRAY_LEN(sizes); s++) {
			struct wmk_histogram histogram = { 0 };
			uint64_t sum = 0;

			for (size_t i = 0; i < sizes[s]; i++) {
				values[i] = makes[m]();
				sum += values[i];
				assert_int_equal(wmk_histogram_add(&histogram, values[i]), 0);
			}
			assert_true(histogram.sum == sum);
			check(&histogram, values, sizes[s]);
			wmk_histogram_free(&histogram);
		}
}

static void merged_histograms_have_all_values(void **state)
{
	static const size_t sizes[] = { 5, 32, 100, 3000 };
	static uint64_t values[6000];

	(void)state;
	for (unsigned a = 0; a < WMK_ARRAY_LEN(sizes); a++)
		for (unsigned b = 0; b < WMK_ARRAY_LEN(sizes); b++) {
			struct wmk_histogram whole = { 0 }, part = { 0 };
			size_t n = 0;

			for (size_t i = 0; i < sizes[a]; i++)
				assert_int_equal(wmk_histogram_add(&whole, values[n++] = even()), 0);
			for (size_t i = 0; i < sizes[b]; i++)
				assert_int_equal(wmk_histogram_add(&part, values[n++] = even()), 0);
			assert_int_equal(wmk_histogram_merge(&whole, &part), 0);
			check(&whole, values, n);
			wmk_histogram_free(&whole);
			wmk_histogram_free(&part);
		}
}

/* Values below 64 have a bucket each, so that each rank has its exact value. */
static void histogram_values_below_64_have_exact_ranks(void **state)
{
	struct wmk_histogram histogram = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 640; i++)
		assert_int_equal(wmk_histogram_add(&histogram, 63 - i / 10), 0);
	for (uint64_t rank = 1; rank <= 640; rank++)
		assert_true(wmk_histogram_at_rank(&histogram, rank) == (rank - 1) / 10);
	assert_true(wmk_histogram_at_rank(&histogram, 0) == 0 && wmk_histogram_at_rank(&histogram, 641) == 63);
	wmk_histogram_free(&histogram);
}

static void empty_histogram_has_quantile_zero(void **state)
{
	const struct wmk_histogram histogram = { 0 };

	(void)state;
	assert_true(wmk_histogram_quantile(&histogram, 0.5) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(histogram_quantiles_approximate_those_of_sorted_values),
		cmocka_unit_test(merged_histograms_have_all_values),
		cmocka_unit_test(histogram_values_below_64_have_exact_ranks),
		cmocka_unit_test(empty_histogram_has_quantile_zero),
	};

	seed = (uint64_t)time(NULL) | 1;
	printf("seed %lu\n", (unsigned long)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
