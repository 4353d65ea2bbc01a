/* SPDX-License-Identifier: MIT */
/*
 * probed.c - a site that probes within the process enable and disable repeatedly.
 *
 *     probed N THREADS     N turns of: pass the site; connect a probe, pass it; disconnect, pass it. THREADS pass it
 *                          meanwhile.
 *
 * Fails (status 5) if the probe does not see exactly the passes between connection and disconnection.
 */
#include <pthread.h>
#include <stdio.h>
#include <waymark/runtime.h>
#include "ledger.h"

static _Atomic int stop_now;
static __thread uint64_t seen;

static void on_pass(const struct waymark_probe_record *record, void *data)
{
	(void)data;
	if (record->n_fields == 1)
		seen++;
}

static __attribute__((noinline)) void pass(uint64_t number)
{
	waymark(test, toggled, number);
}

static void *thread(void *arg)
{
	(void)arg;
	for (uint64_t i = 0; !stop_now; i++)
		pass(i);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	int count = argc > 2 ? atoi(argv[2]) : 0;
	ledger_map();
	for (int i = 0; i < count && i < 64; i++)
		if (pthread_create(&threads[i], NULL, thread, NULL))
			return 3;
	for (uint64_t i = 0; i < n; i++) {
		pass(3 * i);
		if (waymark_connect("test:toggled", on_pass, NULL))
			return 4;
		pass(3 * i + 1);
		if (waymark_disconnect("test:toggled", on_pass, NULL))
			return 4;
		pass(3 * i + 2);
		if (seen != i + 1) {
			fprintf(stderr, "probed: after turn %llu the probe has seen %llu\n", (unsigned long long)i,
				(unsigned long long)seen);
			return 5;
		}
	}
	stop_now = 1;
	for (int i = 0; i < count && i < 64; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
