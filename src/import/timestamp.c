/* SPDX-License-Identifier: MIT */
/*
 * timestamp.c - parse times as logs write them, at the front of a text. log_time.c adds time zone, year and origin.
 */
#include <string.h>

#include "import/log_line.h"

/* The years in which nanoseconds since 1970 fit 63 bits. */
#define YEAR_FIRST 1970
#define YEAR_LAST 2261
#define SECONDS_MAX (((int64_t)1 << 36) - 1)

int64_t wmk_import_days(int64_t year, unsigned month, unsigned day)
{
	static const uint8_t lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	const bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	int64_t days;

	if (year < YEAR_FIRST || year > YEAR_LAST || month < 1 || month > 12 || day < 1 ||
	    day > lengths[month - 1] + (month == 2 && is_leap ? 1u : 0u))
		return -1;
	/* Add one day for each leap year from 1970 to the year before the date. */
	days = (year - 1970) * 365 + (year - 1969) / 4 - (year - 1901) / 100 + (year - 1601) / 400;
	for (unsigned i = 1; i < month; i++)
		days += lengths[i - 1] + (i == 2 && is_leap ? 1 : 0);
	return days + day - 1;
}

/* Parse exactly `n` digits. */
static bool take_digits(struct wmk_import_text *text, unsigned n, int64_t *number)
{
	struct wmk_import_text digits = wmk_import_head(*text, n);

	if (digits.len != n || !wmk_import_take_number(&digits, SECONDS_MAX, number) || digits.len)
		return false;
	wmk_import_drop(text, n);
	return true;
}

static bool take_name(struct wmk_import_text *text, const char names[][4], unsigned n, uint8_t *which)
{
	for (unsigned i = 0; i < n; i++)
		if (wmk_import_take(text, names[i])) {
			*which = (uint8_t)(i + 1);
			return true;
		}
	return false;
}

bool wmk_import_take_month(struct wmk_import_text *text, uint8_t *month)
{
	static const char names[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
					 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };

	return take_name(text, names, 12, month);
}

bool wmk_import_take_weekday(struct wmk_import_text *text)
{
	static const char names[][4] = { "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun" };
	uint8_t day;

	return take_name(text, names, 7, &day);
}

/*
 * Parse HH:MM:SS with optional decimals as seconds since midnight. Second 60 (a leap second) counts as the first second
 * of the next minute.
 */
static bool take_time(struct wmk_import_text *text, int64_t *seconds, uint32_t *ns)
{
	struct wmk_import_text rest = *text;
	int64_t hour, minute, second;

	if (!take_digits(&rest, 2, &hour) || !wmk_import_take(&rest, ":") || !take_digits(&rest, 2, &minute) ||
	    !wmk_import_take(&rest, ":") || !take_digits(&rest, 2, &second) || hour > 23 || minute > 59 ||
	    second > 60 || (rest.len && wmk_import_is_digit(rest.at[0])) || !wmk_import_take_fraction(&rest, ns))
		return false;
	*seconds = hour * 3600 + minute * 60 + second;
	*text = rest;
	return true;
}

bool wmk_import_take_clock(struct wmk_import_text *text, struct wmk_import_timestamp *stamp)
{
	struct wmk_import_timestamp found = { .since = WMK_IMPORT_DAY, .is_local = true };

	if (!take_time(text, &found.seconds, &found.ns))
		return false;
	*stamp = found;
	return true;
}

/*
 * Parse the zone that follows a time: "Z", "+01:00", "+0100" or "+01". `may_be_named` allows a blank before the offset,
 * and a blank with a zone name as in journalctl's short-full format (" UTC", " GMT" or " CET"). Without a zone, and
 * with zone names other than UTC and GMT, the time is local time. The import assumes that the log was written in the
 * time zone in which the import runs.
 */
static void take_zone(struct wmk_import_text *text, bool may_be_named, struct wmk_import_timestamp *stamp)
{
	struct wmk_import_text rest = *text;
	int64_t hours, minutes = 0;
	size_t n;

	stamp->is_local = false;
	if (wmk_import_take(text, "Z") ||
	    (may_be_named && (wmk_import_take(text, " UTC ") || wmk_import_take(text, " GMT ")))) {
		if (text->at[-1] == ' ')
			*text = (struct wmk_import_text){ text->at - 1, text->len + 1 };
		return;
	}
	stamp->is_local = true;
	if (may_be_named)
		wmk_import_take(&rest, " ");
	if (rest.len && (rest.at[0] == '+' || rest.at[0] == '-')) {
		const int sign = rest.at[0] == '-' ? -1 : 1;

		wmk_import_drop(&rest, 1);
		if (!take_digits(&rest, 2, &hours) || hours > 23)
			return;
		wmk_import_take(&rest, ":");
		if (!take_digits(&rest, 2, &minutes) || minutes > 59)
			minutes = 0;
		stamp->is_local = false;
		stamp->seconds -= sign * (hours * 3600 + minutes * 60);
		*text = rest;
		return;
	}
	for (n = 0; n < rest.len && rest.at[n] >= 'A' && rest.at[n] <= 'Z'; n++)
		;
	if (may_be_named && n >= 2 && n <= 5 && rest.at != text->at && n < rest.len && rest.at[n] == ' ') {
		wmk_import_drop(&rest, n);
		*text = rest;
	}
}

bool wmk_import_take_iso(struct wmk_import_text *text, struct wmk_import_timestamp *stamp)
{
	struct wmk_import_timestamp found = { .since = WMK_IMPORT_EPOCH };
	struct wmk_import_text rest = *text;
	int64_t year, month, day, days;
	bool is_named;

	if (!take_digits(&rest, 4, &year) || !wmk_import_take(&rest, "-") || !take_digits(&rest, 2, &month) ||
	    !wmk_import_take(&rest, "-") || !take_digits(&rest, 2, &day))
		return false;
	is_named = wmk_import_take(&rest, " ");
	if (!is_named && !wmk_import_take(&rest, "T"))
		return false;
	days = wmk_import_days(year, (unsigned)month, (unsigned)day);
	if (days < 0 || !take_time(&rest, &found.seconds, &found.ns))
		return false;
	found.seconds += days * 86400;
	take_zone(&rest, is_named, &found);
	*text = rest;
	*stamp = found;
	return true;
}

bool wmk_import_take_bsd(struct wmk_import_text *text, struct wmk_import_timestamp *stamp)
{
	struct wmk_import_timestamp found = { .since = WMK_IMPORT_DATE, .is_local = true };
	struct wmk_import_text rest = *text;
	int64_t day;

	if (!wmk_import_take_month(&rest, &found.month) || !wmk_import_take(&rest, " "))
		return false;
	wmk_import_take(&rest, " ");
	/* (2000 is a leap year: the real year is not known yet) */
	if (!wmk_import_take_number(&rest, 31, &day) || wmk_import_days(2000, found.month, (unsigned)day) < 0 ||
	    !wmk_import_take(&rest, " ") || !take_time(&rest, &found.seconds, &found.ns))
		return false;
	found.day = (uint8_t)day;
	*text = rest;
	*stamp = found;
	return true;
}

bool wmk_import_take_ctime(struct wmk_import_text *text, struct wmk_import_timestamp *stamp)
{
	struct wmk_import_text rest = *text;
	struct wmk_import_timestamp found;
	int64_t year, days;

	if (!wmk_import_take_weekday(&rest) || !wmk_import_take(&rest, " ") || !wmk_import_take_bsd(&rest, &found) ||
	    !wmk_import_take(&rest, " ") || !take_digits(&rest, 4, &year))
		return false;
	days = wmk_import_days(year, found.month, found.day);
	if (days < 0)
		return false;
	found.since = WMK_IMPORT_EPOCH;
	found.seconds += days * 86400;
	*text = rest;
	*stamp = found;
	return true;
}

bool wmk_import_take_seconds(struct wmk_import_text *text, struct wmk_import_timestamp *stamp)
{
	struct wmk_import_timestamp found = { .since = WMK_IMPORT_ORIGIN };
	struct wmk_import_text rest = *text;

	if (!wmk_import_take_number(&rest, SECONDS_MAX, &found.seconds) || !rest.len || rest.at[0] != '.' ||
	    !wmk_import_take_fraction(&rest, &found.ns))
		return false;
	*text = rest;
	*stamp = found;
	return true;
}
