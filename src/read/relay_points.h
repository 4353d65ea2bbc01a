/* SPDX-License-Identifier: MIT */
/*
 * relay_points.h - read the sync points of a relay's clock in the file .clock.relay of a trace (docs/trace-format.md).
 * The content of the file is not trusted.
 */
#ifndef WMK_READ_RELAY_POINTS_H
#define WMK_READ_RELAY_POINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock_point.h"

/* A growing list of points. Starts zeroed. */
struct wmk_read_relay_points {
	struct wmk_clock_point *points;    /* malloc'd */
	uint32_t n, cap;
};

/*
 * Read the header of the file of sync points in the directory `dir`. Returns false if no such file exists, or if the
 * file is damaged.
 */
bool wmk_read_relay_head(int dir, struct wmk_clock_head *head);
/*
 * Append the sync points of the file to the list. 0; -EPROTO with a cause chain: some points contradict each other;
 * -ENOMEM.
 */
int wmk_read_relay_points_add(int dir, struct wmk_read_relay_points *list);
/*
 * Copy the file of sync points to the directory `to`, if the file exists and has a valid header. -EEXIST; -errno with a
 * cause chain.
 */
int wmk_read_relay_points_copy(int dir, int to);
/*
 * Sort the sync points by clock value, and keep points that are far enough apart. The slope of the line between two
 * kept points has an error of at most 5 %. If the error between two points exceeds 5 %, the function keeps only the
 * point with the smaller uncertainty. `ns` is the length of a clock unit in ns.
 */
void wmk_read_relay_points_choose(struct wmk_read_relay_points *list, double ns);

#endif
