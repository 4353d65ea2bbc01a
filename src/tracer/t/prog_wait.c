/* SPDX-License-Identifier: MIT */
/*
 * prog_wait.c - programs that run longer than their session daemon, or start before it. test_daemon.c, test_filter.c
 * and test_quick.c have the expected results.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <waymark/runtime.h>
#include <waymark/trace.h>

#include "quick.h"

#define THREADS 4

static atomic_int stop;

static void moment(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* Returns 0, or 3: not within 30 s. */
static int wait_enabled(int wanted)
{
	for (int i = 0; i < 30000; i++) {
		if (wm_enabled(t, mark) == wanted)
			return 0;
		moment();
	}
	return 3;
}

static void *tick(void *arg)
{
	unsigned long me = (unsigned long)arg, n = 0;

	while (!stop) {
		waymark(t, tick, me, n);
		if (++n % 16 == 0)
			usleep(300);
	}
	waymark(t, end, me, n);
	return NULL;
}

/* Make a record for each byte that is read, and write the byte back. */
static int step_by_step(void)
{
	static const int seq[] = { 3, -4 };
	const double ratio = 0.5;
	char byte;

	for (int n = 0; read(0, &byte, 1) == 1; n++) {
		waymark(t, step, n, wm_named("text", "word"), wm_named("seq", wm_seq(seq, 2)), ratio);
		if (write(0, &byte, 1) != 1)
			return 4;
	}
	return 0;
}

/*
 * For each byte that is read: a number of each size, one after the other in one record. Odd sizes misalign the
 * following ones.
 */
static int numbers(void)
{
	static const uint64_t values[] = QUICK_VALUES;
	char byte;

	while (read(0, &byte, 1) == 1) {
		for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
			const uint64_t v = values[i];

			waymark(t, numbers, wm_named("i", (uint8_t)i), wm_named("u64", v), wm_named("s8", (int8_t)v),
				wm_named("u16", (uint16_t)v), wm_named("s32", (int32_t)v), wm_named("u8", (uint8_t)v),
				wm_named("s64", (int64_t)v), wm_named("u32", (uint32_t)v), wm_named("s16", (int16_t)v));
			waymark(t, straight, wm_named("u64", v), wm_named("u32", (uint32_t)v),
				wm_named("s16", (int16_t)v), wm_named("i", (uint8_t)i));
		}
		if (write(0, &byte, 1) != 1)
			return 4;
	}
	return 0;
}

static void until_input_ends(void)
{
	char byte;

	while (read(0, &byte, 1) > 0)
		;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	pthread_t threads[THREADS];

	if (!strcmp(kind, "ticks")) {
		for (unsigned long i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, tick, (void *)i);
		until_input_ends();
		stop = 1;
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		return 0;
	}
	if (!strcmp(kind, "on")) {
		/* enabled at start or later; then disabled, if the test requests it by an argument */
		int rc = wait_enabled(1);

		waymark(t, mark, wm_named("pid", (int)getpid()));
		return rc ? rc : argc > 2 ? wait_enabled(0) : 0;
	}
	if (!strcmp(kind, "idle")) {
		until_input_ends();
		return 0;
	}
	if (!strcmp(kind, "numbers"))
		return numbers();
	return !strcmp(kind, "steps") ? step_by_step() : 90;
}
