/* SPDX-License-Identifier: MIT */
/*
 * syscall_clock.h - convert times of CLOCK_MONOTONIC, which BPF programs have, to the trace's clock.
 *
 * While recording, the caller takes pairs: a value of CLOCK_MONOTONIC and a value of the trace's clock. Each monotonic
 * value is read between two reads of the trace's clock. The distance between the two reads is the width of the pair,
 * and bounds the error of the pair. Between two pairs, times are interpolated linearly. The error of an interpolated
 * time is at most the error of the worse pair, plus the deviation of the clocks from a line. The caller takes a pair
 * after records are made and before their times are converted, so that no time is extrapolated.
 *
 * One thread at a time.
 */
#ifndef WMK_KERNEL_SYSCALL_CLOCK_H
#define WMK_KERNEL_SYSCALL_CLOCK_H

#include <stdint.h>

#include "base/clock.h"

/* maximum number of pairs; at the maximum, every second pair of the older half is dropped */
#define WMK_KCLOCK_PAIRS 2048u

struct wmk_kclock_pair {
	uint64_t mono, value;
	uint64_t width;          /* between the two reads of the trace's clock */
};

struct wmk_kclock {
	enum wmk_clock_kind kind;
	unsigned n;
	uint64_t taken;          /* number of pairs that were added so far, including dropped pairs */
	/*
	 * These members are in units of the trace's clock. `widest`: the largest width of a pair. `bent`: the largest
	 * distance of a pair from the line between its two neighbours. `thinned`: the error that dropping pairs has
	 * added.
	 */
	uint64_t widest, bent, thinned;
	struct wmk_kclock_pair pairs[WMK_KCLOCK_PAIRS];
};

/* Initialize with a first pair. MONOTONIC maps to itself. */
void wmk_kclock_init(struct wmk_kclock *clock, enum wmk_clock_kind kind);
/* Take another pair of clock values now; this takes one or two microseconds. */
void wmk_kclock_take(struct wmk_kclock *clock);
/* Add a given pair. A pair that is not later in both clocks is ignored. */
void wmk_kclock_add(struct wmk_kclock *clock, const struct wmk_kclock_pair *pair);
/*
 * Convert a time. *last: the latest value of the same stream (0 at its beginning); the result is never less than *last.
 */
uint64_t wmk_kclock_map(const struct wmk_kclock *clock, uint64_t mono, uint64_t *last);
/* Return the largest possible error of a converted time so far, in units of the trace's clock. */
uint64_t wmk_kclock_error(const struct wmk_kclock *clock);

#endif
