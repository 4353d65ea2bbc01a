/* SPDX-License-Identifier: MIT */
/*
 * grid.c - sums over time (see grid.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/grid.h"
#include "base/error.h"

#define FIRST_WIDTH 1000               /* ns */

struct wmk_report_row *wmk_report_grid_row(struct wmk_report_grid *grid)
{
	struct wmk_report_row *row = calloc(1, sizeof(*row));

	if (!row) {
		wmk_error(-ENOMEM, "no memory for a report");
		return NULL;
	}
	row->next = grid->rows;
	grid->rows = row;
	return row;
}

static void widen(struct wmk_report_grid *grid)
{
	grid->width *= 2;
	for (struct wmk_report_row *row = grid->rows; row; row = row->next) {
		for (unsigned i = 0; i < WMK_REPORT_CELLS / 2; i++)
			row->cells[i] = row->cells[2 * i] + row->cells[2 * i + 1];
		memset(row->cells + WMK_REPORT_CELLS / 2, 0, WMK_REPORT_CELLS / 2 * sizeof(*row->cells));
	}
}

void wmk_report_grid_add(struct wmk_report_grid *grid, struct wmk_report_row *row, int64_t from, int64_t to,
			 uint64_t amount)
{
	uint64_t given = 0;

	if (!grid->has_begun) {
		grid->has_begun = true;
		grid->begin = from;
		grid->width = FIRST_WIDTH;
	}
	from = from < grid->begin ? grid->begin : from;
	to = to < from ? from : to;

	const uint64_t first = (uint64_t)from - (uint64_t)grid->begin, last = (uint64_t)to - (uint64_t)grid->begin;

	while (last / (uint64_t)grid->width >= WMK_REPORT_CELLS)
		widen(grid);
	const uint64_t width = (uint64_t)grid->width, last_cell = last / width;

	for (uint64_t i = first / width; i <= last_cell; i++) {
		/* (the last cell gets the rest of the amount, so that the sum is exact despite rounding) */
		const double part = i == last_cell ? 1 : (double)((i + 1) * width - first) / (double)(last - first);
		const uint64_t so_far = part < 1 ? (uint64_t)((double)amount * part) : amount;

		row->cells[i] += so_far - given;
		given = so_far;
	}
}

void wmk_report_grid_free(struct wmk_report_grid *grid)
{
	while (grid->rows) {
		struct wmk_report_row *row = grid->rows;

		grid->rows = row->next;
		free(row);
	}
}
