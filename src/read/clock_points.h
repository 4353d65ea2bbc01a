/* SPDX-License-Identifier: MIT */
/*
 * clock_points.h - correct the times of a trace by the sync points in its file .clock (docs/trace-format.md).
 *
 *     real time
 *        │            ·                 Between two points, time is linear. Before the first and after the
 *        │         ·  ┆ step            last point, the line continues. A step of real time is a discontinuity at the
 *        │      ·                       first point after it.
 *        │   ·           ·
 *        └────────────────── value      *Steady time* has no steps. Steady time equals real time after the last step.
 *
 * Records are ordered and selected by steady time, because real time may be set back. Real time is shown.
 *
 * The content of the file is not trusted: the reader stops at a point that contradicts the order of time, and reports
 * this point. Only one thread reads the points; while the reader follows a trace, this thread may add points.
 */
#ifndef WMK_READ_CLOCK_POINTS_H
#define WMK_READ_CLOCK_POINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock_point.h"
#include "ctf/class.h"

/* ns: unknown uncertainty */
#define WMK_READ_CLOCK_UNKNOWN UINT64_MAX

struct wmk_read_clock_points;

/*
 * Read the sync points for the trace's clock from directory `dir` of the trace. The caller owns *points. If the file
 * does not exist, has no point, or belongs to another clock, *points is NULL and the result is 0. -EPROTO with a cause
 * chain: the file is damaged; *points has the points before the damage, or is NULL. -ENOMEM.
 */
int wmk_read_clock_points_open(int dir, const struct wmk_ctf_clock_class *clock, struct wmk_read_clock_points **points);
/*
 * Do the same as wmk_read_clock_points_open(), with the `n` sync points at `from` instead of a file. The sync points
 * belong to the clock of a relay (relay_points.h), and are sorted by `value`. `relay` is the UUID of the relay's clock,
 * which is not empty. The function leaves out points that contradict the order of time. *points is NULL if no point is
 * left. -ENOMEM.
 */
int wmk_read_clock_points_make(const struct wmk_ctf_clock_class *clock, const char *relay,
			       const struct wmk_clock_point *from, uint32_t n, struct wmk_read_clock_points **points);
/* Return the UUID of the relay's clock, or "" if the points are from the file .clock. */
const char *wmk_read_clock_points_relay(const struct wmk_read_clock_points *points);
void wmk_read_clock_points_free(struct wmk_read_clock_points *points);
/*
 * Read the points that a writer has appended since the last read. Returns 0 or -errno, like
 * wmk_read_clock_points_open().
 */
int wmk_read_clock_points_renew(struct wmk_read_clock_points *points);

/* Write the points to a new file .clock in the directory `dir`. NULL: no file. -EEXIST; -errno with a cause chain. */
int wmk_read_clock_points_copy(const struct wmk_read_clock_points *points, int dir);

/*
 * Give the same steady time to two traces that have the same clock. The trace with the latest sync point keeps its
 * steady time. Real time does not change. The caller must call this function before it reads the first record.
 */
void wmk_read_clock_points_join(struct wmk_read_clock_points *a, struct wmk_read_clock_points *b);

/*
 * A segment of the piecewise linear conversion, for a cache. The segment is valid for values from `from` to `to` - 1,
 * until the points change (`number`).
 */
struct wmk_read_clock_line {
	uint64_t from, to, number;
	uint64_t value;            /* at this value, ... */
	int64_t ns;                /* ... steady time in ns since 1970 */
	double slope;              /* ns for each unit of the clock */
	/* ns: real time minus steady time, which is the negated sum of the steps after this part */
	int64_t steps;
};

void wmk_read_clock_line_find(const struct wmk_read_clock_points *points, uint64_t value,
			      struct wmk_read_clock_line *line);
/* Return the version number of the points, which increases with each change of the points. */
uint64_t wmk_read_clock_points_number(const struct wmk_read_clock_points *points);
/*
 * Return the uncertainty of real time at `value`, in ns. The uncertainty is the sum of the uncertainty of the points on
 * both sides, the skew between CPUs, and the change of the clock's rate, which is estimated from the neighbouring
 * intervals. Before the first and after the last point, the function assumes that the rate changes by at most 500 ppm.
 * A step of real time happens between two sync points, shortly before the first sync point that contains the step. The
 * uncertainty of times shortly before that sync point therefore includes the size of the step. For points of a relay's
 * clock, the sum also contains the error of the slopes.
 */
uint64_t wmk_read_clock_uncertainty(const struct wmk_read_clock_points *points, uint64_t value);

/* The results INT64_MIN and INT64_MAX mean that the time does not fit into 64 bits. */
static inline int64_t wmk_read_clock_line_ns(const struct wmk_read_clock_line *line, uint64_t value)
{
	const double ns = line->slope * (value >= line->value ? (double)(value - line->value)
							      : -(double)(line->value - value));

	int64_t sum;

	if (ns < 9.2e18 && ns > -9.2e18 && !__builtin_add_overflow(line->ns, (int64_t)ns, &sum))
		return sum;
	return ns > 0 ? INT64_MAX : INT64_MIN;
}

#endif
