/* SPDX-License-Identifier: MIT */
/*
 * test_hash.c - the keyed hash: no two texts, or sequences of texts, collide for every key.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/hash.h"

#define KEYS 4u
#define MOST 70000u

static int by_value(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static void expect_all_differ(uint64_t *hashes, size_t n)
{
	assert_in_range(n, 1000, MOST);
	qsort(hashes, n, sizeof(*hashes), by_value);
	for (size_t i = 1; i < n; i++)
		assert_true(hashes[i] != hashes[i - 1]);
}

/* All texts of one or two bytes, and texts of 0 and 3 to 40 zero bytes. */
static size_t short_ones(uint64_t *hashes, const uint64_t key[2])
{
	const uint8_t zeros[40] = { 0 };
	size_t n = 0;

	for (unsigned value = 0; value < 65536; value++) {
		const uint8_t bytes[2] = { (uint8_t)value, (uint8_t)(value >> 8) };

		if (value < 256)
			hashes[n++] = wmk_hash_keyed(key[1], key, bytes, 1);
		hashes[n++] = wmk_hash_keyed(key[1], key, bytes, 2);
	}
	for (size_t len = 3; len <= sizeof(zeros); len++)
		hashes[n++] = wmk_hash_keyed(key[1], key, zeros, len);
	hashes[n++] = wmk_hash_keyed(key[1], key, zeros, 0);
	return n;
}

/*
 * All rows of four texts, each empty or of one byte from 1 to 15, with their NULs. A different length must not cancel a
 * different byte in the same or the next text.
 */
static size_t rows(uint64_t *hashes, const uint64_t key[2])
{
	size_t n = 0;

	for (unsigned row = 0; row < 65536; row++) {
		uint64_t hash = key[1];

		for (unsigned i = 0; i < 4; i++) {
			const uint8_t text[2] = { row >> 4 * i & 15, 0 };

			hash = wmk_hash_keyed(hash, key, text, text[0] ? 2 : 1);
		}
		hashes[n++] = hash;
	}
	return n;
}

static void different_texts_have_different_hashes_under_every_key(void **state)
{
	uint64_t *hashes = malloc(MOST * sizeof(*hashes)), seed = 1;

	(void)state;
	assert_non_null(hashes);
	for (unsigned i = 0; i < KEYS; i++) {
		uint64_t key[2];

		seed += 0x9e3779b97f4a7c15;
		key[0] = wmk_hash_fold(seed, 0xbf58476d1ce4e5b9);
		key[1] = wmk_hash_fold(seed, 0x94d049bb133111eb);
		expect_all_differ(hashes, short_ones(hashes, key));
		expect_all_differ(hashes, rows(hashes, key));
	}
	free(hashes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(different_texts_have_different_hashes_under_every_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
