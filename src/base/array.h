/* SPDX-License-Identifier: MIT */
/*
 * array.h - length of an array, and growth of an array on the heap.
 */
#ifndef WMK_BASE_ARRAY_H
#define WMK_BASE_ARRAY_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WMK_ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Make room for one more element of `size` bytes after the first `n` elements of `items` (malloc'd, or NULL).
 *
 * Returns the array, which may have moved; if the array was full, *cap doubles. Returns NULL if there is no memory;
 * `items` and *cap are unchanged then. Any thread.
 */
static inline void *wmk_array_room(void *items, uint32_t n, uint32_t *cap, size_t size)
{
	const uint32_t larger = *cap ? 2 * *cap : 16;

	if (n < *cap)
		return items;
	items = larger > *cap ? reallocarray(items, larger, size) : NULL;
	if (items)
		*cap = larger;
	return items;
}

/*
 * Grow an array that is used by index, so that `items[index]` is valid. *cap is the number of elements; new elements
 * are zero. Returns as wmk_array_room() does.
 */
static inline void *wmk_array_reach(void *items, uint32_t index, uint32_t *cap, size_t size)
{
	uint64_t larger = *cap ? *cap : 4;

	if (index < *cap)
		return items;
	while (larger <= index)
		larger *= 2;
	items = larger <= UINT32_MAX ? reallocarray(items, larger, size) : NULL;
	if (items) {
		memset((char *)items + *cap * size, 0, (larger - *cap) * size);
		*cap = (uint32_t)larger;
	}
	return items;
}

#endif
