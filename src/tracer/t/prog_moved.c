/* SPDX-License-Identifier: MIT */
/*
 * prog_moved.c - for each byte on its standard input, MOVED_THREADS threads make MOVED_RECORDS records of each kind, on
 * every recording path: words only; words and a text; more fields; an event with a probe. Writes a byte to its standard
 * output when they have finished.
 */
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <waymark/runtime.h>
#include <waymark/trace.h>

#include "tracer/t/moved.h"

static pthread_barrier_t begin, end;

static void *record(void *arg)
{
	unsigned me = (unsigned)(unsigned long)arg;
	unsigned char bytes[3] = { 1, 2, 3 };

	for (unsigned n = 0;; n++) {
		if (n % MOVED_RECORDS == 0) {
			if (n)
				pthread_barrier_wait(&end);
			pthread_barrier_wait(&begin);
		}
		waymark(m, words, me, n);
		waymark(m, text, me, n, "behind");
		waymark(m, more, me, n, "in front", wm_bytes(bytes, sizeof(bytes)));
		waymark(m, probed, me, n);
		if (n % 64 == 0)
			sched_yield();
	}
	return NULL;
}

static void probe(const struct waymark_probe_record *r, void *data)
{
	(void)r;
	__atomic_fetch_add((unsigned long *)data, 1, __ATOMIC_RELAXED);
}

int main(void)
{
	static unsigned long seen;
	pthread_t thread;
	char byte;

	if (waymark_connect("m:probed", probe, &seen) != 0)
		return 2;
	pthread_barrier_init(&begin, NULL, MOVED_THREADS + 1);
	pthread_barrier_init(&end, NULL, MOVED_THREADS + 1);
	for (unsigned long i = 0; i < MOVED_THREADS; i++)
		if (pthread_create(&thread, NULL, record, (void *)i))
			return 3;
	for (unsigned long rounds = 1; read(0, &byte, 1) == 1; rounds++) {
		pthread_barrier_wait(&begin);
		pthread_barrier_wait(&end);
		if (seen != rounds * MOVED_THREADS * MOVED_RECORDS)
			return 4;
		if (write(1, &byte, 1) != 1)
			return 5;
	}
	_exit(0);
}
