/* SPDX-License-Identifier: MIT */
/*
 * calibrate_work.c - the program that `waymark calibrate` records repeatedly; it measures its own tracepoints.
 *
 *     waymark-calibrate all         the clock; a loop without and with a disabled tracepoint; records without fields,
 *                                   of 4 and of 64 bytes
 *     waymark-calibrate record      only records of 4 bytes
 *
 * Prints one line for each measurement: its name, then lower quartile, median and upper quartile of the CPU time of one
 * operation, in nanoseconds. Each measurement runs ROUNDS batches on one CPU. Batches of all measurements alternate, so
 * that a temporary disturbance of the machine affects all measurements. The program fills the ring before the first
 * measurement, so that the memory of the ring is mapped.
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <waymark/trace.h>

#include "base/array.h"
#include "base/clock.h"

#define ROUNDS 21
#define BATCH 20000u
#define ONCE_AROUND (1u << 20)   /* bytes of the CPU's ring */

static uint64_t volatile sink;

/* loop_plain() and loop_site() call turn(), so that loop_plain() is not empty. */
static inline uint64_t turn(uint64_t x)
{
	x ^= x << 13;
	x ^= x >> 7;
	return x ^ x << 17;
}

static __attribute__((noinline)) void loop_plain(unsigned n)
{
	uint64_t x = 88172645463325252ull;

	for (unsigned i = 0; i < n; i++)
		x = turn(x);
	sink = x;
}

static __attribute__((noinline)) void loop_site(unsigned n)
{
	uint64_t x = 88172645463325252ull;

	for (unsigned i = 0; i < n; i++) {
		x = turn(x);
		waymark(calibrate, disabled, x);
	}
	sink = x;
}

static __attribute__((noinline)) void loop_counter(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink = wmk_clock_counter();
}

static __attribute__((noinline)) void loop_monotonic(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink = wmk_clock_monotonic();
}

static __attribute__((noinline)) void loop_record_0(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		waymark(calibrate, record_0);
}

static __attribute__((noinline)) void loop_record_4(unsigned n)
{
	for (uint32_t i = 0; i < n; i++)
		waymark(calibrate, record_4, i);
}

static __attribute__((noinline)) void loop_record_64(unsigned n)
{
	for (uint64_t a = 0, b = 1, c = 2, d = 3, e = 4, f = 5, g = 6, h = 7; a < n; a++)
		waymark(calibrate, record_64, a, b, c, d, e, f, g, h);
}

static uint64_t cpu_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct measured {
	const char *name;
	void (*loop)(unsigned);
	double ns[ROUNDS];
};

static void measure(struct measured *list, size_t n)
{
	for (size_t m = 0; m < n; m++)
		list[m].loop(BATCH);
	for (unsigned i = 0; i < ROUNDS; i++)
		for (size_t m = 0; m < n; m++) {
			uint64_t begin = cpu_time();

			list[m].loop(BATCH);
			list[m].ns[i] = (double)(cpu_time() - begin) / BATCH;
		}
	for (size_t m = 0; m < n; m++) {
		double *ns = list[m].ns;

		qsort(ns, ROUNDS, sizeof(ns[0]), by_value);
		printf("%s %.3f %.3f %.3f\n", list[m].name, ns[ROUNDS / 4], ns[ROUNDS / 2], ns[3 * ROUNDS / 4]);
	}
}

int main(int argc, char **argv)
{
	/*
	 * With the argument `record`, the program measures only record_4. If this machine uses the CPU's cycle counter,
	 * loop_counter() replaces the loop of the last entry.
	 */
	static struct measured all[] = {
		{ .name = "record_4", .loop = loop_record_4 }, { .name = "record_0", .loop = loop_record_0 },
		{ .name = "record_64", .loop = loop_record_64 }, { .name = "plain", .loop = loop_plain },
		{ .name = "site", .loop = loop_site }, { .name = "clock", .loop = loop_monotonic },
	};
	const size_t n = WMK_ARRAY_LEN(all);
	cpu_set_t set;
	int cpu = sched_getcpu();

	if (argc != 2 || (strcmp(argv[1], "all") != 0 && strcmp(argv[1], "record") != 0)) {
		fprintf(stderr, "usage: %s all|record    (`waymark calibrate` runs this)\n", argv[0]);
		return 2;
	}
	if (!wm_enabled(calibrate, record_4)) {
		fputs("waymark-calibrate: the events of this program are not recorded; run `waymark calibrate`\n",
		      stderr);
		return 1;
	}
	if (cpu >= 0) {
		CPU_ZERO(&set);
		CPU_SET((unsigned)cpu, &set);
		sched_setaffinity(0, sizeof(set), &set);
	}
	loop_record_64(2 * ONCE_AROUND / 64);
	if (wmk_clock_detect() == WMK_CLOCK_COUNTER)
		all[n - 1].loop = loop_counter;
	measure(all, strcmp(argv[1], "all") == 0 ? n : 1);
	return 0;
}
