/* SPDX-License-Identifier: MIT */
/*
 * work.c - the program that the benchmarks measure, built once for each tracer (TRACER_H).
 *
 *     work record CASE CPUS BATCH ROUNDS WARM   CPU time of one record, a thread pinned to each of CPUS (0,1); one line
 *                                               "round ADDITIONS RDTSC RECORD" for each round of each thread
 *     work disabled CPU BATCH ROUNDS            a loop with a site, and the same loop without
 *     work count CASE N PAUSE_EVERY             exactly N records, with a sleep of 1 ms after each PAUSE_EVERY
 *     work stream CASE CPUS MS                  record at full speed for MS milliseconds
 *     work paced CPU RATE N                     N records of u64 at RATE per second; the payload is the time before the
 *                                               record, CLOCK_MONOTONIC in ns
 *
 * Prints lines "key value". Figures are nanoseconds of thread CPU time, so the time in which other processes use the
 * CPU does not count. Their effect on the caches does; therefore the runs are many and interleaved.
 *
 * ADDITIONS is the time of 40 independent additions. It depends on the state of the machine only: the clock frequency,
 * and the issue slots that a hyper-thread sibling uses. It is measured before and after the records of a round; the
 * larger value counts. common.py compares rounds of one state only.
 */
#include <pthread.h>
#include <string.h>
#include "measure.h"
#include TRACER_H

#define MAX_THREADS 64
#define LAP (32u << 20)        /* bytes of the ring of a CPU, as run.py configures it */

static const char text32[] = "0123456789abcdef0123456789ABCDEF";
static unsigned char bytes64[64];
static unsigned char array64[64];

struct worker {
	pthread_t thread;
	const char *name;
	int cpu;
	uint64_t batch, rounds, warm;
	uint64_t count, cpu_ns;
	struct round *round;
};

/* Nanoseconds for one of each. */
struct round {
	double additions, rdtsc, record;
};

static pthread_barrier_t barrier;
static int volatile stop_now;

#define LOOP(fn, call) \
	static __attribute__((noinline)) void fn(uint64_t n) \
	{ \
		for (uint64_t i = 0; i < n; i++) { \
			call; \
			__asm__ __volatile__("" ::: "memory"); \
		} \
	}

LOOP(loop_u32, record_u32((uint32_t)i))
LOOP(loop_u64, record_u64(i))
LOOP(loop_int_long_double, record_int_long_double((int)i, (long)i * 3, (double)i))
LOOP(loop_int_str32, record_int_str32((int)i, text32))
LOOP(loop_bytes64, record_bytes64(bytes64))
LOOP(loop_array64, record_array64(array64))

static __attribute__((noinline)) void loop_rdtsc(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
#if defined(__x86_64__)
		uint32_t lo, hi;
		__asm__ __volatile__("rdtsc" : "=a"(lo), "=d"(hi) :: "memory");
#elif defined(__aarch64__)
		uint64_t v;
		__asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(v) :: "memory");
#endif
	}
}

/* Blocks of 40 additions to 8 registers, limited by the issue width of the core only. */
static __attribute__((noinline)) void loop_additions(uint64_t n)
{
	uint64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;

#if defined(__x86_64__)
#define ADD8 "inc %0\n\tinc %1\n\tinc %2\n\tinc %3\n\tinc %4\n\tinc %5\n\tinc %6\n\tinc %7\n\t"
#elif defined(__aarch64__)
#define ADD8 "add %0, %0, 1\n\tadd %1, %1, 1\n\tadd %2, %2, 1\n\tadd %3, %3, 1\n\t" \
	     "add %4, %4, 1\n\tadd %5, %5, 1\n\tadd %6, %6, 1\n\tadd %7, %7, 1\n\t"
#endif
	for (uint64_t i = 0; i < n; i++)
		__asm__ __volatile__(ADD8 ADD8 ADD8 ADD8 ADD8
				     : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h));
}

static void (*find_loop(const char *name))(uint64_t)
{
	static const struct { const char *name; void (*loop)(uint64_t); } table[] = {
		{ "u32", loop_u32 }, { "u64", loop_u64 }, { "int_long_double", loop_int_long_double },
		{ "int_str32", loop_int_str32 }, { "bytes64", loop_bytes64 }, { "array64", loop_array64 }, { "ctx3",
			loop_u32 },
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(name, table[i].name))
			return table[i].loop;
	fprintf(stderr, "work: no case '%s'\n", name);
	exit(2);
}

static double time_loop(void (*loop)(uint64_t), uint64_t n)
{
	uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	loop(n);
	return (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / (double)n;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static void *record_thread(void *arg)
{
	struct worker *w = arg;
	void (*loop)(uint64_t) = find_loop(w->name);
	pin(w->cpu);
	loop_bytes64(LAP / 64);        /* write all memory of the ring once, with few records */
	loop(w->warm);
	for (uint64_t r = 0; r < w->rounds; r++) {
		double before, after;

		pthread_barrier_wait(&barrier);
		before = time_loop(loop_additions, 20000);
		w->round[r].record = time_loop(loop, w->batch);
		after = time_loop(loop_additions, 20000);
		w->round[r].rdtsc = time_loop(loop_rdtsc, 10000);
		w->round[r].additions = before > after ? before : after;
	}
	return NULL;
}

static void *stream_thread(void *arg)
{
	struct worker *w = arg;
	void (*loop)(uint64_t) = find_loop(w->name);
	pin(w->cpu);
	pthread_barrier_wait(&barrier);
	for (; !stop_now; w->count += 1000)
		loop(1000);
	w->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

static unsigned parse_cpus(const char *text, struct worker *w)
{
	unsigned n = 0;
	for (const char *at = text; *at && n < MAX_THREADS; n++) {
		char *end;
		w[n].cpu = (int)strtol(at, &end, 10);
		at = *end == ',' ? end + 1 : end;
	}
	return n;
}

static int cmd_record(char **a)
{
	static struct worker w[MAX_THREADS];
	unsigned n = parse_cpus(a[1], w);
	uint64_t rounds = strtoull(a[3], NULL, 10);
	struct round *all = calloc(rounds * n, sizeof(*all));
	CHECK(all, "calloc");
	pthread_barrier_init(&barrier, NULL, n);
	for (unsigned i = 0; i < n; i++) {
		w[i].name = a[0];
		w[i].batch = strtoull(a[2], NULL, 10);
		w[i].rounds = rounds;
		w[i].warm = strtoull(a[4], NULL, 10);
		w[i].round = all + i * rounds;
		CHECK(pthread_create(&w[i].thread, NULL, record_thread, &w[i]) == 0, "pthread_create");
	}
	for (unsigned i = 0; i < n; i++)
		pthread_join(w[i].thread, NULL);
	for (uint64_t r = 0; r < rounds * n; r++)
		printf("round %.3f %.3f %.3f\n", all[r].additions, all[r].rdtsc, all[r].record);
	printf("begun %llu\n", (unsigned long long)(n * (LAP / 64 + w[0].warm + rounds * w[0].batch)));
	free(all);
	return 0;
}

static uint64_t volatile sink;

static __attribute__((noinline)) void loop_plain(uint64_t n)
{
	uint64_t x = 88172645463325252ull;
	for (uint64_t i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	sink = x;
}

static __attribute__((noinline)) void loop_site(uint64_t n)
{
	uint64_t x = 88172645463325252ull;
	for (uint64_t i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		record_u64(x);
	}
	sink = x;
}

static int cmd_disabled(char **a)
{
	uint64_t batch = strtoull(a[1], NULL, 10), rounds = strtoull(a[2], NULL, 10);
	double *plain = calloc(rounds, sizeof(*plain)), *site = calloc(rounds, sizeof(*site));
	CHECK(plain && site, "calloc");
	pin(atoi(a[0]));
	for (uint64_t r = 0; r < rounds; r++) {
		plain[r] = time_loop(loop_plain, batch);
		site[r] = time_loop(loop_site, batch);
	}
	printf("plain %.4f\nsite %.4f\n", median(plain, rounds), median(site, rounds));
	free(plain);
	free(site);
	return 0;
}

static int cmd_count(char **a)
{
	void (*loop)(uint64_t) = find_loop(a[0]);
	uint64_t n = strtoull(a[1], NULL, 10), every = strtoull(a[2], NULL, 10);
	for (uint64_t done = 0; done < n;) {
		uint64_t part = every && every < n - done ? every : n - done;
		loop(part);
		done += part;
		if (every)
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	printf("begun %llu\n", (unsigned long long)n);
	return 0;
}

static int cmd_stream(char **a)
{
	static struct worker w[MAX_THREADS];
	unsigned n = parse_cpus(a[1], w);
	uint64_t begin, total = 0, cpu_ns = 0, ms = strtoull(a[2], NULL, 10);
	pthread_barrier_init(&barrier, NULL, n + 1);
	for (unsigned i = 0; i < n; i++) {
		w[i].name = a[0];
		CHECK(pthread_create(&w[i].thread, NULL, stream_thread, &w[i]) == 0, "pthread_create");
	}
	pthread_barrier_wait(&barrier);
	begin = clock_ns(CLOCK_MONOTONIC);
	nanosleep(&(struct timespec){ (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 }, NULL);
	stop_now = 1;
	for (unsigned i = 0; i < n; i++) {
		pthread_join(w[i].thread, NULL);
		total += w[i].count;
		cpu_ns += w[i].cpu_ns;
	}
	printf("elapsed %.0f\nbegun %llu\ncpu %llu\n", (double)(clock_ns(CLOCK_MONOTONIC) - begin),
	       (unsigned long long)total, (unsigned long long)cpu_ns);
	return 0;
}

/* Sleep until a record is due, if it is due in more than 1 ms; then poll the clock. Returns the time. */
static uint64_t wait_until(uint64_t due)
{
	uint64_t now;

	while ((now = clock_ns(CLOCK_MONOTONIC)) < due)
		if (due - now > 1000000)
			nanosleep(&(struct timespec){ (time_t)((due - now - 500000) / 1000000000),
						      (long)((due - now - 500000) % 1000000000) }, NULL);
	return now;
}

static int cmd_paced(char **a)
{
	uint64_t rate = strtoull(a[1], NULL, 10), n = strtoull(a[2], NULL, 10), begin, cpu_ns;

	pin(atoi(a[0]));
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	begin = clock_ns(CLOCK_MONOTONIC);
	for (uint64_t i = 0; i < n; i++) {
		const uint64_t now = wait_until(begin + i * 1000000000u / rate);

		record_u64(now);
	}
	printf("begun %llu\nelapsed %llu\ncpu %llu\n", (unsigned long long)n,
	       (unsigned long long)(clock_ns(CLOCK_MONOTONIC) - begin),
	       (unsigned long long)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 7 && !strcmp(argv[1], "record"))
		return cmd_record(argv + 2);
	if (argc == 5 && !strcmp(argv[1], "disabled"))
		return cmd_disabled(argv + 2);
	if (argc == 5 && !strcmp(argv[1], "count"))
		return cmd_count(argv + 2);
	if (argc == 5 && !strcmp(argv[1], "stream"))
		return cmd_stream(argv + 2);
	if (argc == 5 && !strcmp(argv[1], "paced"))
		return cmd_paced(argv + 2);
	fprintf(stderr, "usage: %s record CASE CPUS BATCH ROUNDS WARM | disabled CPU BATCH ROUNDS |"
		" count CASE N PAUSE_EVERY | stream CASE CPUS MS | paced CPU RATE N\n", argv[0]);
	return 2;
}
