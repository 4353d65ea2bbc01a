/* SPDX-License-Identifier: MIT */
/*
 * parse_time.c - parse times (see parse_time.h).
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "read/parse_time.h"

#define NS_PER_S 1000000000

/* Parse `least` to `most` decimal digits; the result is -1 for any other number of digits. */
static int64_t digits(const char **at, unsigned least, unsigned most)
{
	int64_t value = 0;
	unsigned n = 0;

	for (; n < most && **at >= '0' && **at <= '9'; n++)
		value = value * 10 + (*(*at)++ - '0');
	return n < least || (**at >= '0' && **at <= '9') ? -1 : value;
}

/* Parse decimals: ".5" gives 500000000; without decimals, 0. */
static int64_t decimals(const char **at)
{
	const char *begin;
	int64_t value;

	if (**at != '.')
		return 0;
	begin = ++*at;
	value = digits(at, 1, 9);
	for (long n = *at - begin; value >= 0 && n < 9; n++)
		value *= 10;
	return value;
}

static bool take(const char **at, char c)
{
	if (**at != c)
		return false;
	++*at;
	return true;
}

/* Parse HH:MM[:SS[.N]] into `tm` and the nanoseconds. Returns false if the text does not have this form. */
static bool take_clock(const char **at, struct tm *tm, int64_t *ns)
{
	int64_t hour = digits(at, 1, 2), minute = hour >= 0 && take(at, ':') ? digits(at, 2, 2) : -1, second = 0;

	if (minute >= 0 && take(at, ':'))
		second = digits(at, 2, 2);
	*ns = decimals(at);
	tm->tm_hour = (int)hour;
	tm->tm_min = (int)minute;
	tm->tm_sec = (int)second;
	return hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second <= 60 && *ns >= 0;
}

/* YYYY-MM-DD */
static bool take_date(const char **at, struct tm *tm)
{
	int64_t year = digits(at, 4, 4), month = year >= 0 && take(at, '-') ? digits(at, 1, 2) : -1;
	int64_t day = month >= 0 && take(at, '-') ? digits(at, 1, 2) : -1;

	tm->tm_year = (int)year - 1900;
	tm->tm_mon = (int)month - 1;
	tm->tm_mday = (int)day;
	return year >= 0 && month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

static bool take_seconds(const char **at, int64_t *ns)
{
	const bool is_negative = take(at, '-');
	int64_t seconds = digits(at, 1, 11), part = seconds >= 0 ? decimals(at) : -1;

	if (part < 0 || __builtin_mul_overflow(seconds, (int64_t)NS_PER_S, &seconds) ||
	    __builtin_add_overflow(seconds, part, ns))
		return false;
	*ns = is_negative ? -*ns : *ns;
	return true;
}

/* Convert the day of `near_ns` to broken-down time. */
static void day_of(int64_t near_ns, bool gmt, struct tm *tm)
{
	time_t second = (time_t)(near_ns / NS_PER_S - (near_ns % NS_PER_S < 0));

	if (gmt)
		gmtime_r(&second, tm);
	else
		localtime_r(&second, tm);
	tm->tm_hour = tm->tm_min = tm->tm_sec = 0;
}

int wmk_read_parse_time(const char *text, bool gmt, int64_t near_ns, int64_t *ns, bool *is_day)
{
	const bool bracket = text[0] == '[', has_date = *text && strchr(text + 1, '-') != NULL,
		   has_clock = strchr(text, ':') != NULL;
	const char *at = text + bracket;
	struct tm tm = { .tm_isdst = -1 };
	int64_t part = 0;
	bool fine;

	*is_day = has_date && !has_clock;
	if (!has_date && !has_clock) {
		fine = take_seconds(&at, ns);
	} else {
		day_of(near_ns, gmt, &tm);
		fine = !has_date || take_date(&at, &tm);
		if (fine && has_date && has_clock)
			fine = take(&at, ' ') || take(&at, 'T');
		if (fine && has_clock)
			fine = take_clock(&at, &tm, &part);
		tm.tm_isdst = -1;
		/* 64 bits of nanoseconds cover the years 1678 to 2262. */
		fine = fine && !__builtin_mul_overflow((int64_t)(gmt ? timegm(&tm) : mktime(&tm)), NS_PER_S, ns) &&
		       !__builtin_add_overflow(*ns, part, ns);
	}
	if (fine && bracket)
		fine = take(&at, ']');
	if (fine && !*at)
		return 0;
	return wmk_errorx(-EINVAL,
			  "invalid time '%.60s': give seconds since 1970 (1700000000.5), a date (2023-11-14), a "
			  "time of day (22:13:20.5), or both",
			  text);
}

int wmk_read_parse_range(const char *begin, const char *end, bool gmt, int64_t near_ns, int64_t *from, int64_t *to)
{
	const int64_t day = 86400 * INT64_C(1000000000);
	bool is_day;
	int err = 0;

	*from = INT64_MIN;
	*to = INT64_MAX;
	if (begin)
		err = wmk_read_parse_time(begin, gmt, near_ns, from, &is_day);
	if (err >= 0 && end) {
		err = wmk_read_parse_time(end, gmt, near_ns, to, &is_day);
		if (err >= 0 && is_day && __builtin_add_overflow(*to, day - 1, to))
			*to = INT64_MAX;
	}
	if (err >= 0 && *from > *to)
		return wmk_errorx(-EINVAL, "invalid time range: the end '%.60s' is before the begin '%.60s'",
				  end, begin);
	return err;
}
