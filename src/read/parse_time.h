/* SPDX-License-Identifier: MIT */
/*
 * parse_time.h - parse a time as users write it:
 *
 *     1700000000, 1700000000.5              seconds since 1970, with up to nine decimals; may be negative
 *     2023-11-14, 2023-11-14 22:13          a date, and a time of that day
 *     22:13:20, 22:13:20.000000022          a time of the day on which the trace begins
 *
 * The date and the time may be separated by 'T' instead of a blank. The parser ignores brackets around the time,
 * because traces in text form contain times in brackets. Dates and times of day are in the local time zone or in UTC.
 */
#ifndef WMK_READ_PARSE_TIME_H
#define WMK_READ_PARSE_TIME_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Convert to nanoseconds since 1970. `near_ns` is a time on the day to use if the text contains no date. `*is_day`
 * becomes true if the text contains only a date, and *ns becomes the beginning of that day. -EINVAL with a cause chain:
 * not a time.
 */
int wmk_read_parse_time(const char *text, bool gmt, int64_t near_ns, int64_t *ns, bool *is_day);
/*
 * Convert the times `begin` and `end`. NULL means no limit. If `end` is only a date, the interval includes the whole
 * day. -EINVAL with a cause chain: not a time, or the end precedes the begin.
 */
int wmk_read_parse_range(const char *begin, const char *end, bool gmt, int64_t near_ns, int64_t *from, int64_t *to);

#endif
