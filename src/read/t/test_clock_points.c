/* SPDX-License-Identifier: MIT */
/*
 * test_clock_points.c - times that are corrected by sync points. The error is at most the stated uncertainty, and steps
 * of real time are at the right record. The tests simulate a clock, so the true time of each value is known.
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

#include "base/clock_point.h"
#include "base/error.h"
#include "read/clock_points.h"

#define S UINT64_C(1000000000)
#define REAL (1700000000 * S)
#define FREQ 10000000u                     /* 100 ns for each unit */
#define EXACT 60u                          /* ns: uncertainty of the simulated points */
#define INSTANTS 1000u
#define UUID "01234567-89ab-cdef-0123-456789abcdef"

static const struct wmk_ctf_clock_class clock_class = { .name = "c", .uuid = UUID, .freq = FREQ };

struct trace {
	char path[64];
	int dir;
	struct wmk_read_clock_points *points;
};

static void put_bytes(struct trace *trace, const void *bytes, size_t len)
{
	int fd = openat(trace->dir, WMK_CLOCK_FILE, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

static void begin(struct trace *trace, const char *uuid)
{
	struct wmk_clock_head head = { .kind = 0 };
	uint8_t bytes[WMK_CLOCK_RELAY_HEAD];

	*trace = (struct trace){ .path = "/tmp/waymark-clock-XXXXXX" };
	assert_non_null(mkdtemp(trace->path));
	trace->dir = open(trace->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(trace->dir >= 0);
	snprintf(head.uuid, sizeof(head.uuid), "%s", uuid);
	put_bytes(trace, bytes, wmk_clock_head_encode(&head, bytes));
}

static void put(struct trace *trace, uint64_t value, uint64_t monotonic, uint64_t real, uint32_t flags)
{
	const struct wmk_clock_point point = { value, monotonic, real, EXACT, flags };
	uint8_t bytes[WMK_CLOCK_POINT_BYTES];

	wmk_clock_point_encode(&point, bytes);
	put_bytes(trace, bytes, sizeof(bytes));
}

static int read_points(struct trace *trace)
{
	return wmk_read_clock_points_open(trace->dir, &clock_class, &trace->points);
}

static void end(struct trace *trace)
{
	wmk_read_clock_points_free(trace->points);
	unlinkat(trace->dir, WMK_CLOCK_FILE, 0);
	close(trace->dir);
	rmdir(trace->path);
}

/* Returns steady time; *real: real time. */
static int64_t time_of(const struct trace *trace, uint64_t value, int64_t *real)
{
	struct wmk_read_clock_line line;
	int64_t ns;

	wmk_read_clock_line_find(trace->points, value, &line);
	ns = wmk_read_clock_line_ns(&line, value);
	*real = ns + line.steps;
	return ns;
}

/*
 * The clock's value at `ns` after its start. It is 200 ppm too fast, with a slow wave of 0.5 ppm and a period of an
 * hour.
 */
static uint64_t wandering(uint64_t ns)
{
	const double t = (double)ns / 1e9, wave = 0.5e-6 * 3600 / (2 * M_PI) * sin(2 * M_PI * t / 3600);

	return (uint64_t)((t * (1 + 200e-6) + wave) * FREQ);
}

/* The clock is 200 ppm too fast. From 150 s on, its rate is 1 ppm less. */
static uint64_t steered(uint64_t ns)
{
	const double t = (double)ns / 1e9;

	return (uint64_t)((t * (1 + 200e-6) - (t > 150 ? (t - 150) * 1e-6 : 0)) * FREQ);
}

static void check_clock(uint64_t (*value_at)(uint64_t ns))
{
	int64_t worst = 0, worst_stated = 0, real;
	struct trace trace;

	begin(&trace, UUID);
	for (uint64_t ns = 0; ns <= 600 * S; ns += 60 * S)
		put(&trace, 1000 + value_at(ns), 5 * S + ns, REAL + ns, 0);
	assert_int_equal(read_points(&trace), 0);
	for (unsigned i = 0; i < INSTANTS; i++) {
		const uint64_t ns = 600 * S / INSTANTS * i + (uint64_t)rand() % (600 * S / INSTANTS),
			       value = 1000 + value_at(ns);
		const int64_t stated = (int64_t)wmk_read_clock_uncertainty(trace.points, value);

		time_of(&trace, value, &real);
		/* (the value is rounded to 100 ns) */
		const int64_t error = llabs(real - (int64_t)(REAL + ns)) - 100;

		assert_true(error <= stated);
		assert_true(stated <= 20000);
		worst = error > worst ? error : worst;
		worst_stated = stated > worst_stated ? stated : worst_stated;
	}
	print_message("greatest error %lld ns, greatest stated uncertainty %lld ns\n", (long long)worst,
		      (long long)worst_stated);
	end(&trace);
}

static void corrected_time_error_is_within_uncertainty_at_200_ppm(void **state)
{
	(void)state;
	check_clock(wandering);
}

static void corrected_time_error_is_within_uncertainty_when_rate_changes(void **state)
{
	(void)state;
	check_clock(steered);
}

static uint64_t exactly(uint64_t ns)
{
	return ns / 100;
}

/* Real time is set at 150 s; a point is measured 1 ms later. */
static void check_step(int64_t step)
{
	struct trace trace;
	int64_t last = 0, real;

	begin(&trace, UUID);
	for (uint64_t ns = 30 * S; ns <= 300 * S; ns += 30 * S)
		if (ns == 150 * S)
			put(&trace, exactly(ns + 1000000), ns + 1000000, REAL + ns + 1000000 + (uint64_t)step,
			    WMK_CLOCK_POINT_STEP);
		else
			put(&trace, exactly(ns), ns, REAL + ns + (ns > 150 * S ? (uint64_t)step : 0), 0);
	assert_int_equal(read_points(&trace), 0);
	for (unsigned i = 0; i <= INSTANTS; i++) {
		const uint64_t ns = 330 * S / INSTANTS * i;
		const int64_t steady = time_of(&trace, exactly(ns), &real),
			      wanted = (int64_t)(REAL + ns) + (ns < 150 * S + 1000000 ? 0 : step);

		assert_true(llabs(real - wanted) <= 2);
		assert_true(steady > last && (i == 0 || steady - last < 400000000));
		last = steady;
		/* Near the step, its size is uncertain. */
		assert_true(wmk_read_clock_uncertainty(trace.points, exactly(ns)) < 100000000 || ns > 140 * S);
	}
	assert_true(wmk_read_clock_uncertainty(trace.points, exactly(150 * S)) > 3 * S);
	assert_true(wmk_read_clock_uncertainty(trace.points, exactly(149 * S)) < 20000);
	assert_true(wmk_read_clock_uncertainty(trace.points, exactly(151 * S)) < 20000);
	end(&trace);
}

static void step_of_real_time_is_a_discontinuity(void **state)
{
	(void)state;
	check_step(3 * (int64_t)S);
	check_step(-3 * (int64_t)S);
}

/*
 * A suspend of an hour begins at 150 s. CLOCK_MONOTONIC does not count it; the clock of the trace counts it if `runs`.
 */
static void check_suspend(bool runs)
{
	const uint64_t hour = 3600 * S;
	struct trace trace;
	int64_t real;

	begin(&trace, UUID);
	for (uint64_t ns = 0; ns <= 300 * S; ns += 60 * S)
		put(&trace, exactly(ns + (runs && ns > 150 * S ? hour : 0)), ns, REAL + ns + (ns > 150 * S ? hour : 0),
		    ns == 180 * S);
	assert_int_equal(read_points(&trace), 0);
	for (uint64_t ns = 0; ns <= 300 * S; ns += S) {
		const bool is_after = ns >= 180 * S;

		if (ns > 119 * S && !is_after)
			continue;
		time_of(&trace, exactly(ns + (runs && is_after ? hour : 0)), &real);
		assert_true(llabs(real - (int64_t)(REAL + ns + (is_after ? hour : 0))) <= 2);
	}
	end(&trace);
}

static void suspend_is_no_step_if_the_clock_counts_during_it(void **state)
{
	(void)state;
	check_suspend(true);
	check_suspend(false);
}

/* Real time is set at 150 s. One trace ends before, one begins later, and one has the step. */
static void steady_time_of_one_clock_is_the_same_in_all_traces(void **state)
{
	static const uint64_t ends[][2] = { { 0, 120 }, { 60, 300 }, { 180, 240 } };
	struct trace traces[3];
	int64_t steady[3], real[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		begin(&traces[i], UUID);
		for (uint64_t s = ends[i][0]; s <= ends[i][1]; s += 60)
			put(&traces[i], exactly(s * S), s * S, REAL + (s + (s > 150 ? 3 : 0)) * S, s == 180);
		assert_int_equal(read_points(&traces[i]), 0);
	}
	wmk_read_clock_points_join(traces[0].points, traces[2].points);
	wmk_read_clock_points_join(traces[0].points, traces[1].points);
	wmk_read_clock_points_join(traces[2].points, traces[1].points);
	for (unsigned i = 0; i < 3; i++) {
		steady[i] = time_of(&traces[i], exactly(100 * S), &real[i]);
		assert_true(llabs(steady[i] - (int64_t)(REAL + 103 * S)) <= 2);
		assert_true(llabs(real[i] - (int64_t)(REAL + (i < 2 ? 100 : 103) * S)) <= 2);
		end(&traces[i]);
	}
}

static void clock_points_within_their_uncertainty_cause_no_rate_change(void **state)
{
	struct trace trace;
	int64_t real;

	(void)state;
	begin(&trace, UUID);
	put(&trace, exactly(0), 0, REAL, 0);
	put(&trace, exactly(60 * S), 60 * S, REAL + 60 * S, 0);
	put(&trace, exactly(60 * S + 1000), 60 * S + 1000, REAL + 60 * S + 900, 0);
	put(&trace, exactly(60 * S + 2000), 60 * S + 2000, REAL + 60 * S + 880, 0);
	assert_int_equal(read_points(&trace), 0);
	time_of(&trace, exactly(70 * S), &real);
	assert_true(llabs(real - (int64_t)(REAL + 70 * S)) < 2000);
	assert_true(wmk_read_clock_uncertainty(trace.points, exactly(30 * S)) < 1000);
	end(&trace);
}

static void clock_points_after_damage_are_ignored(void **state)
{
	struct trace trace;
	int64_t real;

	(void)state;
	begin(&trace, UUID);
	put(&trace, 100, S, REAL, 0);
	put(&trace, 100 + FREQ, 2 * S, REAL + S, 0);
	put(&trace, 100 + FREQ, 3 * S, REAL + 9 * S, 0);
	put(&trace, 100 + 3 * FREQ, 4 * S, REAL + 9 * S, 0);
	assert_int_equal(read_points(&trace), -EPROTO);
	assert_non_null(strstr(wmk_error_get(0), "the clock goes back at byte 128"));
	wmk_error_clear();
	time_of(&trace, 100 + 2 * FREQ, &real);
	assert_int_equal(real, REAL + 2 * S);
	end(&trace);
}

static void clock_points_of_another_clock_are_ignored(void **state)
{
	struct trace trace;

	(void)state;
	begin(&trace, "another");
	put(&trace, 100, S, REAL, 0);
	assert_int_equal(read_points(&trace), 0);
	assert_null(trace.points);
	end(&trace);
	begin(&trace, UUID);
	assert_int_equal(read_points(&trace), 0);
	assert_null(trace.points);
	end(&trace);
}

static void appended_clock_points_are_read(void **state)
{
	struct trace trace;
	int64_t real;

	(void)state;
	begin(&trace, UUID);
	put(&trace, 0, S, REAL, 0);
	assert_int_equal(read_points(&trace), 0);
	assert_true(wmk_read_clock_uncertainty(trace.points, 60 * FREQ) > 20000);
	time_of(&trace, 60 * FREQ, &real);
	assert_int_equal(real, REAL + 60 * S);
	put_bytes(&trace, "torn", 4);
	assert_int_equal(wmk_read_clock_points_renew(trace.points), 0);
	int fd = openat(trace.dir, WMK_CLOCK_FILE, O_WRONLY | O_CLOEXEC);

	assert_int_equal(ftruncate(fd, WMK_CLOCK_FILE_HEAD + WMK_CLOCK_POINT_BYTES), 0);
	close(fd);
	put(&trace, 60 * FREQ, 61 * S + 500000, REAL + 60 * S + 500000, 0);
	assert_int_equal(wmk_read_clock_points_renew(trace.points), 0);
	time_of(&trace, 60 * FREQ, &real);
	assert_int_equal(real, REAL + 60 * S + 500000);
	assert_true(wmk_read_clock_uncertainty(trace.points, 60 * FREQ) < 1000);
	end(&trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(corrected_time_error_is_within_uncertainty_at_200_ppm),
		cmocka_unit_test(corrected_time_error_is_within_uncertainty_when_rate_changes),
		cmocka_unit_test(step_of_real_time_is_a_discontinuity),
		cmocka_unit_test(suspend_is_no_step_if_the_clock_counts_during_it),
		cmocka_unit_test(steady_time_of_one_clock_is_the_same_in_all_traces),
		cmocka_unit_test(clock_points_within_their_uncertainty_cause_no_rate_change),
		cmocka_unit_test(clock_points_after_damage_are_ignored),
		cmocka_unit_test(clock_points_of_another_clock_are_ignored),
		cmocka_unit_test(appended_clock_points_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
