/* SPDX-License-Identifier: MIT */
/*
 * log_time.c - convert the time of a line to nanoseconds since 1970 (see log_time.h).
 */
#include "import/log_time.h"

#include <string.h>
#include <time.h>

#define SECOND 1000000000
#define DAY_S 86400

void wmk_import_log_time_begin(struct wmk_import_log_time *when, const struct wmk_import_options *options)
{
	memset(when, 0, sizeof(*when));
	when->year = options->year;
	when->has_origin = options->has_origin;
	when->origin_ns = options->origin_ns;
	when->before_ns = options->has_origin ? options->origin_ns : 0;
}

void wmk_import_log_time_of_file(struct wmk_import_log_time *when, int64_t near_ns)
{
	when->near_ns = near_ns;
	when->has_day = when->has_step = false;
	when->year_now = when->year;
	when->month = 0;
}

/*
 * Return the offset of local time to UTC at `seconds`, which is local time counted as if it were UTC. The function
 * caches the offset for a quarter of an hour, because zones change only at multiples of a quarter of an hour.
 */
static int64_t ahead(struct wmk_import_log_time *when, int64_t seconds)
{
	const int64_t quarter = seconds / 900 + 1;
	time_t local = (time_t)seconds, utc;
	struct tm tm;

	if (when->quarter == quarter)
		return when->offset_s;
	when->quarter = quarter;
	when->offset_s = 0;
	if (gmtime_r(&local, &tm)) {
		tm.tm_isdst = -1;
		utc = mktime(&tm);
		/* (daylight saving may skip this time; mktime() then moves it to a time that exists) */
		if (utc != (time_t)-1)
			when->offset_s = seconds - (int64_t)utc;
	}
	return when->offset_s;
}

/* Convert nanoseconds since 1970 to local time, counted as if it were UTC. */
static int64_t local_of(int64_t ns)
{
	const time_t seconds = (time_t)(ns / SECOND);
	struct tm tm;
	int64_t days;

	if (!localtime_r(&seconds, &tm))
		return (int64_t)seconds;
	days = wmk_import_days(tm.tm_year + 1900, (unsigned)tm.tm_mon + 1, (unsigned)tm.tm_mday);
	return days < 0 ? (int64_t)seconds : days * DAY_S + tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec;
}

/*
 * Return the number of days from 1970 to a date without a year. The result is the last year in which the date is at
 * most one day later than the modification time of the file. The tolerance of one day is needed because the writer of
 * the log may be in another time zone. -1: no such year.
 */
static int64_t last_year(const struct wmk_import_log_time *when, const struct wmk_import_timestamp *stamp)
{
	const int64_t near = local_of(when->near_ns);
	int64_t year = 1970 + near / (365 * (int64_t)DAY_S) + 1;

	/* (at most eight years pass without a 29th of February) */
	for (int tries = 0; tries < 12; tries++, year--) {
		const int64_t days = wmk_import_days(year, stamp->month, stamp->day);

		if (days >= 0 && days * DAY_S + stamp->seconds <= near + DAY_S)
			return days;
	}
	return -1;
}

static int64_t date_days(struct wmk_import_log_time *when, const struct wmk_import_timestamp *stamp)
{
	if (!when->year) {
		when->assumed |= WMK_IMPORT_ASSUMED_YEAR;
		return last_year(when, stamp);
	}
	if (when->month && stamp->month + 6 < when->month)
		when->year_now++;
	else if (when->month && stamp->month > when->month + 6 && when->year_now > when->year)
		when->year_now--;        /* an earlier line after the turn of the year */
	when->month = stamp->month;
	return wmk_import_days(when->year_now, stamp->month, stamp->day);
}

static int64_t day_seconds(struct wmk_import_log_time *when, const struct wmk_import_timestamp *stamp)
{
	if (!when->has_day) {
		const int64_t near = local_of(when->has_origin ? when->origin_ns : when->near_ns);

		when->day_s = near / DAY_S * DAY_S;
		if (!when->has_origin) {
			when->assumed |= WMK_IMPORT_ASSUMED_DAY;
			if (stamp->seconds > near % DAY_S && when->day_s >= DAY_S)
				when->day_s -= DAY_S;
		}
	} else if (stamp->seconds + DAY_S / 2 < when->seconds) {
		when->day_s += DAY_S;
	} else if (stamp->seconds > when->seconds + DAY_S / 2 && when->day_s >= DAY_S) {
		when->day_s -= DAY_S;    /* an earlier line after midnight */
	}
	when->has_day = true;
	when->seconds = stamp->seconds;
	return when->day_s + stamp->seconds;
}

/* *total = base_ns + seconds + ns. Returns false for a time before 1970, or beyond the range of 63 bits. */
static bool sum(int64_t base_ns, int64_t seconds, uint32_t ns, int64_t *total)
{
	int64_t whole;

	return !__builtin_mul_overflow(seconds, (int64_t)SECOND, &whole) &&
	       !__builtin_add_overflow(whole, (int64_t)ns, &whole) && !__builtin_add_overflow(whole, base_ns, total) &&
	       *total >= 0;
}

static bool place(struct wmk_import_log_time *when, const struct wmk_import_timestamp *stamp, int64_t *ns)
{
	int64_t seconds = stamp->seconds, days;

	switch (stamp->since) {
	case WMK_IMPORT_ORIGIN:
		if (!when->has_origin)
			when->assumed |= WMK_IMPORT_ASSUMED_ORIGIN;
		return sum(when->has_origin ? when->origin_ns : 0, seconds, stamp->ns, ns);
	case WMK_IMPORT_STEP:
		/* A step is a time relative to the previous line, if the time of the previous line is known. */
		if (!when->has_step && !when->before_ns && !when->has_origin)
			when->assumed |= WMK_IMPORT_ASSUMED_ORIGIN;
		when->has_step = true;
		return sum(when->before_ns, seconds, stamp->ns, ns);
	case WMK_IMPORT_DAY:
		seconds = day_seconds(when, stamp);
		break;
	case WMK_IMPORT_DATE:
		days = date_days(when, stamp);
		if (days < 0)
			return false;
		seconds += days * DAY_S;
		break;
	case WMK_IMPORT_EPOCH:
		break;
	default:
		*ns = when->before_ns;
		return true;
	}
	when->is_real = true;
	if (stamp->is_local)
		seconds -= ahead(when, seconds);
	return sum(0, seconds, stamp->ns, ns);
}

bool wmk_import_log_time_ns(struct wmk_import_log_time *when, const struct wmk_import_timestamp *stamp, int64_t *ns)
{
	if (!place(when, stamp, ns))
		return false;
	when->before_ns = *ns;
	return true;
}
