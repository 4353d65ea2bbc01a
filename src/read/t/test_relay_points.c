/* SPDX-License-Identifier: MIT */
/*
 * test_relay_points.c - times on the clock of a relay: with any delays in the network, the error is at most the stated
 * uncertainty, time never goes back, and the uncertainty is not much larger than the delays. Damage is reported.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "read/clock_points.h"
#include "read/relay_points.h"

#define NS INT64_C(1000000000)
#define BEGIN (1000 * NS)                  /* of the trace clock, which has units of 1 ns */
#define REAL_BEGIN (1700000000 * NS)

static const struct wmk_ctf_clock_class clock_class = { .name = "c", .freq = 1000000000 };

/* The clock is 50 ppm too fast. After 300 s, NTP makes it 200 ppm slower. */
static double relay_ns(double value)
{
	const double own = value - (double)BEGIN;

	return own * (1 - 50e-6) + (own > 300e9 ? (own - 300e9) * 200e-6 : 0);
}

static double one(unsigned *seed)
{
	return (double)rand_r(seed) / RAND_MAX;
}

/* A measurement: the delays of both directions differ by any amount. */
static struct wmk_clock_point measure(double at, double delay, unsigned *seed)
{
	const double forth = delay * (1 + one(seed)), back = delay * (1 + one(seed)), middle = at + (forth + back) / 2,
		     relay = relay_ns(at + forth);

	return (struct wmk_clock_point){ .value = (uint64_t)middle,
					 .monotonic_ns = (uint64_t)(relay + 5e9),
					 .real_ns = (uint64_t)REAL_BEGIN + (uint64_t)relay,
					 .uncertainty_ns = (uint32_t)((forth + back) / 2 + 2) };
}

static void check_times(const struct wmk_read_clock_points *points, double from, double to, double most)
{
	struct wmk_read_clock_line line = { .to = 0 };
	int64_t last = 0;

	for (double value = from; value < to; value += (to - from) / 2000) {
		const uint64_t at = (uint64_t)value, uncertainty = wmk_read_clock_uncertainty(points, at);
		int64_t ns;

		wmk_read_clock_line_find(points, at, &line);
		ns = wmk_read_clock_line_ns(&line, at);
		assert_true(ns >= last);
		last = ns;
		assert_true(fabs((double)(ns - REAL_BEGIN) - relay_ns(value)) <= (double)uncertainty + 1000);
		assert_true((double)uncertainty <= most);
	}
}

static void relay_time_error_is_within_the_uncertainty(void **state)
{
	static const double delays[] = { 20e3, 1e6, 40e6 };      /* ns: a loopback, a building, a continent */
	unsigned seed = (unsigned)getpid();

	(void)state;
	printf("seed %u\n", seed);
	for (size_t i = 0; i < sizeof(delays) / sizeof(delays[0]); i++)
		for (int seconds = 1; seconds <= 1200; seconds = seconds < 20 ? seconds * 3 : seconds * 20) {
			struct wmk_read_relay_points list = { 0 };
			struct wmk_read_clock_points *points;
			double at = (double)BEGIN + 0.2e9;

			list.points = calloc(200, sizeof(*list.points));
			list.cap = 200;
			assert_non_null(list.points);
			for (; at < (double)BEGIN + seconds * 1e9; at += 10e9)
				list.points[list.n++] = measure(at, delays[i], &seed);
			/* At the end of the session. */
			list.points[list.n++] = measure((double)BEGIN + seconds * 1e9 + 0.4e9, delays[i], &seed);
			wmk_read_relay_points_choose(&list, 1);
			assert_int_equal(wmk_read_clock_points_make(&clock_class, "boot", list.points, list.n, &points),
					 0);
			assert_string_equal(wmk_read_clock_points_relay(points), "boot");
			check_times(points, (double)BEGIN, (double)BEGIN + seconds * 1e9, 3 * delays[i] + 6e6);
			wmk_read_clock_points_free(points);
			free(list.points);
		}
}

static void less_certain_relay_clock_points_near_others_are_omitted(void **state)
{
	struct wmk_clock_point all[] = {
		{ 5000, 1, 1, 400, 0 }, { 1000, 1, 1, 900, 0 }, { 1100, 1, 1, 300, 0 }, { 1200, 1, 1, 500, 0 },
		{ 90000, 1, 1, 600, 0 }, { 90000, 1, 1, 600, 0 },
	};
	struct wmk_read_relay_points list = { .points = all, .n = 6, .cap = 6 };

	(void)state;
	wmk_read_relay_points_choose(&list, 1);
	assert_int_equal(list.n, 2);
	assert_int_equal(all[0].value, 1100);
	assert_int_equal(all[1].value, 90000);
	list.n = 0;
	wmk_read_relay_points_choose(&list, 1);
	assert_int_equal(list.n, 0);
}

static void damaged_file_of_relay_clock_points_is_reported(void **state)
{
	static const struct wmk_clock_point points[] = {
		{ 10, 20, 30, 1, 0 }, { 20, 30, 40, 1, 0 }, { 5, 40, 50, 1, 0 },
	};
	const struct wmk_clock_head good = { .relay = "boot", .host = "web1" },
				    bad = { .relay = "boot", .host = "../x" };
	char path[] = "/tmp/waymark-relay-points-XXXXXX";
	uint8_t bytes[WMK_CLOCK_RELAY_HEAD + sizeof(points)];
	size_t len = wmk_clock_head_encode(&good, bytes);
	struct wmk_read_relay_points list = { 0 };
	struct wmk_clock_head head;
	int dir, fd;

	(void)state;
	assert_non_null(mkdtemp(path));
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_false(wmk_read_relay_head(dir, &head));
	assert_int_equal(wmk_read_relay_points_add(dir, &list), 0);
	for (size_t i = 0; i < 3; i++, len += WMK_CLOCK_POINT_BYTES)
		wmk_clock_point_encode(&points[i], bytes + len);
	fd = openat(dir, WMK_CLOCK_RELAY_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	assert_true(wmk_read_relay_head(dir, &head));
	assert_string_equal(head.host, "web1");
	assert_int_equal(wmk_read_relay_points_add(dir, &list), -EPROTO);
	assert_int_equal(list.n, 2);
	/* An incomplete point at the end is ignored. */
	list.n = 0;
	assert_int_equal(ftruncate(fd, WMK_CLOCK_RELAY_HEAD + 40), 0);
	assert_int_equal(wmk_read_relay_points_add(dir, &list), 0);
	assert_int_equal(list.n, 1);
	wmk_clock_head_encode(&bad, bytes);
	assert_int_equal(pwrite(fd, bytes, WMK_CLOCK_RELAY_HEAD, 0), WMK_CLOCK_RELAY_HEAD);
	assert_false(wmk_read_relay_head(dir, &head));
	wmk_error_clear();
	free(list.points);
	close(fd);
	unlinkat(dir, WMK_CLOCK_RELAY_FILE, 0);
	close(dir);
	rmdir(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(relay_time_error_is_within_the_uncertainty),
		cmocka_unit_test(less_certain_relay_clock_points_near_others_are_omitted),
		cmocka_unit_test(damaged_file_of_relay_clock_points_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
