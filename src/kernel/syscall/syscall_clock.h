/* SPDX-License-Identifier: MIT */
/*
 * syscall_clock.h - times of CLOCK_MONOTONIC, which BPF programs have, as values of the trace's clock.
 *
 * Pairs of both clocks' values are taken while recording, each read between two reads of the trace's clock: that
 * bracket's width says how wrong the pair can be. Between two pairs the way is a straight line, which goes through
 * both: a value between them is no more wrong than the worse of the two, plus what the clocks bent meanwhile. Take a
 * pair after records were made and before they are mapped; nothing is extrapolated then.
 *
 * One thread at a time.
 */
#ifndef WMK_KERNEL_SYSCALL_CLOCK_H
#define WMK_KERNEL_SYSCALL_CLOCK_H

#include <stdint.h>

#include "base/clock.h"

#define WMK_KCLOCK_PAIRS 2048u   /* of more, the older half is thinned out */

struct wmk_kclock_pair {
	uint64_t mono, value;
	uint64_t width;          /* of the bracket */
};

struct wmk_kclock {
	enum wmk_clock_kind kind;
	unsigned n;
	uint64_t taken;          /* pairs ever */
	/*
	 * In values of the trace's clock: the widest bracket; how far a pair was from the line between its neighbours
	 * at most; what thinning cost.
	 */
	uint64_t widest, bent, thinned;
	struct wmk_kclock_pair pairs[WMK_KCLOCK_PAIRS];
};

/* With its first pair. MONOTONIC maps to itself. */
void wmk_kclock_init(struct wmk_kclock *clock, enum wmk_clock_kind kind);
/* Another pair, now: a microsecond or two. */
void wmk_kclock_take(struct wmk_kclock *clock);
/* The same with values that are given. One that does not go on in both clocks is dropped. */
void wmk_kclock_add(struct wmk_kclock *clock, const struct wmk_kclock_pair *pair);
/* *last: the latest value of the same stream, which never goes back; 0 at its begin. */
uint64_t wmk_kclock_map(const struct wmk_kclock *clock, uint64_t mono, uint64_t *last);
/* How wrong a mapped value may be, as measured so far, in values of the trace's clock. */
uint64_t wmk_kclock_error(const struct wmk_kclock *clock);

#endif
