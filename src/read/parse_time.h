/* SPDX-License-Identifier: MIT */
/*
 * parse_time.h - a time as people write it:
 *
 *     1700000000, 1700000000.5              seconds since 1970, with up to nine decimals; negative ones too
 *     2023-11-14, 2023-11-14 22:13          a date, and a time of that day
 *     22:13:20, 22:13:20.000000022          a time of the day on which the trace begins
 *
 * A 'T' may stand for the blank, brackets around all of it are taken off (as lines of text have them). Dates and times
 * of day are of the local time zone, or of UTC.
 */
#ifndef WMK_READ_PARSE_TIME_H
#define WMK_READ_PARSE_TIME_H

#include <stdbool.h>
#include <stdint.h>

/*
 * As nanoseconds since 1970. `near_ns`: a time on the day that is meant when none is said. `*is_day`: only a day was
 * said, *ns is its begin. -EINVAL with words: it is no time.
 */
int wmk_read_parse_time(const char *text, bool gmt, int64_t near_ns, int64_t *ns, bool *is_day);

#endif
