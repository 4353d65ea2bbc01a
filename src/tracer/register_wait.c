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

static _Atomic(uint32_t) done;          /* a futex: the batch that all session daemons have answered */
/* ms that a constructor waited without an answer before the application continued */
static _Atomic(uint32_t) late;
static _Atomic(uint32_t) waiting;       /* threads in wmk_register_wait() */
/* The remaining time of WAYMARK_REGISTER_TIMEOUT, for all constructors together; -1: the time has not started. */
static int64_t budget_ms = -1;

bool wmk_register_publish(uint32_t change)
{
	/* relaxed: only the helper thread writes it */
	if (change == atomic_load_explicit(&done, memory_order_relaxed))
		return false;
	/* (T6) release: events are enabled before; pairs with the acquire in wmk_register_wait() */
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
	return atomic_exchange_explicit(&late, 0, memory_order_relaxed);        /* relaxed: it orders no other data */
}

void wmk_register_after_fork(void)
{
	atomic_store_explicit(&late, 0, memory_order_relaxed);   /* the parent reports it */
	atomic_store_explicit(&waiting, 0, memory_order_relaxed);
	/* the child has the full time, unless the parent waited in vain */
	if (budget_ms != 0)
		budget_ms = -1;
}

static void sleep_on(uint32_t value, int64_t ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	/* futex() returns at once if a sandbox rejects it */
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
			/* with WAYMARK_REGISTER_TIMEOUT=0 this is 0: no report */
			atomic_store_explicit(&late, (uint32_t)wmk_tracer.register_ms, memory_order_relaxed);
			break;
		}
		sleep_on(is, left);
	}
	atomic_fetch_sub_explicit(&waiting, 1, memory_order_relaxed);
	left = budget_ms - (wmk_clock_ms() - begin);
	budget_ms = left > 0 ? left : 0;
}
