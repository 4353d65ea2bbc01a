/* SPDX-License-Identifier: MIT */
/*
 * test_log_time.c - times that lack a year, a day or an origin; the days of the calendar; records in order of time.
 */
#include "show.h"

#include <time.h>

#include "import/log_time.h"
#include "import/window.h"

#define SECOND INT64_C(1000000000)
#define NEAR (INT64_C(1795334742) * SECOND)      /* 2026-11-22 08:05:42 UTC */

static int64_t at(struct wmk_import_log_time *when, struct wmk_import_timestamp stamp)
{
	int64_t ns = -1;

	return wmk_import_log_time_ns(when, &stamp, &ns) ? ns / SECOND : -1;
}

static struct wmk_import_log_time begin(struct wmk_import_options options)
{
	struct wmk_import_log_time when;

	wmk_import_log_time_begin(&when, &options);
	wmk_import_log_time_of_file(&when, NEAR);
	return when;
}

static void days_since_1970_match_gmtime_and_invalid_dates_are_rejected(void **state)
{
	(void)state;
	for (int64_t day = 0; day < 106000; day++) {
		const time_t seconds = (time_t)(day * 86400);
		struct tm tm;

		assert_non_null(gmtime_r(&seconds, &tm));
		assert_int_equal(wmk_import_days(tm.tm_year + 1900, (unsigned)tm.tm_mon + 1, (unsigned)tm.tm_mday),
				 day);
	}
	assert_int_equal(wmk_import_days(2027, 2, 29), -1);
	assert_int_equal(wmk_import_days(2026, 13, 1), -1);
	assert_int_equal(wmk_import_days(2026, 0, 1), -1);
	assert_int_equal(wmk_import_days(2026, 1, 0), -1);
	assert_int_equal(wmk_import_days(1969, 12, 31), -1);
}

#define DATE(m, d) \
	((struct wmk_import_timestamp){ .since = WMK_IMPORT_DATE, .month = (m), .day = (d), .is_local = true })
#define DAY(y, m, d) (wmk_import_days(y, m, d) * 86400)

static void missing_year_is_derived_from_file_time_unless_given(void **state)
{
	struct wmk_import_log_time when = begin((struct wmk_import_options){ .year = 0 });

	(void)state;
	assert_int_equal(at(&when, DATE(12, 31)), DAY(2025, 12, 31));
	assert_int_equal(at(&when, DATE(1, 1)), DAY(2026, 1, 1));
	assert_int_equal(at(&when, DATE(11, 23)), DAY(2026, 11, 23));     /* tomorrow: written in another zone */
	assert_int_equal(at(&when, DATE(11, 24)), DAY(2025, 11, 24));
	assert_int_equal(at(&when, DATE(2, 29)), DAY(2024, 2, 29));
	assert_int_equal(when.assumed, WMK_IMPORT_ASSUMED_YEAR);
	when = begin((struct wmk_import_options){ .year = 1999 });
	assert_int_equal(at(&when, DATE(12, 31)), DAY(1999, 12, 31));
	assert_int_equal(at(&when, DATE(1, 1)), DAY(2000, 1, 1));
	assert_int_equal(at(&when, DATE(12, 31)), DAY(1999, 12, 31));     /* an earlier line */
	assert_int_equal(at(&when, DATE(2, 29)), DAY(2000, 2, 29));
	assert_int_equal(when.assumed, 0);
	when = begin((struct wmk_import_options){ .year = 1999 });
	assert_int_equal(at(&when, DATE(2, 29)), -1);
}

static void missing_day_is_derived_from_file_time_or_given_origin(void **state)
{
#define TIME(h) ((struct wmk_import_timestamp){ .since = WMK_IMPORT_DAY, .seconds = (h) * 3600, .is_local = true })
	struct wmk_import_log_time when = begin((struct wmk_import_options){ .year = 0 });

	(void)state;
	assert_int_equal(at(&when, TIME(7)), DAY(2026, 11, 22) + 7 * 3600);
	wmk_import_log_time_of_file(&when, NEAR);
	/* a time is not later than the file's last change */
	assert_int_equal(at(&when, TIME(23)), DAY(2026, 11, 21) + 23 * 3600);
	assert_int_equal(at(&when, TIME(1)), DAY(2026, 11, 22) + 3600);
	assert_int_equal(at(&when, TIME(23)), DAY(2026, 11, 21) + 23 * 3600);      /* an earlier line */
	assert_int_equal(when.assumed, WMK_IMPORT_ASSUMED_DAY);
	when = begin((struct wmk_import_options){ .has_origin = true, .origin_ns = DAY(2000, 1, 1) * SECOND });
	assert_int_equal(at(&when, TIME(23)), DAY(2000, 1, 1) + 23 * 3600);
	assert_int_equal(when.assumed, 0);
}

static void missing_origin_is_assumed_as_1970_unless_given(void **state)
{
#define ORIGIN(s) ((struct wmk_import_timestamp){ .since = WMK_IMPORT_ORIGIN, .seconds = (s) })
#define STEP(s) ((struct wmk_import_timestamp){ .since = WMK_IMPORT_STEP, .seconds = (s) })
	struct wmk_import_log_time when = begin((struct wmk_import_options){ .year = 0 });

	(void)state;
	assert_int_equal(at(&when, ORIGIN(5)), 5);
	assert_int_equal(at(&when, STEP(2)), 7);
	assert_int_equal(at(&when, STEP(2)), 9);
	assert_int_equal(at(&when, (struct wmk_import_timestamp){ .since = WMK_IMPORT_NO_TIME }), 9);
	assert_int_equal(when.assumed, WMK_IMPORT_ASSUMED_ORIGIN);
	when = begin((struct wmk_import_options){ .has_origin = true, .origin_ns = 100 * SECOND });
	assert_int_equal(at(&when, STEP(2)), 102);
	assert_int_equal(at(&when, ORIGIN(5)), 105);
	assert_int_equal(at(&when, (struct wmk_import_timestamp){ .since = WMK_IMPORT_EPOCH, .seconds = -1 }), -1);
	assert_int_equal(at(&when, ORIGIN(INT64_C(1) << 35)), -1);
	assert_int_equal(when.assumed, 0);
}

/* Daylight saving begins at 2 o'clock: 01:30 is before it, 03:30 after it. */
static void local_time_follows_daylight_saving(void **state)
{
#define LOCAL(s) ((struct wmk_import_timestamp){ .since = WMK_IMPORT_EPOCH, .seconds = (s), .is_local = true })
	struct wmk_import_log_time when = begin((struct wmk_import_options){ .year = 0 });
	const int64_t day = DAY(2026, 3, 29);

	(void)state;
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	assert_int_equal(at(&when, LOCAL(day + 5400)), day + 1800);
	assert_int_equal(at(&when, LOCAL(day + 12600)), day + 5400);
	assert_int_equal(at(&when, LOCAL(day + 5400)), day + 1800);
	setenv("TZ", "UTC", 1);
	tzset();
}

static void import_window_returns_records_in_time_order(void **state)
{
	static struct wmk_import_window window;
	uint64_t dice = 1;
	int64_t last = -1;
	uint64_t number = 0;

	(void)state;
	for (unsigned i = 0; i < WMK_IMPORT_WINDOW; i++) {
		struct wmk_import_record *record = calloc(1, sizeof(*record));

		assert_non_null(record);
		assert_false(wmk_import_window_full(&window));
		dice = dice * 6364136223846793005u + 1;
		record->ns = (int64_t)(dice >> 50);
		record->number = i;
		assert_int_equal(wmk_import_window_add(&window, record), 0);
	}
	assert_true(wmk_import_window_full(&window));
	for (unsigned i = 0; i < WMK_IMPORT_WINDOW; i++) {
		struct wmk_import_record *record = wmk_import_window_take(&window);

		assert_true(record->ns > last || (record->ns == last && record->number > number));
		last = record->ns;
		number = record->number;
		wmk_import_record_free(record);
	}
	assert_null(wmk_import_window_take(&window));
	assert_int_equal(window.bytes, 0);
	wmk_import_window_free(&window);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(days_since_1970_match_gmtime_and_invalid_dates_are_rejected),
		cmocka_unit_test(missing_year_is_derived_from_file_time_unless_given),
		cmocka_unit_test(missing_day_is_derived_from_file_time_or_given_origin),
		cmocka_unit_test(missing_origin_is_assumed_as_1970_unless_given),
		cmocka_unit_test(local_time_follows_daylight_saving),
		cmocka_unit_test(import_window_returns_records_in_time_order),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
