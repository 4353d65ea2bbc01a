/* SPDX-License-Identifier: MIT */
/*
 * grid.h - sums over time. The time is divided into cells of equal width. The length of a trace is not known in
 * advance, so cells are 1 us wide at first. When a time is after the last cell, pairs of cells are merged, which
 * doubles the width of a cell.
 *
 * Memory: each row has WMK_REPORT_CELLS numbers. One thread.
 */
#ifndef WMK_ANALYZE_REPORT_GRID_H
#define WMK_ANALYZE_REPORT_GRID_H

#include <stdbool.h>
#include <stdint.h>

#define WMK_REPORT_CELLS 512u          /* more than half of them are used, unless the trace is shorter than 257 us */

struct wmk_report_row {
	struct wmk_report_row *next;   /* next row of the grid */
	uint64_t cells[WMK_REPORT_CELLS];
};

struct wmk_report_grid {               /* initialized with zeros */
	bool has_begun;
	int64_t begin, width;          /* ns */
	struct wmk_report_row *rows;
};

/* Add a row in which all cells are 0; the grid owns the row. NULL with a cause chain: no memory. */
struct wmk_report_row *wmk_report_grid_row(struct wmk_report_grid *grid);
/*
 * Divide an amount among the cells between the times `from` and `to`, which may be equal. The amounts of the cells add
 * up exactly to the divided amount.
 */
void wmk_report_grid_add(struct wmk_report_grid *grid, struct wmk_report_row *row, int64_t from, int64_t to,
			 uint64_t amount);
void wmk_report_grid_free(struct wmk_report_grid *grid);

#endif
