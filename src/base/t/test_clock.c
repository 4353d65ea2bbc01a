/* SPDX-License-Identifier: MIT */
/* test_clock.c - frequency and offset of a clock convert its values to real time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"

static uint64_t value_now(const struct wmk_clock *clock)
{
	return clock->kind == WMK_CLOCK_COUNTER ? wmk_clock_counter() : wmk_clock_monotonic();
}

static __int128 real_of(const struct wmk_clock *clock, uint64_t value)
{
	return (__int128)clock->offset_s * 1000000000 + ((__int128)clock->offset + value) * 1000000000 / clock->freq;
}

static uint64_t real_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void check(enum wmk_clock_kind kind)
{
	struct wmk_clock clock;
	__int128 off = 0, least = INT64_MAX;

	assert_int_equal(wmk_clock_measure(kind, &clock), 0);
	assert_int_equal(clock.kind, kind);
	assert_true(clock.freq >= 1000000u);
	assert_true(clock.offset < clock.freq);
	assert_true(clock.precision < clock.freq / 10);
	assert_int_equal(strlen(clock.uuid), 36);
	assert_true(clock.name[0] && clock.description[0]);
	/* If the thread is preempted between the two readings, one comparison is wrong, but not all 100. */
	for (int i = 0; i < 100; i++) {
		off = real_of(&clock, value_now(&clock)) - real_now();
		off = off < 0 ? -off : off;
		least = off < least ? off : least;
	}
	print_message("%s: %llu Hz, precision %llu, off by %lld ns\n", clock.name, (unsigned long long)clock.freq,
		      (unsigned long long)clock.precision, (long long)least);
	assert_true(least < 1000000);
}

static void monotonic_clock_converts_to_real_time(void **state)
{
	(void)state;
	check(WMK_CLOCK_MONOTONIC);
}

static void counter_clock_converts_to_real_time(void **state)
{
	(void)state;
	if (wmk_clock_detect() != WMK_CLOCK_COUNTER)
		skip();
	check(WMK_CLOCK_COUNTER);
}

static void fraction_of_clock_offset_is_less_than_a_second(void **state)
{
	struct wmk_clock clock = { .freq = 3 };

	(void)state;
	wmk_clock_set_offset(&clock, 1, 10000000000u);      /* 30 cycles, less one */
	assert_int_equal(clock.offset_s, 9);
	assert_int_equal(clock.offset, 2);
	wmk_clock_set_offset(&clock, 31, 10000000000u);     /* one cycle before 1970 */
	assert_int_equal(clock.offset_s, -1);
	assert_int_equal(clock.offset, 2);
	clock.freq = UINT64_MAX / 2;
	wmk_clock_set_offset(&clock, UINT64_MAX, 1700000000999999999u);
	assert_int_equal(clock.offset_s, 1699999998);
	assert_true(clock.offset < clock.freq);
}

static void plugin_clock_cannot_be_measured(void **state)
{
	struct wmk_clock clock;

	(void)state;
	assert_int_equal(wmk_clock_measure(WMK_CLOCK_PLUGIN, &clock), -22);
	assert_non_null(wmk_error_get(0));
}

static void timens_offsets_of_the_kernel_are_parsed(void **state)
{
	static const struct {
		const char *text;
		int64_t monotonic, boot;
	} rows[] = {
		{ "monotonic           5         0\nboottime            7         0\n", 5000000000, 7000000000 },
		{ "monotonic          -3 250000000\nboottime           -1         5\n", -2750000000, -999999995 },
		{ "boottime            7         0\nmonotonic           5         1\n", 5000000001, 7000000000 },
		{ "monotonic           0         0\nboottime            0         0\n", 0, 0 },
		{ "monotonic           5\nboottime            7         x\n", 0, 0 },
		{ "monotonic 99999999999999999 0\nboottime 1 1000000000\n", 0, 0 },
		{ "", 0, 0 }, { "monotonic", 0, 0 }, { "\n\n\n", 0, 0 },
	};

	(void)state;
	for (unsigned i = 0; i < WMK_ARRAY_LEN(rows); i++) {
		assert_int_equal(wmk_clock_offset_parse(rows[i].text, "monotonic"), rows[i].monotonic);
		assert_int_equal(wmk_clock_offset_parse(rows[i].text, "boottime"), rows[i].boot);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(monotonic_clock_converts_to_real_time),
		cmocka_unit_test(counter_clock_converts_to_real_time),
		cmocka_unit_test(fraction_of_clock_offset_is_less_than_a_second),
		cmocka_unit_test(timens_offsets_of_the_kernel_are_parsed),
		cmocka_unit_test(plugin_clock_cannot_be_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
