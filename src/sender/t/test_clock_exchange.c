/* SPDX-License-Identifier: MIT */
/*
 * test_clock_exchange.c - one exchange with the relay: the true time of the relay is within the stated uncertainty,
 * also if the delays of both directions differ. Contradicting times give no point.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sender/clock_exchange.h"

#define MS 1000000u

/* The plug-in's clock has 5 ticks a ns, and is 50 ppm too fast. The relay is an hour ahead. */
static uint64_t plugin_at(uint64_t ns)
{
	return ns * 5 + ns / 4000;
}

static uint64_t relay_at(uint64_t ns)
{
	return ns + 3600u * 1000u * (uint64_t)MS;
}

static struct wmk_clock_readings read_at(uint64_t ns)
{
	return (struct wmk_clock_readings){ .monotonic_ns = ns, .of = { ns, ns * 2, plugin_at(ns) } };
}

static void relay_time_is_within_the_uncertainty(void **state)
{
	static const uint64_t delays[][2] = { { 1, 1 }, { 40 * MS, 40 * MS }, { 1 * MS, 300 * MS }, { 300 * MS, 1 } };
	const uint64_t begin = 1000u * (uint64_t)MS, work = 2 * MS;

	(void)state;
	for (size_t i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
		const uint64_t received = begin + delays[i][0], sent = received + work, end = sent + delays[i][1];
		const struct wmk_clock_readings before = read_at(begin), after = read_at(end);
		const struct wmk_relay_times times = { "boot", relay_at(received), relay_at(sent), relay_at(sent) + 7 };
		struct wmk_clock_measurement made;

		assert_true(wmk_clock_exchange_compute(&before, &times, &after, &made));
		assert_string_equal(made.relay, "boot");
		for (unsigned kind = 0; kind < WMK_CLOCK_KINDS; kind++) {
			const struct wmk_clock_point *point = &made.of[kind];
			const uint64_t middle = begin + (end - begin) / 2, truth = relay_at(middle);

			assert_in_range(point->uncertainty_ns, (delays[i][0] + delays[i][1]) / 2,
					(delays[i][0] + delays[i][1]) / 2 + 2);
			assert_in_range(point->monotonic_ns, truth - point->uncertainty_ns - 1,
					truth + point->uncertainty_ns + 1);
			assert_in_range(point->real_ns - point->monotonic_ns, 6, 8);
			assert_in_range(point->value, before.of[kind], after.of[kind]);
		}
		assert_in_range(made.of[WMK_CLOCK_PLUGIN].value, plugin_at(begin + (end - begin) / 2) - 5,
				plugin_at(begin + (end - begin) / 2) + 5);
	}
}

static void contradictory_relay_times_create_no_clock_point(void **state)
{
	const struct wmk_clock_readings before = read_at(1000 * MS), after = read_at(1010 * MS);
	struct wmk_clock_readings late = read_at(20000u * (uint64_t)MS), back = after;
	const struct wmk_relay_times good = { "boot", 5000, 6000, 60000 };
	const struct wmk_relay_times wrong[] = {
		{ "", 5000, 6000, 60000 },                       /* no clock */
		{ "boot", 6000, 5000, 60000 },                   /* sent before received */
		{ "boot", 5000, 5000 + 11 * MS, UINT64_MAX },    /* longer at the relay than for the sender */
		{ "boot", 5000, 6000, 10 },                      /* before 1970 */
		{ "boot", 0, UINT64_MAX, UINT64_MAX },
	};
	struct wmk_clock_measurement made;

	(void)state;
	assert_true(wmk_clock_exchange_compute(&before, &good, &after, &made));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(wmk_clock_exchange_compute(&before, &wrong[i], &after, &made));
	assert_false(wmk_clock_exchange_compute(&after, &good, &before, &made));
	assert_false(wmk_clock_exchange_compute(&before, &good, &late, &made));
	/* A counter that went back has no point; the other clocks have points. */
	back.of[WMK_CLOCK_COUNTER] = 0;
	assert_true(wmk_clock_exchange_compute(&before, &good, &back, &made));
	assert_int_equal(made.of[WMK_CLOCK_COUNTER].uncertainty_ns, 0);
	assert_true(made.of[WMK_CLOCK_MONOTONIC].uncertainty_ns > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(relay_time_is_within_the_uncertainty),
		cmocka_unit_test(contradictory_relay_times_create_no_clock_point),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
