/* SPDX-License-Identifier: MIT */
/* lock.c - see lock.h. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/faults.h"
#include "tracer/compiler.h"
#include "tracer/lock.h"
#include "tracer/thread_state.h"

#define LOCK_PAUSE_NS 20000

static WMK_FIRST_PAGE pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static WMK_FIRST_PAGE bool is_abandoned;

/*
 * A signal handler may run at any point, so the thread sets `locking` before the thread has the lock. Signals stay
 * unblocked: a thread that waits for the heap while it holds the lock must react to a garbage collector that stops all
 * threads by a signal.
 */
void wmk_lock(void)
{
	wmk_thread.locking = 1;
	atomic_signal_fence(memory_order_seq_cst);
	pthread_mutex_lock(&mutex);
}

void wmk_unlock(void)
{
	pthread_mutex_unlock(&mutex);
	atomic_signal_fence(memory_order_seq_cst);
	wmk_thread.locking = 0;
}

bool wmk_lock_is_mine(void)
{
	/*
	 * If the storage is marked, another task on this storage may have set `locking`, and the caller then waits for
	 * the lock.
	 */
	return wmk_thread.locking && (wmk_thread.mark == 0 || is_abandoned);
}

uint64_t wmk_lock_for_fork(void)
{
	uint64_t before = wmk_signals_block();

	while (pthread_mutex_trylock(&mutex) != 0) {
		wmk_signals_restore(before);
		wmk_pause(LOCK_PAUSE_NS);
		before = wmk_signals_block();
	}
	wmk_thread.locking = 1;
	return before;
}

void wmk_lock_abandon(void)
{
	is_abandoned = true;
}

/*
 * Block all signals by a raw system call. The state of two groups of signals stays unchanged: fault signals, and the
 * two signals that the C library uses internally.
 */
uint64_t wmk_signals_block(void)
{
	const uint64_t mask = ~(WMK_SIGNALS_FAULTS | WMK_SIGNAL(WMK_SIGNAL_CANCEL) | WMK_SIGNAL(WMK_SIGNAL_SETID));
	uint64_t before = 0;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &mask, &before, sizeof(mask));
	return before;
}

void wmk_signals_restore(uint64_t before)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
}
