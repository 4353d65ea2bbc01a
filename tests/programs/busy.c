/* SPDX-License-Identifier: MIT */
/*
 * busy.c - threads that record continuously.
 *
 *     busy count THREADS N SPIN       N records each, with SPIN iterations of arithmetic between two
 *     busy until THREADS SPIN         until flag 1 of the ledger is set
 *     busy kinds THREADS SPIN         the same, each thread with one of the events test:seq, test:text and test:more
 *     busy texts THREADS N            N records each with strings of 0 to 300 bytes
 *     busy wander THREADS N           N records each, while they move from CPU to CPU
 *     busy paced THREADS N USEC       N records each, USEC microseconds of sleep after every 64
 *     busy behind THREADS N DIR       N records each, at most BEHIND_MAX bytes ahead of the trace's streams in DIR
 *     busy steady THREADS N RATE      N records each, RATE per second for all threads together, with arithmetic in
 *                                     between
 *     busy large THREADS N USEC       N records each with strings of 2000 bytes, USEC microseconds of sleep after each
 *
 * Flag 1 ends all of them early. Flag 0 counts the threads that have started, flag 2 those that have ended.
 */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "ledger.h"

#define RECORD 36u               /* bytes of a test:seq in a stream */
/* more than the open sub-buffers of 16 kB of two CPUs, half of a ring of eight */
#define BEHIND_MAX (64u << 10)

static uint64_t count, spin_turns, pause_us, pause_every = 64, rate_of_each;
static const char *mode, *streams;

static void spin(uint64_t turns)
{
	for (uint64_t i = 0; i < turns; i++)
		__asm__ __volatile__("" ::: "memory");
}

/*
 * Compute until the record number `i` is due. A thread that had no CPU for a while records without pauses until it has
 * caught up.
 */
static void steady(uint64_t i, uint64_t start)
{
	if (i % 64 == 0)
		while (i * 1000000000u > (clock_nsec(CLOCK_MONOTONIC) - start) * rate_of_each)
			spin(500);
}

static uint64_t written(void)
{
	struct dirent *entry;
	uint64_t sum = 0;
	struct stat st;
	DIR *dir = opendir(streams);
	while (dir && (entry = readdir(dir)) != NULL)
		if (!strncmp(entry->d_name, "channel0_", 9) && !fstatat(dirfd(dir), entry->d_name, &st, 0))
			sum += (uint64_t)st.st_size;
	if (dir)
		closedir(dir);
	return sum;
}

/* Wait until the consumer has caught up, with a limit: reported losses are more useful than a test that hangs. */
static void behind(uint64_t i)
{
	static uint64_t made;
	if (i % 64 != 63)
		return;
	uint64_t all = __atomic_add_fetch(&made, 64, __ATOMIC_RELAXED) * RECORD;
	for (int turn = 0; turn < 20000 && all > written() + BEHIND_MAX; turn++)
		usleep(500);
}

static void wander(uint64_t i)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;
	if (i % 7 || cpus < 2)
		return;
	CPU_ZERO(&set);
	CPU_SET((size_t)(i * 2654435761u >> 8) % (size_t)cpus, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Record an event that belongs to the writer. */
static void emit_kind(uint32_t w, char *buffer)
{
	if (w % 3 == 0) {
		writer_emit(w);
	} else if (w % 3 == 1) {
		writer_emit_text(w, buffer, 20);
	} else {
		uint64_t seq = writer_begin(w);
		uint32_t writer = w, sum = writer_sum(w, seq);
		uint64_t mono = clock_nsec(CLOCK_MONOTONIC), t0 = clock_counter();

		waymark(test, more, writer, seq, t0, mono, sum);
		writer_end(w, seq);
	}
}

static void *thread(void *arg)
{
	uint32_t w = writer_new();
	char buffer[2001];
	(void)arg;
	uint64_t start = clock_nsec(CLOCK_MONOTONIC);
	__atomic_add_fetch(&ledger->flag[0], 1, __ATOMIC_RELAXED);
	if (!strcmp(mode, "until") || !strcmp(mode, "kinds")) {
		while (!__atomic_load_n(&ledger->flag[1], __ATOMIC_RELAXED)) {
			if (mode[0] == 'k')
				emit_kind(w, buffer);
			else
				writer_emit(w);
			spin(spin_turns);
		}
	} else {
		for (uint64_t i = 0; i < count && !__atomic_load_n(&ledger->flag[1], __ATOMIC_RELAXED); i++) {
			if (rate_of_each)
				steady(i, start);
			if (!strcmp(mode, "texts"))
				writer_emit_text(w, buffer, (size_t)(i * 7 % 301));
			else if (!strcmp(mode, "large"))
				writer_emit_text(w, buffer, 2000);
			else
				writer_emit(w);
			if (!strcmp(mode, "wander"))
				wander(i);
			spin(spin_turns);
			if (streams)
				behind(i);
			if (pause_us && i % pause_every == pause_every - 1)
				usleep((useconds_t)pause_us);
		}
	}
	__atomic_add_fetch(&ledger->flag[2], 1, __ATOMIC_RELAXED);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[256];
	long n = argc > 3 ? atol(argv[2]) : 0;
	if (n < 1 || n > 256)
		return 2;
	mode = argv[1];
	ledger_map();
	if (!strcmp(mode, "until") || !strcmp(mode, "kinds")) {
		spin_turns = strtoull(argv[3], NULL, 10);
	} else {
		count = strtoull(argv[3], NULL, 10);
		if (!strcmp(mode, "large"))
			pause_every = 1;
		if (argc > 4 && (!strcmp(mode, "paced") || !strcmp(mode, "large")))
			pause_us = strtoull(argv[4], NULL, 10);
		else if (argc > 4 && !strcmp(mode, "behind"))
			streams = argv[4];
		else if (argc > 4 && !strcmp(mode, "steady"))
			rate_of_each = strtoull(argv[4], NULL, 10) / (uint64_t)n;
		else if (argc > 4)
			spin_turns = strtoull(argv[4], NULL, 10);
	}
	for (long i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, thread, NULL))
			return 3;
	for (long i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
