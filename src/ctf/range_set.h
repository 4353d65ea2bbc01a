/* SPDX-License-Identifier: MIT */
/*
 * range_set.h - which values are taken already: in 1.8 the first of several labels that have a value counts, in CTF 2
 * ranges may not meet. Internal to src/ctf; for rewrite_field.c.
 */
#ifndef WMK_CTF_RANGE_SET_H
#define WMK_CTF_RANGE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wmk_ctf_range {
	/* both included; where values are signed, with the first bit turned, so that their order is that of numbers */
	uint64_t from, to;
};

/* Apart from each other and in order. Starts from zeros; `spans` is the owner's to free. */
struct wmk_ctf_range_set {
	struct wmk_ctf_range *spans;
	uint32_t n, cap;
};

static inline uint64_t wmk_ctf_turned(uint64_t value, bool is_signed)
{
	return is_signed ? value ^ UINT64_C(1) << 63 : value;
}

/*
 * Take `from` to `to`, and give those of them that were free, in order, one by one. -ENOMEM, or what `give` returns
 * below 0.
 */
int wmk_ctf_range_set_add(struct wmk_ctf_range_set *taken, uint64_t from, uint64_t to,
		 int (*give)(void *data, uint64_t from, uint64_t to), void *data);

/*
 * The values from `from` to `to` of a number of so many bits that has a sign, as they are where it has none: up to two
 * spans, how many. A value that it cannot have is in none of them; nor is one below 0 of a number of more than 64 bits,
 * as that is too large.
 */
unsigned wmk_ctf_without_sign(unsigned width, int64_t from, int64_t to, struct wmk_ctf_range spans[2]);

#endif
