/* SPDX-License-Identifier: MIT */
/*
 * spans.c - spans and counters of two threads, in C and C++.
 *
 * Each thread is in `job` all the time. It runs three rounds of a `step`, the second of which is left early. The third
 * contains a `read` with its own begin and end. Counters of all number types are in between. Threads take turns, so
 * that their spans overlap.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <waymark/trace.h>

static pthread_barrier_t barrier;

static int step(long thread, int round)
{
	waymark_span(spans, step, thread, round);
	pthread_barrier_wait(&barrier);
	waymark_counter(spans, rounds, round);
	waymark(spans, note, round);
	if (round == 1)
		return 1;
	if (round == 2) {
		waymark_begin(spans, read, wm_named("name", "a file"));
		waymark_counter(spans, huge, UINT64_MAX - (uint64_t)thread);
		waymark_end(spans, read, wm_named("bytes", 512));
	}
	waymark_counter(spans, half, wm_unit("s", round * 0.5), thread);
	waymark_counter(spans, low, -round);
	waymark_counter(spans, odd, round % 2 == 1);
	return 0;
}

static void *job(void *arg)
{
	const long thread = (long)(intptr_t)arg;

	waymark_span(spans, job, thread, wm_level(INFO));
	for (int round = 0; round < 3; round++) {
		pthread_barrier_wait(&barrier);
		step(thread, round);
	}
	/* An end without a begin, a begin without an end. */
	waymark_end(spans, nothing, thread);
	pthread_barrier_wait(&barrier);
	return 0;
}

/* With an argument, it waits at its end until its standard input is closed. */
int main(int argc, char **argv)
{
	pthread_t other;

	pthread_barrier_init(&barrier, 0, 2);
	if (pthread_create(&other, 0, job, (void *)(intptr_t)1))
		return 1;
	job((void *)(intptr_t)0);
	pthread_join(other, 0);
	waymark_begin(spans, endless, wm_named("why", "it is the last"));
	(void)argv;
	if (argc > 1)
		getchar();
	return 0;
}
