/* SPDX-License-Identifier: MIT */
/*
 * time_limits.c - the time of the records that a pipeline reads (see time_limits.h).
 */
#include <errno.h>
#include <time.h>

#include "base/error.h"
#include "read/parse_time.h"
#include "read/time_limits.h"

int wmk_read_limits_first(const struct wmk_read_merge *merge, const struct wmk_read_live *live, int64_t *ns)
{
	return live ? wmk_read_live_first(live, ns) : wmk_read_merge_first(merge, ns);
}

/*
 * Get the time that determines the day for a time of day: the time of the first record. If a followed trace has no
 * record yet, the current time determines this day.
 */
static int64_t first_time(const struct wmk_read_merge *merge, const struct wmk_read_live *live)
{
	struct timespec now;
	int64_t first = 0;

	if (wmk_read_limits_first(merge, live, &first) >= 0)
		return first;
	wmk_error_clear();
	if (!live)
		return 0;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int wmk_read_limits_set(struct wmk_read_merge *merge, struct wmk_read_live *live,
			const struct wmk_read_pipeline_options *options)
{
	int64_t from, to;
	int err;

	if (!options->begin && !options->end)
		return 0;
	err = wmk_read_parse_range(options->begin, options->end, options->print.gmt, first_time(merge, live), &from,
				   &to);
	if (err >= 0 && live)
		wmk_read_live_trim(live, from, to);
	else if (err >= 0)
		wmk_read_merge_trim(merge, from, to);
	return err;
}
