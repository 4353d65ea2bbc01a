/* SPDX-License-Identifier: MIT */
/*
 * timeline.h - the content of a timeline: tracks of threads and CPUs, with intervals (states, spans).
 *
 * As long as the report keeps all records, the timeline keeps all intervals. When the trace has more than
 * WMK_REPORT_RECORDS records, a full list drops its shortest intervals. For each track and kind, a row of the grid gets
 * the durations of dropped intervals, so that sums stay exact. A span longer than 1/WMK_REPORT_DETAIL of the length of
 * the trace is always kept. One thread.
 */
#ifndef WMK_ANALYZE_REPORT_TIMELINE_H
#define WMK_ANALYZE_REPORT_TIMELINE_H

#include "analyze/report/grid.h"
#include "read/hash_table.h"

#define WMK_REPORT_DETAIL 2000
#define WMK_REPORT_INTERVALS 60000u    /* limit of a list when intervals are left out; long spans can exceed it */

enum wmk_report_track_kind { WMK_REPORT_THREAD, WMK_REPORT_CPU };

/* Kinds of intervals: the states of enum wmk_thread_state, then: */
#define WMK_REPORT_SPAN 5u
#define WMK_REPORT_KINDS 6u

struct wmk_report_track {
	enum wmk_report_track_kind kind;
	int64_t id, pid;               /* tid, or the number of the CPU; pid 0: unknown */
	char name[64];
	struct wmk_report_row *rest[WMK_REPORT_KINDS]; /* ns of intervals that were left out; NULL: none */
};

struct wmk_report_interval {
	int64_t from;
	uint64_t ns, self;             /* self: duration of a span without its inner spans */
	uint32_t track;
	uint32_t name;                 /* name of a span */
	int32_t cpu;                   /* -1: unknown */
	uint16_t depth;
	uint8_t kind, wait;            /* wait: enum wmk_wait, if the state is WMK_BLOCKED */
	bool has_no_end;
};

struct wmk_report_list {
	struct wmk_report_interval *items;
	uint32_t n, cap, limit;
	uint64_t least;                /* ns: shorter intervals are left out */
	bool keeps_long;               /* intervals longer than 1/WMK_REPORT_DETAIL are always kept */
	uint64_t n_left_out;
};

struct wmk_report_timeline {
	struct wmk_report_grid grid;
	struct wmk_report_track *tracks;
	uint32_t n_tracks, cap_tracks;
	struct wmk_read_table table;   /* kind, id ─► track */
	struct wmk_report_list states, spans;
	bool is_reduced;               /* intervals may be left out */
	int64_t end;                   /* ns: time of the latest record */
};

void wmk_report_timeline_begin(struct wmk_report_timeline *timeline);
/* Find or add a track. -ENOMEM with a cause chain. */
int wmk_report_timeline_track(struct wmk_report_timeline *timeline, enum wmk_report_track_kind kind, int64_t id,
			      uint32_t *track);
/* Add an interval to one of the lists. -ENOMEM with a cause chain. */
int wmk_report_timeline_add(struct wmk_report_timeline *timeline, struct wmk_report_list *list,
			    const struct wmk_report_interval *interval);
void wmk_report_timeline_free(struct wmk_report_timeline *timeline);

#endif
