/* SPDX-License-Identifier: MIT */
/* hash.h - bytes as a number: FNV-1a of 64 bits (Fowler, Noll, Vo). For tables of what nobody chooses to make them slow. */
#ifndef WMK_BASE_HASH_H
#define WMK_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define WMK_HASH_BEGIN UINT64_C(0xcbf29ce484222325)

/* Of `len` bytes behind those that `hash` is of. */
static inline uint64_t wmk_hash_bytes(uint64_t hash, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	while (len--)
		hash = (hash ^ *at++) * UINT64_C(0x100000001b3);
	return hash;
}

#endif
