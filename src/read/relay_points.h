/* SPDX-License-Identifier: MIT */
/*
 * relay_points.h - read the sync points of a relay's clock in the file .clock.relay of a trace (docs/trace-format.md).
 * Nothing in the file is trusted.
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

/* Read the header of the file in directory `dir`. False: no such file, or damaged. */
bool wmk_read_relay_head(int dir, struct wmk_clock_head *head);
/* Append the points of the file. 0; -EPROTO with a cause chain: some points contradict each other; -ENOMEM. */
int wmk_read_relay_points_add(int dir, struct wmk_read_relay_points *list);
/* Copy the file to the directory `to`, if it exists and has a valid header. -EEXIST; -errno with a cause chain. */
int wmk_read_relay_points_copy(int dir, int to);
/*
 * Sort the sync points by clock value, and keep points that are far enough apart. The slope of the line between two
 * kept points has an error of at most 5 %. If two points are so close that the error exceeds 5 %, the function keeps
 * the point with the smaller uncertainty. `ns`: ns for each unit of the clock.
 */
void wmk_read_relay_points_choose(struct wmk_read_relay_points *list, double ns);

#endif
