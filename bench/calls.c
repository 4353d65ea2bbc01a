/* SPDX-License-Identifier: MIT */
/*
 * calls.c - the traced programs of the benchmark `kernel`: a loop of getppid(), which does little more than enter and
 * leave the kernel; and a task of the highest priority that measures its wake-up delay, on a CPU where another process
 * reads buffers.
 *
 *     calls loop CPU BATCH ROUNDS [BUSY]    exactly BATCH * ROUNDS calls on CPU; BUSY: a CPU that is kept busy
 *                                           meanwhile
 *     calls late CPU US N                   sleep US microseconds, N times
 *
 * Prints lines "key value". loop: nanoseconds for a call, `cpu` and `wall`, medians of the rounds. late: delay after
 * the requested time in microseconds: median, 99.9th percentile, maximum.
 */
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measure.h"

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void *be_busy(void *arg)
{
	pin(*(int *)arg);
	for (volatile uint64_t i = 0;; i++)
		;
	return NULL;
}

static int loop(int cpu, uint64_t batch, size_t rounds)
{
	double *cpu_ns = calloc(rounds, sizeof(*cpu_ns)), *wall_ns = calloc(rounds, sizeof(*wall_ns));

	CHECK(cpu_ns && wall_ns, "calloc");
	pin(cpu);
	for (size_t r = 0; r < rounds; r++) {
		const uint64_t wall = clock_ns(CLOCK_MONOTONIC), own = clock_ns(CLOCK_THREAD_CPUTIME_ID);

		for (uint64_t i = 0; i < batch; i++)
			syscall(SYS_getppid);
		cpu_ns[r] = (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - own) / (double)batch;
		wall_ns[r] = (double)(clock_ns(CLOCK_MONOTONIC) - wall) / (double)batch;
	}
	qsort(cpu_ns, rounds, sizeof(*cpu_ns), by_value);
	qsort(wall_ns, rounds, sizeof(*wall_ns), by_value);
	printf("cpu %.2f\nwall %.2f\ncalls %llu\n", cpu_ns[rounds / 2], wall_ns[rounds / 2],
	       (unsigned long long)(batch * rounds));
	free(cpu_ns);
	free(wall_ns);
	return 0;
}

static int late(int cpu, uint64_t us, size_t n)
{
	const struct sched_param highest = { .sched_priority = sched_get_priority_max(SCHED_FIFO) };
	double *by = calloc(n, sizeof(*by));
	uint64_t next;

	CHECK(by, "calloc");
	pin(cpu);
	CHECK(sched_setscheduler(0, SCHED_FIFO, &highest) == 0, "sched_setscheduler");
	next = clock_ns(CLOCK_MONOTONIC);
	for (size_t i = 0; i < n; i++) {
		next += us * 1000;

		const struct timespec at = { (time_t)(next / 1000000000u), (long)(next % 1000000000u) };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);

		const uint64_t now = clock_ns(CLOCK_MONOTONIC);

		by[i] = now > next ? (double)(now - next) / 1000 : 0;
		/* a missed period must not count again */
		if (now > next + us * 1000)
			next = now;
	}
	qsort(by, n, sizeof(*by), by_value);
	printf("middle %.1f\np999 %.1f\nlongest %.1f\n", by[n / 2], by[n - 1 - n / 1000], by[n - 1]);
	free(by);
	return 0;
}

int main(int argc, char **argv)
{
	const int cpu = argc > 4 ? atoi(argv[2]) : 0;
	const long a = argc > 4 ? atol(argv[3]) : 0, n = argc > 4 ? atol(argv[4]) : 0;
	pthread_t thread;
	int busy;

	if (a < 1 || n < 1 || n > 10000000) {
		fprintf(stderr, "usage: %s loop CPU BATCH ROUNDS [BUSY] | late CPU US N\n", argv[0]);
		return 2;
	}
	if (strcmp(argv[1], "late") == 0)
		return late(cpu, (uint64_t)a, (size_t)n);
	if (argc > 5) {
		busy = atoi(argv[5]);
		CHECK(pthread_create(&thread, NULL, be_busy, &busy) == 0, "pthread_create");
	}
	return loop(cpu, (uint64_t)a, (size_t)n);
}
