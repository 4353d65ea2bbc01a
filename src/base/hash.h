/* SPDX-License-Identifier: MIT */
/*
 * hash.h - hash functions: 64-bit FNV-1a (Fowler, Noll, Vo) for tables with keys that no attacker chooses, and a keyed
 * hash for all other tables.
 */
#ifndef WMK_BASE_HASH_H
#define WMK_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WMK_HASH_BEGIN UINT64_C(0xcbf29ce484222325)

/* Continue `hash` with `len` bytes. */
static inline uint64_t wmk_hash_bytes(uint64_t hash, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	while (len--)
		hash = (hash ^ *at++) * UINT64_C(0x100000001b3);
	return hash;
}

/*
 * Combine both halves of the product by XOR, so that each input bit affects the whole result (as in wyhash, by Wang Yi
 * and others).
 */
static inline uint64_t wmk_hash_fold(uint64_t a, uint64_t b)
{
	const unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/*
 * Hash bytes that an attacker may choose, eight bytes per step. Collisions cannot be predicted without the key.
 */
static inline uint64_t wmk_hash_keyed(uint64_t hash, const uint64_t key[2], const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	const uint64_t last = (uint64_t)len << 56;
	uint64_t word;

	for (; len >= sizeof(word); at += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = wmk_hash_fold(hash ^ word, key[0] | 1) + key[1];
	}
	/*
	 * The remaining bytes fill less than a word, so the last byte of this word is free, and stores the low byte of
	 * the length.
	 */
	word = 0;
	memcpy(&word, at, len);
	word |= last;
	return wmk_hash_fold(hash ^ word, key[0] | 1) + key[1];
}

#endif
