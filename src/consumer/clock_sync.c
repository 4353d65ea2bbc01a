/* SPDX-License-Identifier: MIT */
/* clock_sync.c - write sync points of the trace's clock (see clock_sync.h). */
#include "consumer/clock_sync.h"

#include "base/error.h"
#include "consumer/clock_restart.h"

bool wmk_clock_sync_take(const struct wmk_consumer *consumer, struct wmk_clock_point *point)
{
	/* (C1) acquire: pairs with the release in wmk_clock_sync_begin() */
	const int kind = atomic_load_explicit(&consumer->clock.kind, memory_order_acquire);

	if (kind >= 0)
		wmk_clock_point_take(&consumer->clock.clocks, (enum wmk_clock_kind)kind, point);
	return kind >= 0;
}

/* If a sync point cannot be written (disk full), the next due sync point replaces it. */
void wmk_clock_sync_write(struct wmk_consumer *consumer, const struct wmk_clock_point *point)
{
	struct wmk_consumer_clock *clock = &consumer->clock;
	struct wmk_output_trace *output = consumer->options.output;

	if (!output || !output->ops->clock_point)
		return;
	/*
	 * Two threads measure sync points, so this thread may receive a later sync point before an earlier one. Compare
	 * a sync point only with sync points that were measured earlier.
	 */
	if (point->monotonic_ns > clock->last.monotonic_ns) {
		if (point->value < clock->last.value)
			wmk_clock_restarted(consumer, point);
		clock->last = *point;
	}
	if (output->ops->clock_point(output, &clock->head, point) < 0)
		wmk_error_clear();
	else
		clock->is_due = false;
	clock->written_ns = wmk_clock_monotonic();
}

void wmk_clock_sync(struct wmk_consumer *consumer, uint64_t age_ns)
{
	const struct wmk_consumer_clock *clock = &consumer->clock;
	struct wmk_clock_point point;

	if (!clock->is_due && !clock->is_always_due)
		return;
	if (clock->written_ns && wmk_clock_monotonic() - clock->written_ns < age_ns)
		return;
	if (wmk_clock_sync_take(consumer, &point))
		wmk_clock_sync_write(consumer, &point);
}

void wmk_clock_sync_begin(struct wmk_consumer *consumer, enum wmk_clock_kind kind, bool is_held)
{
	struct wmk_consumer_clock *clock = &consumer->clock;

	clock->is_always_due |= is_held;
	if (atomic_load_explicit(&clock->kind, memory_order_relaxed) >= 0)
		return;
	if (wmk_clocks_prepare(&clock->clocks) < 0)
		wmk_error_clear();
	if (kind == WMK_CLOCK_PLUGIN && !clock->clocks.plugin_now)
		return;
	wmk_clocks_uuid(&clock->clocks, kind, clock->head.uuid);
	clock->head.kind = (uint32_t)kind + 1;
	clock->is_due = true;
	/* (C1) release: the clocks are prepared before the kind is visible; pairs with the acquire above */
	atomic_store_explicit(&clock->kind, (int)kind, memory_order_release);
	wmk_clock_sync(consumer, 0);
}
