/* SPDX-License-Identifier: MIT */
/*
 * bytes.h - read and write integers in native byte order at unaligned addresses.
 */
#ifndef WMK_BASE_BYTES_H
#define WMK_BASE_BYTES_H

#include <stdint.h>
#include <string.h>

static inline uint32_t wmk_get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static inline uint64_t wmk_get64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static inline void wmk_put32(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, sizeof(value));
}

static inline void wmk_put64(uint8_t *at, uint64_t value)
{
	memcpy(at, &value, sizeof(value));
}

#endif
