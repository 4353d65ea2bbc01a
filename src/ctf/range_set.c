/* SPDX-License-Identifier: MIT */
/*
 * range_set.c - a set of values as a sorted array of disjoint ranges (see range_set.h). A binary search finds the
 * position for a new range. The new range is merged with the ranges that overlap it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "ctf/range_set.h"

/* Return the first range that ends at or after `value`. */
static uint32_t find(const struct wmk_ctf_range_set *taken, uint64_t value)
{
	uint32_t low = 0, high = taken->n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (taken->spans[middle].to < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int grow(struct wmk_ctf_range_set *taken)
{
	struct wmk_ctf_range *spans = wmk_array_room(taken->spans, taken->n, &taken->cap, sizeof(*spans));

	if (!spans)
		return wmk_error(-ENOMEM, "no memory for ranges of values");
	taken->spans = spans;
	return 0;
}

int wmk_ctf_range_set_add(struct wmk_ctf_range_set *taken, uint64_t from, uint64_t to,
		 int (*give)(void *data, uint64_t from, uint64_t to), void *data)
{
	uint32_t first = find(taken, from), end = first;
	uint64_t next = from;
	struct wmk_ctf_range all = { from, to };
	int err = from <= to ? grow(taken) : -ERANGE;

	/* Merge the ranges that overlap the new range. */
	for (; err >= 0 && end < taken->n && taken->spans[end].from <= to; end++) {
		const struct wmk_ctf_range *span = &taken->spans[end];

		if (next < span->from)
			err = give(data, next, span->from - 1);
		all.from = span->from < all.from ? span->from : all.from;
		all.to = span->to > all.to ? span->to : all.to;
		next = span->to + 1;
		if (span->to >= to) {
			end++;
			break;
		}
	}
	if (err >= 0 && (end == first || taken->spans[end - 1].to < to))
		err = give(data, next, to);
	if (err < 0)
		return err == -ERANGE ? 0 : err;
	memmove(taken->spans + first + 1, taken->spans + end, (taken->n - end) * sizeof(all));
	taken->spans[first] = all;
	taken->n = taken->n + 1 - (end - first);
	return 0;
}

unsigned wmk_ctf_without_sign(unsigned width, int64_t from, int64_t to, struct wmk_ctf_range spans[2])
{
	const uint64_t mask = width < 64 ? (UINT64_C(1) << width) - 1 : UINT64_MAX;
	const int64_t most = (int64_t)(mask >> 1);
	unsigned n = 0;

	from = from < -most - 1 ? -most - 1 : from;
	to = to > most ? most : to;
	if (from < 0 && from <= to && width <= 64)
		spans[n++] = (struct wmk_ctf_range){ (uint64_t)from & mask, (uint64_t)(to < 0 ? to : -1) & mask };
	if (to >= 0 && from <= to)
		spans[n++] = (struct wmk_ctf_range){ from < 0 ? 0 : (uint64_t)from, (uint64_t)to };
	return n;
}
