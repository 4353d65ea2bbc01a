/* SPDX-License-Identifier: MIT */
/*
 * test_parse_time.c - unit tests of parse_time.h.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "base/array.h"
#include "base/error.h"
#include "read/parse_time.h"

#define S INT64_C(1000000000)
#define NEAR (INT64_C(1700000000) * S + 5)       /* 2023-11-14 22:13:20 UTC */

static void is(const char *text, bool gmt, int64_t wanted, bool wanted_day)
{
	bool is_day;
	int64_t ns;

	assert_int_equal(wmk_read_parse_time(text, gmt, NEAR, &ns, &is_day), 0);
	assert_int_equal(ns, wanted);
	assert_int_equal(is_day, wanted_day);
}

static void is_none(const char *text)
{
	char words[512];
	bool is_day;
	int64_t ns;

	assert_int_equal(wmk_read_parse_time(text, true, NEAR, &ns, &is_day), -EINVAL);
	assert_non_null(strstr(wmk_error_text(words, sizeof(words)), "invalid time"));
	wmk_error_clear();
}

static void seconds_since_1970_are_parsed(void **state)
{
	(void)state;
	is("1700000000", true, 1700000000 * S, false);
	is("1700000000.5", false, 1700000000 * S + S / 2, false);
	is("0.000000001", true, 1, false);
	is("-1.25", true, -S - S / 4, false);
	is("[17]", true, 17 * S, false);
}

static void dates_are_parsed(void **state)
{
	(void)state;
	is("2023-11-14", true, 1699920000 * S, true);
	is("2023-11-14 22:13:20", true, 1700000000 * S, false);
	is("2023-11-14T22:13", true, 1699999980 * S, false);
	is("[2023-11-14 22:13:20.000000022]", true, 1700000000 * S + 22, false);
	is("2024-02-29 00:00:00", true, 1709164800 * S, false);
}

static void times_of_day_are_parsed(void **state)
{
	(void)state;
	is("22:13:20.000000022", true, 1700000000 * S + 22, false);
	is("[0:00]", true, 1699920000 * S, false);
	setenv("TZ", "XXX-3", 1);
	tzset();
	/* In that zone, the date is the 15th. */
	is("01:13:20", false, 1700000000 * S, false);
	is("2023-11-15 01:13:20", false, 1700000000 * S, false);
	is("2023-11-15", false, 1699995600 * S, true);
	setenv("TZ", "UTC", 1);
	tzset();
}

static void invalid_time_texts_are_refused(void **state)
{
	static const char *const texts[] = { "",
					     "x",
					     "[",
					     "1.",
					     ".5",
					     "1.0000000001",
					     "123456789012",
					     "1 ",
					     "2023-13-01",
					     "2023-00-10",
					     "2023-11",
					     "2023-11-32",
					     "23-11-14",
					     "2023-11-14 ",
					     "2023-11-14 x",
					     "24:00",
					     "12:60",
					     "12:1",
					     "12:00:61",
					     "12:00:00.",
					     "12:00:00x",
					     "[12:00",
					     "12:00]",
					     "2023-11-14  12:00",
					     "--5",
					     "+5",
					     "0001-01-01",
					     "1600-01-01 12:00",
					     "2262-04-12",
					     "9999-12-31 23:59:60" };

	(void)state;
	for (size_t i = 0; i < WMK_ARRAY_LEN(texts); i++)
		is_none(texts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seconds_since_1970_are_parsed),
		cmocka_unit_test(dates_are_parsed),
		cmocka_unit_test(times_of_day_are_parsed),
		cmocka_unit_test(invalid_time_texts_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
