/* SPDX-License-Identifier: MIT */
/* register_wait.c - see register_wait.h. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "tracer/lock.h"
#include "tracer/register_wait.h"
#include "tracer/tracer.h"

#define PAUSE_NS 1000000

static _Atomic(uint32_t) done;          /* a futex: the batch for which all controllers have answered */
/* a constructor has waited in vain for so many ms, and the program recorded on */
static _Atomic(uint32_t) late;
static _Atomic(uint32_t) waiting;       /* threads in wmk_register_wait() */
/* What is left of WAYMARK_REGISTER_TIMEOUT, for all constructors together. */
static int64_t budget_ms = -1;

bool wmk_register_publish(uint32_t change)
{
	/* relaxed: the helper alone writes it */
	if (change == atomic_load_explicit(&done, memory_order_relaxed))
		return false;
	/* (T6) release: what is enabled comes before; pairs with the acquire in wmk_register_wait() */
	atomic_store_explicit(&done, change, memory_order_release);
	return true;
}

void wmk_register_wake(void)
{
	syscall(SYS_futex, &done, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

bool wmk_register_is_awaited(void)
{
	return atomic_load_explicit(&waiting, memory_order_relaxed) != 0;       /* relaxed: a hint */
}

uint32_t wmk_register_take_late(void)
{
	return atomic_exchange_explicit(&late, 0, memory_order_relaxed);        /* relaxed: it is about nothing else */
}

void wmk_register_after_fork(void)
{
	atomic_store_explicit(&late, 0, memory_order_relaxed);   /* told, or to be told, by the parent */
	atomic_store_explicit(&waiting, 0, memory_order_relaxed);
	/* the time is the child's own, where the parent's has not been waited for in vain */
	if (budget_ms != 0)
		budget_ms = -1;
}

static void sleep_on(uint32_t value, int64_t ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	/* (what a sandbox refuses returns at once) */
	if (syscall(SYS_futex, &done, FUTEX_WAIT_PRIVATE, value, &ts, NULL, 0) != 0 &&
	    errno != EAGAIN && errno != EINTR && errno != ETIMEDOUT)
		wmk_pause(PAUSE_NS);
}

void wmk_register_wait(uint32_t change)
{
	int64_t begin = wmk_clock_ms(), left;
	uint32_t is;

	if (budget_ms < 0)
		budget_ms = wmk_tracer.register_ms;
	atomic_fetch_add_explicit(&waiting, 1, memory_order_relaxed);
	while ((int32_t)((is = atomic_load_explicit(&done, memory_order_acquire)) - change) < 0) { /* (T6) */
		left = budget_ms - (wmk_clock_ms() - begin);
		if (left <= 0) {
			/* (who waits for nothing has asked for that) */
			atomic_store_explicit(&late, (uint32_t)wmk_tracer.register_ms, memory_order_relaxed);
			break;
		}
		sleep_on(is, left);
	}
	atomic_fetch_sub_explicit(&waiting, 1, memory_order_relaxed);
	left = budget_ms - (wmk_clock_ms() - begin);
	budget_ms = left > 0 ? left : 0;
}
