/* SPDX-License-Identifier: MIT */
/*
 * range_set.h - set of the values that already have a label. In CTF 1.8, a reader uses the first of several labels for
 * a value; in CTF 2, ranges must not overlap. Internal to src/ctf; rewrite_field.c uses this set.
 */
#ifndef WMK_CTF_RANGE_SET_H
#define WMK_CTF_RANGE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wmk_ctf_range {
	/* both inclusive; for signed values the sign bit is inverted, so that unsigned order is numeric order */
	uint64_t from, to;
};

/* Disjoint ranges in order. The set starts zeroed; the owner frees `spans`. */
struct wmk_ctf_range_set {
	struct wmk_ctf_range *spans;
	uint32_t n, cap;
};

static inline uint64_t wmk_ctf_turned(uint64_t value, bool is_signed)
{
	return is_signed ? value ^ UINT64_C(1) << 63 : value;
}

/*
 * Add the range from `from` to `to`, and pass the parts of the range that were not in the set to `give`, in ascending
 * order. -ENOMEM, or a negative result of `give`.
 */
int wmk_ctf_range_set_add(struct wmk_ctf_range_set *taken, uint64_t from, uint64_t to,
		 int (*give)(void *data, uint64_t from, uint64_t to), void *data);

/*
 * Convert the values `from` to `to` of a signed number of `width` bits to the same bits without a sign. Returns the
 * number of spans, at most two. The spans omit values that the number cannot have. For a number of more than 64 bits,
 * the spans also omit negative values: a negative value without a sign does not fit the 64 bits of a span.
 */
unsigned wmk_ctf_without_sign(unsigned width, int64_t from, int64_t to, struct wmk_ctf_range spans[2]);

#endif
