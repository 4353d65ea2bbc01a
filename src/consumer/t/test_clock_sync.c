/* SPDX-License-Identifier: MIT */
/*
 * test_clock_sync.c - when a consumer writes sync points of its trace's clock: around the records, at a step, and never
 * while it is idle.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock_point.h"
#include "consumer/clock_sync.h"
#include "rig.h"
#include "store/t/testdir.h"

#define POINTS 64u
#define PATIENCE_NS UINT64_C(20000000000)

static const struct rig_shape shape = { .subbuf = 4096, .n_subbufs = 4 };

static unsigned read_points(const struct rig *rig, struct wmk_clock_point points[POINTS])
{
	uint8_t bytes[WMK_CLOCK_FILE_HEAD + POINTS * WMK_CLOCK_POINT_BYTES];
	struct wmk_clock_head head;
	FILE *file = fopen(rig_path(rig, WMK_CLOCK_FILE), "r");
	size_t len = file ? fread(bytes, 1, sizeof(bytes), file) : 0;
	unsigned n = 0;

	assert_non_null(file);
	fclose(file);
	assert_true(len >= WMK_CLOCK_FILE_HEAD);
	assert_int_equal(wmk_clock_head_decode(bytes, WMK_CLOCK_FILE_HEAD, &head), 0);
	assert_int_equal(strlen(head.uuid), 36);
	for (size_t at = WMK_CLOCK_FILE_HEAD; at < len; at += WMK_CLOCK_POINT_BYTES)
		wmk_clock_point_decode(bytes + at, &points[n++]);
	return n;
}

static unsigned wait_for_points(const struct rig *rig, struct wmk_clock_point points[POINTS], unsigned wanted)
{
	const uint64_t until = wmk_clock_monotonic() + PATIENCE_NS;
	const struct timespec pause = { 0, 1000000 };
	unsigned n;

	while ((n = read_points(rig, points)) < wanted && wmk_clock_monotonic() < until)
		nanosleep(&pause, NULL);
	return n;
}

static void clock_points_are_written_before_and_after_the_records(void **state)
{
	struct wmk_clock_point points[POINTS];
	struct rig rig;

	(void)state;
	rig_open(&rig, &shape);
	assert_int_equal(read_points(&rig, points), 1);
	assert_int_equal(wmk_consumer_start(rig.consumer), 0);
	const uint64_t begin = wmk_clock_monotonic();

	assert_int_equal(rig_record(&rig, 0, 0, 100), 100);
	const uint64_t end = wmk_clock_monotonic();

	assert_int_equal(rig_stop(&rig), 0);
	assert_int_equal(read_points(&rig, points), 2);
	assert_true(points[0].value <= begin && points[1].value >= end);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(points[i].uncertainty_ns > 0 && points[i].uncertainty_ns < 1000000000);
		assert_int_equal(points[i].flags, 0);
	}
	rig_check(&rig, 100);
	rig_close(&rig);
}

static void stop_of_idle_consumer_writes_no_clock_point(void **state)
{
	struct wmk_clock_point points[POINTS];
	struct rig rig;

	(void)state;
	rig_open(&rig, &shape);
	assert_int_equal(wmk_consumer_start(rig.consumer), 0);
	assert_int_equal(wmk_consumer_settle(rig.consumer, rig.set), 0);
	assert_int_equal(rig_stop(&rig), 0);
	assert_int_equal(read_points(&rig, points), 1);
	rig_close(&rig);
}

static void idle_consumer_writes_a_marked_point_for_a_clock_step(void **state)
{
	struct wmk_clock_point points[POINTS];
	struct rig rig;

	(void)state;
	rig_open(&rig, &shape);
	assert_int_equal(wmk_consumer_start(rig.consumer), 0);
	wmk_consumer_clock_stepped(rig.consumer);
	assert_int_equal(wait_for_points(&rig, points, 2), 2);
	assert_int_equal(points[0].flags, 0);
	assert_int_equal(points[1].flags, WMK_CLOCK_POINT_STEP);
	assert_int_equal(rig_stop(&rig), 0);
	rig_close(&rig);
}

static void restarted_clock_counter_is_reported_once(void **state)
{
	struct wmk_clock_point points[POINTS], back;
	char words[300];
	size_t len;
	struct rig rig;

	(void)state;
	rig_open(&rig, &shape);
	assert_int_equal(read_points(&rig, points), 1);
	back = points[0];
	back.value = 7;
	back.flags = WMK_CLOCK_POINT_STEP;
	/* measured before the last point, by another thread: not a restart */
	wmk_clock_sync_write(rig.consumer, &back);
	assert_int_equal(rig.consumer->clock.restarted_ns, 0);
	back.monotonic_ns = wmk_clock_monotonic();
	wmk_clock_sync_write(rig.consumer, &back);
	back.monotonic_ns++;
	back.value--;
	wmk_clock_sync_write(rig.consumer, &back);
	assert_true(rig.consumer->clock.restarted_ns != 0);
	assert_int_equal(read_points(&rig, points), 1);
	snprintf(words, sizeof(words), "the clock went back from %llu to 7", (unsigned long long)points[0].value);
	char *metadata = testdir_slurp(rig_path(&rig, "metadata"), &len), *first = strstr(metadata, words);

	assert_non_null(first);
	assert_null(strstr(first + 1, words));
	free(metadata);
	assert_int_equal(rig_stop(&rig), 0);
	rig_close(&rig);
}

static void resumed_consumer_appends_clock_points_in_order(void **state)
{
	struct wmk_clock_point points[POINTS];
	struct rig rig;
	unsigned n;

	(void)state;
	rig_open(&rig, &shape);
	assert_int_equal(wmk_consumer_start(rig.consumer), 0);
	assert_int_equal(rig_record(&rig, 0, 0, 10), 10);
	rig_resume(&rig);
	assert_int_equal(wmk_consumer_start(rig.consumer), 0);
	assert_int_equal(rig_record(&rig, 0, 10, 20), 10);
	assert_int_equal(rig_stop(&rig), 0);
	n = read_points(&rig, points);
	assert_true(n >= 3);
	for (unsigned i = 1; i < n; i++)
		assert_true(points[i - 1].value < points[i].value);
	rig_check(&rig, 20);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clock_points_are_written_before_and_after_the_records),
		cmocka_unit_test(stop_of_idle_consumer_writes_no_clock_point),
		cmocka_unit_test(idle_consumer_writes_a_marked_point_for_a_clock_step),
		cmocka_unit_test(restarted_clock_counter_is_reported_once),
		cmocka_unit_test(resumed_consumer_appends_clock_points_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
