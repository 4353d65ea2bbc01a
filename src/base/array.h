/* SPDX-License-Identifier: MIT */
/*
 * array.h - the number of elements of an array, and arrays that grow.
 */
#ifndef WMK_BASE_ARRAY_H
#define WMK_BASE_ARRAY_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define WMK_ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Room for one more element of `size` bytes behind the first `n` of `items`, which is malloc'd or NULL: where they are
 * now, with *cap twice as large if need be. NULL: no memory, and nothing has changed. Any thread.
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

#endif
