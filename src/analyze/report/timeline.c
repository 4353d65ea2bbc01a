/* SPDX-License-Identifier: MIT */
/*
 * timeline.c - tracks and intervals of a timeline (see timeline.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/report/timeline.h"
#include "analyze/threads.h"
#include "base/array.h"
#include "base/error.h"

_Static_assert(WMK_REPORT_SPAN == WMK_THREAD_STATES, "kinds of intervals");

struct track_slot {
	struct wmk_read_slot slot;
	uint32_t track;
};

void wmk_report_timeline_begin(struct wmk_report_timeline *timeline)
{
	*timeline = (struct wmk_report_timeline){ .table.size = sizeof(struct track_slot),
						  .states.limit = WMK_REPORT_INTERVALS,
						  .spans = { .limit = WMK_REPORT_INTERVALS, .keeps_long = true } };
}

int wmk_report_timeline_track(struct wmk_report_timeline *timeline, enum wmk_report_track_kind kind, int64_t id,
			      uint32_t *track)
{
	struct track_slot *slot = wmk_read_table_find(&timeline->table, kind, (uint64_t)id);
	struct wmk_report_track *tracks;

	if (slot) {
		*track = slot->track;
		return 0;
	}
	tracks = wmk_array_room(timeline->tracks, timeline->n_tracks, &timeline->cap_tracks, sizeof(*tracks));
	if (tracks) {
		timeline->tracks = tracks;
		slot = wmk_read_table_add(&timeline->table, kind, (uint64_t)id);
	}
	if (!slot)
		return wmk_error(-ENOMEM, "no memory for %u threads", timeline->n_tracks);
	*track = slot->track = timeline->n_tracks++;
	tracks[*track] = (struct wmk_report_track){ .kind = kind, .id = id };
	return 0;
}

/* ── levels of detail ────────────────────────────────────────────────────────────────────────────────── */

static int add_rest(struct wmk_report_timeline *timeline, uint32_t track, const struct wmk_report_interval *interval)
{
	struct wmk_report_row **rest = &timeline->tracks[track].rest[interval->kind];

	if (!*rest)
		*rest = wmk_report_grid_row(&timeline->grid);
	if (!*rest)
		return -ENOMEM;
	wmk_report_grid_add(&timeline->grid, *rest, interval->from, interval->from + (int64_t)interval->ns,
			    interval->ns);
	return 0;
}

static int leave_out(struct wmk_report_timeline *timeline, struct wmk_report_list *list,
		     const struct wmk_report_interval *interval)
{
	uint32_t cpu;
	int err = add_rest(timeline, interval->track, interval);

	list->n_left_out++;
	if (err < 0 || interval->kind != WMK_RUNNING || interval->cpu < 0)
		return err;
	err = wmk_report_timeline_track(timeline, WMK_REPORT_CPU, interval->cpu, &cpu);
	return err < 0 ? err : add_rest(timeline, cpu, interval);
}

/* An interval without an end has no duration, and is never left out. */
static bool is_short(const struct wmk_report_list *list, const struct wmk_report_interval *interval)
{
	return interval->ns < list->least && !interval->has_no_end;
}

/* Leave out the shortest intervals. Stop when the list is at most half full, or contains only long spans. */
static int reduce(struct wmk_report_timeline *timeline, struct wmk_report_list *list)
{
	const uint64_t length = (uint64_t)timeline->end - (uint64_t)timeline->grid.begin;
	int err = 0;

	while (list->n > list->limit / 2 && (!list->keeps_long || 2 * list->least <= length / WMK_REPORT_DETAIL)) {
		uint32_t n = 0;

		list->least = list->least ? 2 * list->least : 1;
		for (uint32_t i = 0; i < list->n; i++)
			if (!is_short(list, &list->items[i]))
				list->items[n++] = list->items[i];
			else if (err >= 0)
				err = leave_out(timeline, list, &list->items[i]);
		list->n = n;
	}
	if (list->n > list->limit / 2)
		list->limit = 2 * list->n;
	return err;
}

int wmk_report_timeline_add(struct wmk_report_timeline *timeline, struct wmk_report_list *list,
			    const struct wmk_report_interval *interval)
{
	struct wmk_report_interval *items;
	int err = 0;

	if (is_short(list, interval))
		return leave_out(timeline, list, interval);
	if (timeline->is_reduced && list->n >= list->limit)
		err = reduce(timeline, list);
	items = wmk_array_room(list->items, list->n, &list->cap, sizeof(*items));
	if (!items)
		return wmk_error(-ENOMEM, "no memory for %u intervals", list->n);
	list->items = items;
	items[list->n++] = *interval;
	return err;
}

void wmk_report_timeline_free(struct wmk_report_timeline *timeline)
{
	free(timeline->tracks);
	free(timeline->states.items);
	free(timeline->spans.items);
	wmk_read_table_free(&timeline->table);
	wmk_report_grid_free(&timeline->grid);
}
