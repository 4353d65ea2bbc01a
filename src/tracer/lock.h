/* SPDX-License-Identifier: MIT */
/*
 * lock.h - the one lock of libwaymark: state (tracer.h), chains, patching. It is held across fork, so that a child's
 * code agrees with its tables. Recording threads do not take it.
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
/* In a signal handler that interrupted a thread which holds the lock, or is about to: it must not take it. */
bool wmk_lock_is_mine(void);
/*
 * Take the lock with signals blocked, for fork: a handler in the child must not record before the child has removed
 * what belongs to its parent. While it waits for the lock, signals are open. Returns the signal mask as it was.
 */
uint64_t wmk_lock_for_fork(void);
/*
 * In a child that a signal handler forked while its thread held the lock: the tables may be half changed, so the lock
 * stays taken for good.
 */
void wmk_lock_abandon(void);

/*
 * Block the calling thread's signals except those of base/faults.h; returns the mask as it was, for
 * wmk_signals_restore().
 */
uint64_t wmk_signals_block(void);
void wmk_signals_restore(uint64_t before);
/* Sleep. No cancellation point: the thread may hold the lock, or must finish what it began. */
static inline void wmk_pause(long ns)
{
	const struct timespec moment = { .tv_nsec = ns };

	syscall(SYS_nanosleep, &moment, NULL);
}

#endif
