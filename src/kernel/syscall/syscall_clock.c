/* SPDX-License-Identifier: MIT */
/*
 * syscall_clock.c - convert CLOCK_MONOTONIC to the trace's clock (see syscall_clock.h).
 */
#include "kernel/syscall/syscall_clock.h"

#include "kernel/proc/namespaces.h"

#define TRIES 16

void wmk_kclock_init(struct wmk_kclock *clock, enum wmk_clock_kind kind)
{
	clock->kind = kind;
	clock->n = 0;
	clock->taken = clock->widest = clock->bent = clock->thinned = 0;
	wmk_kclock_take(clock);
}

/*
 * Take the narrowest of several pairs of clock values, because an interruption increases the width of a pair. After
 * four pairs, stop once the narrowest pair is at most twice as wide as the latest stored pair.
 */
void wmk_kclock_take(struct wmk_kclock *clock)
{
	struct wmk_kclock_pair best = { .width = UINT64_MAX };

	if (clock->kind != WMK_CLOCK_COUNTER)
		return;
	for (unsigned i = 0; i < TRIES && (i < 4 || best.width > 2 * (clock->n ? clock->pairs[clock->n - 1].width : 0));
	     i++) {
		const uint64_t before = wmk_clock_counter();
		const uint64_t mono = wmk_kspaces_monotonic(), after = wmk_clock_counter();

		if (after - before < best.width)
			best = (struct wmk_kclock_pair){ .mono = mono,
							 .value = before + (after - before) / 2,
							 .width = after - before };
	}
	wmk_kclock_add(clock, &best);
}

static uint64_t between(const struct wmk_kclock_pair *a, const struct wmk_kclock_pair *b, uint64_t mono)
{
	/* The function also extrapolates. The product of two differences may need more than 64 bits. */
	const __int128 way = ((__int128)mono - a->mono) * (b->value - a->value) / (b->mono - a->mono);

	return (uint64_t)((__int128)a->value + way);
}

/* Return the distance of the middle pair of clock values from the line between its neighbours. */
static uint64_t bend(const struct wmk_kclock_pair *pairs)
{
	const uint64_t line = between(&pairs[0], &pairs[2], pairs[1].mono);

	return line > pairs[1].value ? line - pairs[1].value : pairs[1].value - line;
}

/*
 * Drop every second pair in the older half of the pairs: only streams that are read late need these pairs. Each call
 * adds the largest error of its dropped pairs to `thinned`.
 */
static void thin(struct wmk_kclock *clock)
{
	const unsigned half = clock->n / 2;
	unsigned kept = 0;
	uint64_t worst = 0;

	for (unsigned i = 1; i < half; i += 2) {
		const uint64_t off = bend(&clock->pairs[i - 1]);

		worst = off > worst ? off : worst;
	}
	for (unsigned i = 0; i < clock->n; i++)
		if (i >= half || i % 2 == 0)
			clock->pairs[kept++] = clock->pairs[i];
	clock->n = kept;
	clock->thinned += worst;
}

void wmk_kclock_add(struct wmk_kclock *clock, const struct wmk_kclock_pair *pair)
{
	const struct wmk_kclock_pair *last = clock->n ? &clock->pairs[clock->n - 1] : NULL;

	if (last && (pair->mono <= last->mono || pair->value <= last->value))
		return;
	if (clock->n == WMK_KCLOCK_PAIRS)
		thin(clock);
	if (pair->width > clock->widest)
		clock->widest = pair->width;
	clock->pairs[clock->n++] = *pair;
	clock->taken++;
	if (clock->n >= 3) {
		const uint64_t off = bend(&clock->pairs[clock->n - 3]);

		clock->bent = off > clock->bent ? off : clock->bent;
	}
}

uint64_t wmk_kclock_map(const struct wmk_kclock *clock, uint64_t mono, uint64_t *last)
{
	unsigned low = 0, high = clock->n ? clock->n - 1 : 0;
	uint64_t value;

	if (clock->kind != WMK_CLOCK_COUNTER)
		return mono;
	/* Find the last pair that is not later than `mono` and has a successor. */
	while (low + 1 < high) {
		const unsigned mid = (low + high) / 2;

		if (clock->pairs[mid].mono <= mono)
			low = mid;
		else
			high = mid;
	}
	value = clock->n < 2 ? clock->pairs[0].value : between(&clock->pairs[low], &clock->pairs[low + 1], mono);
	if (value < *last)
		value = *last;
	*last = value;
	return value;
}

uint64_t wmk_kclock_error(const struct wmk_kclock *clock)
{
	return clock->widest / 2 + clock->bent + clock->thinned;
}
