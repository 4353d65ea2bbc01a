/* SPDX-License-Identifier: MIT */
/* scale.c - clock values as nanoseconds (see trace.h). */
#include "read/trace.h"

void wmk_read_scale_make(struct wmk_read_scale *scale, const struct wmk_ctf_clock_class *clock)
{
	const double per_s = 1e9;

	*scale = (struct wmk_read_scale){ .is_there = clock != NULL, .is_ns = true };
	if (!clock)
		return;
	scale->is_ns = clock->freq == 1000000000;
	scale->freq = (double)clock->freq;
	scale->origin = (uint64_t)clock->offset_s * 1000000000u +
			(scale->is_ns ? clock->offset : (uint64_t)(per_s * (double)clock->offset / scale->freq));
}

int64_t wmk_read_ns(const struct wmk_ctf_clock_class *clock, uint64_t value)
{
	struct wmk_read_scale scale;

	wmk_read_scale_make(&scale, clock);
	return wmk_read_scale_ns(&scale, value);
}
