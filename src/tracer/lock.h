/* SPDX-License-Identifier: MIT */
/*
 * lock.h - the lock of libwaymark. The lock protects the state (tracer.h), chains and patching. A fork holds the lock,
 * so that the code and the tables of the child agree. Recording threads do not take the lock.
 */
#ifndef WMK_TRACER_LOCK_H
#define WMK_TRACER_LOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void wmk_lock(void);
void wmk_unlock(void);
/*
 * True if the calling signal handler has interrupted a thread that holds the lock or is about to take the lock. If the
 * result is true, the handler must not take the lock.
 */
bool wmk_lock_is_mine(void);
/*
 * Take the lock with signals blocked, for fork(): a signal handler in the child must not record before the child has
 * removed the state of its parent. Signals are unblocked during the wait for the lock. Returns the previous signal
 * mask.
 */
uint64_t wmk_lock_for_fork(void);
/*
 * Called in a child that a signal handler has forked while the interrupted thread held the lock. The child never
 * releases the lock, because the tables may be inconsistent.
 */
void wmk_lock_abandon(void);

/*
 * Block the signals of the calling thread, except the signals of base/faults.h. Returns the previous mask for
 * wmk_signals_restore().
 */
uint64_t wmk_signals_block(void);
void wmk_signals_restore(uint64_t before);
/* Sleep without a cancellation point, because the thread may hold the lock, or must finish its work. */
static inline void wmk_pause(long ns)
{
	const struct timespec moment = { .tv_nsec = ns };

	syscall(SYS_nanosleep, &moment, NULL);
}

#endif
