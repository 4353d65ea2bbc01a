/* SPDX-License-Identifier: MIT */
/*
 * bench_ring.c - nanoseconds per record through the shared library, beside a bare clock read, interleaved. Not a
 * test.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <waymark/ring.h>

#include "base/clock.h"

#define BATCH 20000
#define RUNS 400

enum { CLOCK, U64, U64X8, INT_STR32, BYTES64, CASES };
static const char *const names[CASES] = { "clock", "words8", "words64", "word_text32", "word_bytes64" };

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double batch(int which, struct waymark_ring_set *set)
{
	static uint64_t words[9];
	static char text[64];
	struct waymark_ring_frag one = { words, 8, WAYMARK_FRAG_WORDS }, eight = { words, 64, WAYMARK_FRAG_WORDS };
	struct waymark_ring_frag mixed[2] = { { words, 4, WAYMARK_FRAG_WORDS }, { text, 32, WAYMARK_FRAG_TEXT } };
	uint64_t t0 = wmk_clock_monotonic();

	if (which == BYTES64)
		mixed[1] = (struct waymark_ring_frag) { text, 64, WAYMARK_FRAG_BYTES };
	memset(text, 'x', sizeof(text));
	for (int i = 0; i < BATCH; i++) {
		words[0] = (uint64_t)i;
		if (which == CLOCK)
			words[1] = wmk_clock_counter();
		else if (which == U64)
			waymark_ring_record(set, 3, &one, 1);
		else if (which == U64X8)
			waymark_ring_record(set, 3, &eight, 1);
		else
			waymark_ring_record(set, 3, mixed, 2);
	}
	return (double)(wmk_clock_monotonic() - t0) / BATCH;
}

int main(void)
{
	static double ns[CASES][RUNS];
	struct waymark_ring_options o = { .size = sizeof(o),
					  .subbuf_size = 1 << 20,
					  .n_subbufs = 4,
					  .header_room = 96,
					  .mode = WAYMARK_RING_OVERWRITE,
					  .clock = WAYMARK_CLOCK_COUNTER,
					  .prefault = 1ull << 30 };
	struct waymark_ring_set *reader, *set;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(sched_getcpu(), &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	if (waymark_ring_set_create(&o, &reader) < 0 || waymark_ring_set_open(waymark_ring_set_fd(reader), &set) < 0)
		return 1;
	for (int run = 0; run < RUNS; run++)
		for (int c = 0; c < CASES; c++)
			ns[c][run] = batch(c, set);
	for (int c = 0; c < CASES; c++) {
		qsort(ns[c], RUNS, sizeof(double), by_value);
		printf("%-14s median %6.2f min %6.2f ns  (+%.2f)\n", names[c], ns[c][RUNS / 2], ns[c][0],
		       ns[c][RUNS / 2] - ns[CLOCK][RUNS / 2]);
	}
	waymark_ring_set_close(set);
	waymark_ring_set_close(reader);
	return 0;
}
