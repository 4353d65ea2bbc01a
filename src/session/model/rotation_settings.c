/* SPDX-License-Identifier: MIT */
/* rotation_settings.c - see rotation_settings.h. */
#include "session/model/rotation_settings.h"

#include "base/error.h"

#include <errno.h>
#include <inttypes.h>

#define PARTS 10u                      /* retention rotates at this part of the kept size or time */
#define TIMER_MIN_US 100000u
#define AGE_MIN_US 1000000u
#define SIZE_MIN 4096u
#define TIME_MAX_US 1000000000000000u  /* 31 years: nanoseconds fit into 64 bits */

/* The smaller of two limits. 0: no limit. */
static uint64_t limit(uint64_t a, uint64_t b)
{
	return a && (a < b || !b) ? a : b;
}

uint64_t wmk_settings_rotate_us(const struct wmk_ctl_settings *settings)
{
	return limit(settings->rotate_us, settings->retain_us / PARTS);
}

uint64_t wmk_settings_chunk_max(const struct wmk_ctl_settings *settings)
{
	return limit(settings->rotate_size, settings->retain_size / PARTS);
}

static int range(const char *option, uint64_t value, uint64_t min, uint64_t max, const char *unit)
{
	if (!value || (value >= min && value <= max))
		return 0;
	return wmk_errorx(-EINVAL, "%s: %" PRIu64 " %s is too %s: the %s is %" PRIu64, option, value, unit,
			  value < min ? "small" : "large", value < min ? "minimum" : "maximum",
			  value < min ? min : max);
}

int wmk_settings_rotation_check(const struct wmk_ctl_settings *settings)
{
	int err = range("--timer", settings->rotate_us, TIMER_MIN_US, TIME_MAX_US, "microseconds");

	if (err == 0)
		err = range("--size", settings->rotate_size, SIZE_MIN, INT64_MAX, "bytes");
	if (err == 0)
		err = range("--retain-size", settings->retain_size, (uint64_t)PARTS * SIZE_MIN, INT64_MAX, "bytes");
	if (err == 0)
		err = range("--retain-age", settings->retain_us, AGE_MIN_US, TIME_MAX_US, "microseconds");
	/* A spool holds only a part of the trace, so the sizes and ages of chunks are unknown in a spool. */
	if (err == 0 && settings->url && *settings->url &&
	    (settings->rotate_size || settings->retain_size || settings->retain_us || settings->retain_count))
		return wmk_errorx(-EINVAL, "a session with a relay (--set-url) rotates by time only (--timer), and "
				  "keeps no chunks on this machine");
	if (err < 0 || !settings->snapshot)
		return err;
	return settings->rotate_us || settings->rotate_size || settings->retain_size || settings->retain_us ||
			       settings->retain_count
		       ? wmk_errorx(-EINVAL, "a schedule of rotations has no effect with --snapshot: only "
				    "snapshots are written")
		       : 0;
}
