/* SPDX-License-Identifier: MIT */
/*
 * plan.h - what SQLite asks of a table for a query, and which part of it the table does itself.
 *
 *     xBestIndex: constraints, order ──wmk_query_plan_choose()──► text ──wmk_query_plan_parse()──► xFilter
 *
 * The text has three lists: the tests, with the column's number and an operator; the columns of grouped rows; and their
 * order. `EXPLAIN QUERY PLAN` shows it:
 *
 *     5= 0>= | 5 | 5+          name = ?, time >= ?; rows of the column `name`, grouped by it
 *
 * Constraints with NULL, with NOT and with a collation are left to SQLite. So are equal rows that need much memory:
 * rows are grouped only if all used columns are in the order or are known to have few values.
 */
#ifndef WMK_ANALYZE_QUERY_PLAN_H
#define WMK_ANALYZE_QUERY_PLAN_H

#include <sqlite3.h>

#include "analyze/query/group.h"

/* Answers of sqlite3_vtab_collation(), _distinct() and _in(), which are valid only within xBestIndex. */
struct wmk_query_asked {
	const bool *is_binary;     /* of each constraint: texts are compared byte by byte */
	const bool *is_in;         /* of each constraint: it is an IN with values that can be passed together */
	int distinct;
};

struct wmk_query_plan {
	struct {
		uint32_t column;
		enum wmk_query_compare compare;
	} *tests;                  /* in the order of the arguments of xFilter */
	uint32_t n_tests;
	uint32_t *columns;         /* of grouped rows */
	uint32_t n_columns;
	struct wmk_query_order *order; /* n_order 0: rows are not grouped */
	uint32_t n_order;
	bool is_distinct;          /* equal rows are returned once */
};

/*
 * Fill the output of `info`. The table tests each constraint with an argvIndex. -ENOMEM.
 */
int wmk_query_plan_choose(const struct wmk_query_table *table, const struct wmk_query_asked *asked,
			  sqlite3_index_info *info);
/* `text` (NULL is empty) and `number` as wmk_query_plan_choose() has set them. -ENOMEM. */
int wmk_query_plan_parse(const char *text, int number, struct wmk_query_plan *plan);
void wmk_query_plan_free(struct wmk_query_plan *plan);

#endif
