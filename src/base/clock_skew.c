/* SPDX-License-Identifier: MIT */
/*
 * clock_skew.c - bound the difference between the counters of two CPUs.
 *
 * The calling thread and a thread on another CPU exchange messages. The caller reads its counter (a) and sends a
 * message; the other thread reads its counter (b) and replies; the caller reads its counter again (a'). The readings
 * happen in the order a, b, a'. The counter of the other CPU is therefore ahead by at least b - a' and at most b - a.
 * The narrowest interval of all exchanges bounds the skew. Every wait has a deadline. A CPU that misses the deadline is
 * skipped.
 */
#include "base/clock.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#define ROUNDS 200
#define CPUS_MAX 8               /* limit of measured CPUs, without this one */
#define LIMIT_NS 10000000u       /* deadline for the measurement of one CPU */

struct ball {
	_Atomic unsigned turn;   /* even: the caller's turn; odd: the other thread's */
	_Atomic bool over;
	uint64_t value;          /* counter of the other thread, published by `turn` */
	uint64_t deadline;
	int cpu;
};

static bool pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) == 0;
}

/*
 * Wait until `ball->turn` is `turn`. Returns false at the deadline. The function yields the CPU regularly, because the
 * other thread may need this CPU on a busy machine.
 */
static bool turn_wait(struct ball *ball, unsigned turn)
{
	for (unsigned i = 1;; i++) {
		/* (s) acquire: pairs with the release store of `turn` by the other thread; `value` is valid */
		if (atomic_load_explicit(&ball->turn, memory_order_acquire) == turn)
			return true;
		if (i % 256 == 0) {
			if (atomic_load_explicit(&ball->over, memory_order_relaxed) ||
			    wmk_clock_monotonic() > ball->deadline)
				return false;
			sched_yield();
		}
	}
}

static void *answer(void *data)
{
	struct ball *ball = data;

	if (pin(ball->cpu))
		for (unsigned turn = 1; turn_wait(ball, turn); turn += 2) {
			ball->value = wmk_clock_counter();
			atomic_store_explicit(&ball->turn, turn + 1, memory_order_release);   /* (s) */
		}
	return NULL;
}

/* Return an upper bound of the skew between this CPU and `cpu`, in cycles; 0 if the thread on `cpu` did not reply. */
static uint64_t skew_with(int cpu)
{
	struct ball ball = { .cpu = cpu, .deadline = wmk_clock_monotonic() + LIMIT_NS };
	int64_t low = INT64_MIN, high = INT64_MAX;
	pthread_t thread;

	if (pthread_create(&thread, NULL, answer, &ball) != 0)
		return 0;
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t a = wmk_clock_counter();

		atomic_store_explicit(&ball.turn, 2 * i + 1, memory_order_release);           /* (s) */
		if (!turn_wait(&ball, 2 * i + 2))
			break;
		uint64_t b = wmk_clock_counter();
		int64_t most = (int64_t)(ball.value - a), least = (int64_t)(ball.value - b);

		high = most < high ? most : high;
		low = least > low ? least : low;
	}
	atomic_store_explicit(&ball.over, true, memory_order_relaxed);
	pthread_join(thread, NULL);
	if (low == INT64_MIN)
		return 0;
	uint64_t ahead = high < 0 ? 0 : (uint64_t)high, behind = low > 0 ? 0 : (uint64_t)-low;
	return ahead > behind ? ahead : behind;
}

uint64_t wmk_clock_skew(void)
{
	cpu_set_t mine;
	uint64_t worst = 0;
	unsigned looked = 0;

	if (sched_getaffinity(0, sizeof(mine), &mine) != 0)
		return 0;
	int here = sched_getcpu();
	if (here < 0 || !pin(here))
		return 0;
	for (int cpu = 0; cpu < CPU_SETSIZE && looked < CPUS_MAX; cpu++)
		if (cpu != here && CPU_ISSET((unsigned)cpu, &mine)) {
			uint64_t skew = skew_with(cpu);

			looked++;
			worst = skew > worst ? skew : worst;
		}
	sched_setaffinity(0, sizeof(mine), &mine);
	return worst;
}
