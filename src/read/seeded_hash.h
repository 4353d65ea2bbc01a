/* SPDX-License-Identifier: MIT */
/*
 * seeded_hash.h - numbers out of a trace as places in a table: mixed with what is another in each process, so that no
 * trace can choose them to meet.
 */
#ifndef WMK_READ_SEEDED_HASH_H
#define WMK_READ_SEEDED_HASH_H

#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

/* The finisher of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static inline uint64_t wmk_read_mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static inline uint64_t wmk_read_hash(uint64_t a, uint64_t b)
{
	uint64_t seed[2];

	memcpy(seed, (const void *)getauxval(AT_RANDOM), sizeof(seed));
	return wmk_read_mix(wmk_read_mix(a + seed[0]) + b + seed[1]);
}

#endif
