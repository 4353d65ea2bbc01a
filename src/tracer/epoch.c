/* SPDX-License-Identifier: MIT */
/*
 * epoch.c - a grace period for probes: functions of the program, which no membarrier can restart.
 *
 * Two counters, one for each phase. A recorder enters the present phase, then looks at the guard of its probe; whoever takes probes
 * away clears their guards first, turns the phase, and waits until each counter has been seen at zero since. A recorder that enters
 * later finds the guard cleared, whichever counter it used.
 */
#include "tracer/tracer.h"

static _Atomic(unsigned) phase;
static _Atomic(unsigned) inside[2];
static bool drained[2] = { true, true };

unsigned wmk_epoch_enter(void)
{
	unsigned p = atomic_load_explicit(&phase, memory_order_relaxed) & 1;

	/* (T1) a full barrier between "I am inside" and the look at the guard; pairs with the one in wmk_epoch_start() */
	atomic_fetch_add_explicit(&inside[p], 1, memory_order_seq_cst);
	atomic_thread_fence(memory_order_seq_cst);
	return p;
}

void wmk_epoch_leave(unsigned p)
{
	/* (T2) release: what the probe did is over; pairs with the acquire in wmk_epoch_passed() */
	atomic_fetch_sub_explicit(&inside[p], 1, memory_order_release);
}

void wmk_epoch_start(void)
{
	/* (T1) the guards were cleared before this; pairs with wmk_epoch_enter() */
	atomic_thread_fence(memory_order_seq_cst);
	atomic_fetch_add_explicit(&phase, 1, memory_order_seq_cst);
	drained[0] = drained[1] = false;
}

bool wmk_epoch_passed(void)
{
	for (int p = 0; p < 2; p++)
		if (!drained[p])
			drained[p] = atomic_load_explicit(&inside[p], memory_order_acquire) == 0;   /* (T2) */
	return drained[0] && drained[1];
}

void wmk_epoch_after_fork(void)
{
	atomic_store_explicit(&inside[0], 0, memory_order_relaxed);
	atomic_store_explicit(&inside[1], 0, memory_order_relaxed);
}
