/* SPDX-License-Identifier: MIT */
/*
 * time_limits.h - the time of the records that a pipeline reads: the first one, and a part that is selected. Internal
 * to src/read. Exactly one of `merge` and `live` is NULL.
 */
#ifndef WMK_READ_TIME_LIMITS_H
#define WMK_READ_TIME_LIMITS_H

#include "read/merge.h"
#include "read/pipeline.h"

/* Get the time of the first record, in ns. -ENODATA: unknown, or no record yet. */
int wmk_read_limits_first(const struct wmk_read_merge *merge, const struct wmk_read_live *live, int64_t *ns);
/* Select the records from `begin` to `end`, which are members of the options. */
int wmk_read_limits_set(struct wmk_read_merge *merge, struct wmk_read_live *live,
			const struct wmk_read_pipeline_options *options);

#endif
